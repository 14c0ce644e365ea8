import { poolName, siteName } from "@headroom/model";
import type { Pool, Site } from "@headroom/model";
import { expect, it } from "vitest";
import { fleetWarnings } from "./fleet-warnings.ts";
import { SmallFleet } from "./testing/small-fleet.ts";

const site = (...rules: readonly string[]): Site => ({ name: siteName("here"), fabricLevels: [], data: { rules } });
const pool = (changes: Partial<Pool> = {}): Pool => ({
  name: poolName("H100"),
  site: siteName("here"),
  executor: "local",
  acceleratorType: "H100",
  priceMicroUsdPerHour: 0,
  ...changes,
});

const messages = (
  { engine }: SmallFleet,
  declared: { readonly sites?: readonly Site[]; readonly pools?: readonly Pool[] },
): string[] => fleetWarnings(engine.state, { sites: [], pools: [], ...declared }).map(({ message }) => message);

it("warns of a pool that is spares alone, and not of one that is empty or keeps fewer", () => {
  const one = SmallFleet.withNodes(1, 8);
  expect(messages(one, { pools: [pool({ hotSpares: 1 })] })).toEqual([
    "Pool H100 keeps 1 hot spare, so its only node: only work that lost nodes starts there.",
  ]);
  const two = SmallFleet.withNodes(2, 8);
  expect(messages(two, { pools: [pool({ hotSpares: 1 })] })).toEqual([]);
  expect(messages(two, { pools: [pool({ hotSpares: 3 })] })[0]).toContain("3 hot spares, so all of its 2 nodes");
  expect(messages(two, { pools: [pool({ name: poolName("new"), hotSpares: 3 })] })).toEqual([]);
});

it("names what runs where its rule is admitted no more", () => {
  const fleet = SmallFleet.withNodes(1, 8);
  fleet.apply({ sites: [site("public", "secret")] });
  for (const name of ["a", "b"]) fleet.submit(name, { data: { rule: "secret" } });
  fleet.submit("open", { data: { rule: "public" } });
  expect(messages(fleet, { sites: [site("public")] })).toEqual([
    "Pool H100 no longer admits the data rule secret, but 2 attempts of work under this rule run there: a (w1.1), b (w2.1). They continue: stop them with headroom stop if that is not allowed.",
  ]);
  // A pool's list of data rules replaces that of its site.
  const own = pool({ data: { rules: ["secret"] } });
  expect(messages(fleet, { sites: [site("public")], pools: [own] }).join()).toContain(
    "the data rule public, but 1 attempt",
  );
  expect(messages(fleet, { sites: [site("secret", "public")] })).toEqual([]);
});

it("is silent once they were asked to stop, and where nothing runs under the rule", () => {
  const fleet = SmallFleet.withNodes(1, 8);
  fleet.apply({ sites: [site("public", "secret")] });
  const id = fleet.submit("a", { data: { rule: "secret" } });
  fleet.submit("anywhere");
  fleet.stop(id);
  expect(messages(fleet, { sites: [site()] })).toEqual([]);
});
