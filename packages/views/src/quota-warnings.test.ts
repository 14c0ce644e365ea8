import { defaultPolicy, presets } from "@headroom/model";
import type { Policy, Team } from "@headroom/model";
import { expect, it } from "vitest";
import { policyWarnings, quotaWarnings } from "./quota-warnings.ts";
import type { QuotaTeam } from "./quota-warnings.ts";
import { SmallFleet } from "./testing/small-fleet.ts";

const team = (name: string, quotas: Partial<QuotaTeam> = {}): QuotaTeam => ({
  name,
  parent: null,
  limit: {},
  ...quotas,
});

/** Under this policy all settings of teams have an effect, except reserved topology. */
const borrowing = presets.get("kueue-fair-sharing") as Policy;

interface Setting {
  readonly acceleratorTypes?: readonly string[];
  readonly acceleratorCounts?: ReadonlyMap<string, number>;
  readonly policy?: Policy;
}

function warnings(
  teams: readonly QuotaTeam[],
  { acceleratorTypes = ["H100", "A100"], acceleratorCounts = new Map(), policy = borrowing }: Setting = {},
): string[] {
  const declared = new Set(teams.map(({ name }) => name));
  return quotaWarnings({ teams, declared, acceleratorTypes, acceleratorCounts, policy }).map(({ message }) => message);
}

it("says nothing of quotas that go together, at their edges too", () => {
  const teams = [
    team("lab", { guarantee: { H100: 8, cores: 64_000 }, limit: { H100: 8 } }),
    team("a", { parent: "lab", guarantee: { H100: 5.5 } }),
    team("b", { parent: "lab", guarantee: { H100: 2.5, A100: 4 }, limit: { accelerators: 6.5 } }),
  ];
  const acceleratorCounts = new Map([
    ["H100", 8],
    ["A100", 4],
  ]);
  expect(warnings(teams, { acceleratorCounts, policy: defaultPolicy })).toEqual([]);
  expect(warnings([team("a", { guarantee: { H100: 5.5 }, lendingLimit: { H100: 5.5 } })])).toEqual([]);
});

it("tells of a guarantee above the limit, of all accelerators type by type too", () => {
  expect(warnings([team("a", { guarantee: { H100: 16, memory: 1024 }, limit: { H100: 8, memory: 2048 } })])).toEqual([
    "Team a is guaranteed more accelerators of type H100 than its limit allows: 16, but the limit is 8.",
  ]);
  expect(warnings([team("a", { guarantee: { H100: 5, A100: 4 }, limit: { accelerators: 8 } })])).toEqual([
    "Team a is guaranteed more accelerators than its limit allows: 9, but the limit is 8.",
  ]);
});

it("tells of children that are guaranteed more together than their parent states, and of none that states nothing", () => {
  const children = [
    team("a", { parent: "lab", guarantee: { H100: 6 } }),
    team("b", { parent: "lab", guarantee: { H100: 6 } }),
  ];
  expect(warnings([team("lab", { guarantee: { H100: 8 } }), ...children], { policy: defaultPolicy })).toEqual([
    "The teams directly below lab are together guaranteed more accelerators of type H100 than lab itself: 12 of 8.",
  ]);
  expect(warnings([team("lab", { guarantee: { A100: 8 } }), ...children])).toEqual([]);
});

it("tells of a parent that was there before when one of its children is declared, and of no other team", () => {
  const teams = [
    team("lab", { guarantee: { H100: 8 }, limit: { H100: 4 } }),
    team("a", { parent: "lab", guarantee: { H100: 9 } }),
    team("other", { guarantee: { H100: 8 }, limit: { H100: 4 } }),
  ];
  const acceleratorCounts = new Map<string, number>();
  const setting = { teams, declared: new Set(["a"]), acceleratorTypes: ["H100"], acceleratorCounts };
  for (const policy of [borrowing, defaultPolicy])
    expect(quotaWarnings({ ...setting, policy }).map((each) => each.team)).toEqual(["lab"]);
});

