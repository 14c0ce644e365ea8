import { readdirSync, writeFileSync } from "node:fs";
import { HeldDirectory } from "@headroom/platform";
import { expect, it } from "vitest";
import { HostileFolder } from "../../../../tools/testing/hostile-folder.ts";
import { Leases } from "./leases.ts";

const folder = HostileFolder.forEachTest();
const key = (digit: string): string => digit.repeat(64);

async function opened(max?: { readonly holders: number; readonly keys: number }): Promise<Leases> {
  const leases = new Leases(max);
  await leases.open(await HeldDirectory.open(folder.shared()));
  return leases;
}

it("reads keys alone of a lease", async () => {
  writeFileSync(folder.shared("w1.1"), `\nx\n${key("a")}\n${key("b")}`);
  const leases = await opened();
  expect(leases.holdersOf(key("a"))).toEqual(["w1.1"]);
  for (const other of ["", "x", key("b")]) expect(leases.holdersOf(other)).toEqual([]);
});

it("counts no lines that are no keys", async () => {
  writeFileSync(folder.shared("a"), "\n".repeat(100));
  writeFileSync(folder.shared("w1.1"), `${key("a")}\n`);
  expect((await opened({ holders: 10, keys: 10 })).holdersOf(key("a"))).toEqual(["w1.1"]);
});

it.each([
  { holders: 2, keys: 10 },
  { holders: 10, keys: 2 },
])(
  "reads a bounded part of the folder ($holders holders, $keys keys), and the rest once holders are gone",
  async (max) => {
    for (const holder of ["w1.1", "w2.1", "w3.1"]) writeFileSync(folder.shared(holder), `${key("a")}\n`);
    const leases = await opened(max);
    expect(leases.holdersOf(key("a"))).toHaveLength(2);
    leases.keep(new Set());
    expect(readdirSync(folder.shared())).toHaveLength(1);
    expect((await opened(max)).holdersOf(key("a"))).toHaveLength(1);
  },
);
