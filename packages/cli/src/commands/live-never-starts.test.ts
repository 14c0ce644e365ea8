/** Work that can never start answers exit code 3 at once; work that only waits does not. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";
import type { Said } from "../testing/recorded-terminal.ts";

let live: LiveControlPlane;

beforeAll(async () => {
  live = await startLive();
  const stdin = "kind: team\nname: capped\nlimit: { slot: 2 }\n---\nkind: team\nname: shared\nuserLimit: { slot: 1 }\n";
  const said = await live.headroom(["apply", "-f", "-", "--yes"], { stdin });
  if (said.code !== 0) throw new Error(said.stderr);
});
afterAll(() => live.close());

const run = (options: readonly string[], command = "true"): Promise<Said> =>
  live.headroom(["run", "--cores", "0", ...options, "--", command]);

interface Case {
  readonly name: string;
  readonly options: readonly string[];
  readonly where: string;
}

const never: readonly Case[] = [
  { name: "more than the fleet has", options: ["--gpus", "900"], where: "on this fleet" },
  {
    name: "more than its team may use",
    options: ["--gpus", "3", "--team", "capped"],
    where: "within the present limits",
  },
  {
    name: "more than its user may use in the team",
    options: ["--gpus", "2", "--team", "shared"],
    where: "within the present limits",
  },
];

describe("work that can never start", () => {
  it.each(never)("answers 3 for $name: as a dry run, followed, and explained", async ({ options, where }) => {
    const dry = await run([...options, "--dry-run", "--json"]);
    expect([dry.code, JSON.parse(dry.stdout)]).toMatchObject([3, { kind: "waits", verdict: { neverStarts: true } }]);
    const followed = await run([...options, "--name", "beyond", "--follow"]);
    expect([followed.code, followed.stderr]).toEqual([3, expect.stringContaining(`can never start ${where}`)]);
    expect((await live.headroom(["why", "beyond"])).code).toBe(3);
    const queue = await live.headroom(["list", "--waiting", "--json"]);
    expect(JSON.parse(queue.stdout)).toMatchObject({ items: [{ workload: { name: "beyond" }, neverStarts: true }] });
    expect((await live.headroom(["stop", "beyond"])).code).toBe(0);
  });
});

describe("work that only waits", () => {
  it("is none of that while the limit is in use, or while it waits for an accelerator type on request", async () => {
    const holder = ["--name", "holder", "--gpus", "2", "--team", "capped"];
    expect((await run(holder, "while [ ! -e go ]; do sleep 0.05; done")).code).toBe(0);
    for (const options of [
      ["--gpus", "1", "--team", "capped"],
      ["--gpus", "1", "--type", "H100", "--wait-for-type"],
    ]) {
      const dry = await run([...options, "--dry-run", "--json"]);
      expect([dry.code, JSON.parse(dry.stdout)]).toMatchObject([0, { kind: "waits" }]);
      expect(dry.stdout).not.toContain("neverStarts");
      const followed = await run([...options, "--name", "patient", "--follow", "--timeout", "1ms"]);
      expect([followed.code, followed.stderr]).toEqual([3, expect.stringContaining("Not done within the time given")]);
      expect((await live.headroom(["why", "patient"])).code).toBe(0);
      expect((await live.headroom(["stop", "patient"])).code).toBe(0);
    }
    expect((await live.headroom(["stop", "holder"])).code).toBe(0);
  });
});