it("tells where teams borrow of guarantees that come on top of those below, at any depth, and of no others", () => {
  const lab = team("lab", { guarantee: { H100: 64, memory: 2048, A100: 4 } });
  const group = team("group", { parent: "lab" });
  const below = [
    team("a", { parent: "group", guarantee: { H100: 32, memory: 1024 } }),
    team("b", { parent: "group", guarantee: { H100: 32, accelerators: 2 } }),
  ];
  const adds =
    "these guarantees are added: 128. This is so wherever strategy is kueue-fair-sharing or kueue-classical.";
  const said = [
    `Team lab is guaranteed 64 H100 accelerators, and the teams below it 64. Under the policy kueue-fair-sharing ${adds}`,
    "Team lab is guaranteed 2 GiB of memory, and the teams below it 1 GiB. Under the policy kueue-fair-sharing these guarantees are added: 3 GiB. This is so wherever strategy is kueue-fair-sharing or kueue-classical.",
  ];
  expect(warnings([lab, group, ...below])).toEqual(said);
  expect(warnings([lab, group, ...below], { policy: defaultPolicy })).toEqual([]);
  expect(warnings([group, ...below])).toEqual([]);
  const state = new SmallFleet();
  state.apply({ teams: [lab, group, ...below] as unknown as Team[] });
  expect(policyWarnings(state.engine.state, borrowing).map(({ message }) => message)).toEqual(said);
  expect(policyWarnings(state.engine.state, defaultPolicy)).toEqual([]);
});

it("tells of guarantees that the fleet cannot keep, of one team or of all together, of types that have nodes", () => {
  const acceleratorCounts = new Map([
    ["H100", 64],
    ["A100", 8],
  ]);
  const setting = { acceleratorCounts, policy: defaultPolicy };
  expect(
    warnings([team("a", { guarantee: { H100: 65, A100: 8 } }), team("b", { guarantee: { H100: 1 } })], setting),
  ).toEqual(["Team a is guaranteed 65 H100 accelerators, but the fleet has 64."]);
  const halves = [
    team("a", { guarantee: { H100: 32 } }),
    team("b"),
    team("c", { parent: "b", guarantee: { H100: 32.5 } }),
    team("d", { parent: "a", guarantee: { H100: 8 } }),
  ];
  expect(warnings(halves, setting)).toEqual([
    "All teams together are guaranteed 64.5 H100 accelerators, but the fleet has 64.",
  ]);
  expect(warnings([team("a", { guarantee: { accelerators: 73 } })], setting)).toEqual([
    "Team a is guaranteed 73 accelerators, but the fleet has 72.",
  ]);
  expect(warnings(halves, { policy: defaultPolicy })).toEqual([]);
  const unchanged = { teams: halves, declared: new Set<string>(), acceleratorTypes: ["H100"], ...setting };
  expect(quotaWarnings(unchanged)).toEqual([]);
});

it("tells of lending more than is guaranteed", () => {
  expect(warnings([team("a", { guarantee: { H100: 4 }, lendingLimit: { H100: 5 } })])).toEqual([
    "Team a can lend more accelerators of type H100 than it is guaranteed: 5 of 4.",
  ]);
});

it("tells of types that no pool has, once there are pools", () => {
  const misspelt = team("a", { guarantee: { H10: 4, cores: 1000 }, limit: { H10: 4, accelerators: 9 } });
  expect(warnings([misspelt])).toEqual([
    "A quota of team a names H10, but no pool has accelerators of that type; did you mean H100?",
  ]);
  expect(warnings([misspelt], { acceleratorTypes: [] })).toEqual([]);
});

it("tells of such types wherever a team names one", () => {
  for (const stated of [
    { userLimit: { H10: 1 } },
    { borrowingLimit: { H10: 1 } },
    { guarantee: { H10: 1 }, lendingLimit: { H10: 1 } },
  ])
    expect(warnings([team("a", stated)])).toEqual([expect.stringContaining("names H10")]);
  const owning = team("a", { reservedTopology: [{}, { acceleratorType: "H10" }] });
  expect(warnings([owning], { policy: presets.get("hived") as Policy })).toEqual([
    expect.stringContaining("names H10"),
  ]);
});

it("tells of what the policy in force makes nothing of, and which policies do", () => {
  const teams = [
    team("a", { guarantee: { H100: 4 }, lendingLimit: { H100: 2 }, borrowingLimit: { H100: 2 } }),
    team("b", { preemption: { within: "never", reclaim: "never" }, reservedTopology: [{}] }),
  ];
  const what = "which has no effect under the active policy default. It needs a policy in which";
  expect(warnings(teams, { policy: defaultPolicy })).toEqual([
    `Team a states lendingLimit, ${what} strategy is kueue-fair-sharing or kueue-classical.`,
    `Team a states borrowingLimit, ${what} strategy is kueue-fair-sharing or kueue-classical.`,
    `Team b states preemption, ${what} strategy is kueue-fair-sharing or kueue-classical and phases has reclaim.`,
    `Team b states reservedTopology, ${what} strategy is hived.`,
  ]);
  expect(warnings(teams)).toEqual([expect.stringContaining("states reservedTopology")]);
  expect(warnings([team("b", { reservedTopology: [{}] })], { policy: presets.get("hived") as Policy })).toEqual([]);
});
