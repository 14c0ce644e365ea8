/** Tests how verdicts and the queue mark work that can never start, beside work that only waits. */
import { defaultPolicy, presets } from "@headroom/model";
import type { Policy, WorkloadId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { SmallFleet } from "./testing/small-fleet.ts";
import { queueView, verdictView } from "./verdict-view.ts";

const HOUR_MS = 3_600_000;
const H100 = { acceleratorTypes: ["H100"] };

/** Whether the verdict and the queue say that the work never starts. Both must agree. */
function neverStarts(fleet: SmallFleet, id: WorkloadId): boolean {
  const verdict = verdictView(fleet.engine, id);
  if (verdict?.kind !== "blocked") throw new Error(`${id} is ${verdict?.kind}`);
  const listed = queueView(fleet.engine, {}).items.find(({ workload }) => workload.id === id);
  if (listed !== undefined) expect(listed.neverStarts).toBe(verdict.neverStarts);
  return verdict.neverStarts === true;
}

const sentence = (fleet: SmallFleet, id: WorkloadId): string | undefined => verdictView(fleet.engine, id)?.sentence;

describe("the fleet", () => {
  it("is too small even if it were empty", () => {
    const fleet = SmallFleet.withRacks("r1", "r2");
    const never = [
      fleet.submit("nodes", { gang: { workers: 3, accelerators: 4 } }),
      fleet.submit("cores", { gang: { coresMilli: 17_000 } }),
      fleet.submit("memory", { gang: { memoryMib: 65_537 } }),
      fleet.submit("type", { acceleratorTypes: ["B200"] }),
      fleet.submit("labels", { nodeSelector: { rack: "r3" } }),
      fleet.submit("slices", {
        gang: { workers: 2, accelerators: 4 },
        fabric: { slices: [{ workers: 2, within: "node" }] },
      }),
      fleet.submit("spread", { gang: { workers: 3 }, spread: { topologyKey: "rack", maxPerDomain: 1 } }),
    ];
    expect(never.map((id) => neverStarts(fleet, id))).toEqual(never.map(() => true));
  });

  it("is only occupied", () => {
    const fleet = SmallFleet.withNodes(1, 4);
    fleet.submit("first", { gang: { accelerators: 3 } });
    expect(neverStarts(fleet, fleet.submit("next", { gang: { accelerators: 4 } }))).toBe(false);
  });

  it("has no node of a type that the work waits for on request; its other needs must still be met", () => {
    const fleet = SmallFleet.withNodes(1, 4);
    const patient = { waitForType: true } as const;
    expect(neverStarts(fleet, fleet.submit("type", { acceleratorTypes: ["B200"], ...patient }))).toBe(false);
    expect(neverStarts(fleet, fleet.submit("large", { ...H100, ...patient, gang: { accelerators: 5 } }))).toBe(true);
  });
});

describe("reserved nodes", () => {
  it("are kept as hot spares whatever ends", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    const [pool] = fleet.engine.state.pools.values();
    fleet.apply({ pools: [{ ...pool!, hotSpares: 1 }] });
    expect(neverStarts(fleet, fleet.submit("spares"))).toBe(true);
  });

  it("are not owned by the team, or too few", () => {
    const fleet = SmallFleet.withNodes(2, 8);
    fleet.command({ kind: "setPolicy", policy: presets.get("hived") as Policy });
    fleet.team("none", null);
    const reservedTopology = [{ acceleratorType: "H100", within: "node", accelerators: 8, count: 1 }];
    fleet.define({ name: "owner", parent: null, limit: {}, reservedTopology });
    const firm = { ...H100, preemptible: false } as const;
    const ids = [
      fleet.submit("none", { ...firm, team: "none" }),
      fleet.submit("more", { ...firm, team: "owner", gang: { workers: 2, accelerators: 8 } }),
    ];
    fleet.submit("holder", { ...firm, team: "owner", gang: { accelerators: 8 } });
    const waits = fleet.submit("waits", { ...firm, team: "owner", gang: { accelerators: 8 } });
    expect([...ids, waits].map((id) => neverStarts(fleet, id))).toEqual([true, true, false]);
  });
});

describe("a limit", () => {
  it("is too low for the request alone: of the team, of a team above it, of a user", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    fleet.team("lab", null, { H100: 2 });
    fleet.team("nlp", "lab");
    fleet.define({ name: "shared", parent: null, limit: {}, userLimit: { accelerators: 1 } });
    const own = fleet.submit("own", { team: "lab", gang: { accelerators: 3 } });
    const above = fleet.submit("above", { team: "nlp", gang: { accelerators: 3 } });
    const user = fleet.submit("user", { team: "shared", gang: { accelerators: 2 } });
    expect([own, above, user].map((id) => neverStarts(fleet, id))).toEqual([true, true, true]);
    expect(sentence(fleet, above)).toBe(
      "Exceeds the limit of team lab: it needs 3, but the limit is 2 H100 accelerators, whatever else runs. Request less, or raise limit.H100 of team lab to at least 3 in its file and run headroom apply -f FILE.",
    );
    expect(sentence(fleet, user)).toBe(
      "Exceeds the limit per user of team shared: it needs 2, but the limit per user is 1 accelerator, whatever else runs. Request less, or raise userLimit.accelerators of team shared to at least 2 in its file and run headroom apply -f FILE.",
    );
  });

  it("is only in use, by others' work or by the user's own", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    fleet.team("lab", null, { H100: 2 });
    fleet.define({ name: "shared", parent: null, limit: {}, userLimit: { accelerators: 1 } });
    fleet.submit("holds lab", { team: "lab", gang: { accelerators: 2 } });
    fleet.submit("holds shared", { team: "shared" });
    const team = fleet.submit("team", { team: "lab", gang: { accelerators: 2 } });
    const user = fleet.submit("user", { team: "shared" });
    expect([team, user].map((id) => neverStarts(fleet, id))).toEqual([false, false]);
    expect(sentence(fleet, team)).toBe(
      "Limit of team lab reached: 2 of 2 H100 accelerators in use, this needs 2 more.",
    );
  });

  it("that the request exceeds alone is named before one that is in use", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    fleet.team("lab", null, { H100: 2 });
    fleet.define({ name: "nlp", parent: "lab", limit: {}, userLimit: { accelerators: 1 } });
    fleet.submit("holder", { team: "lab", gang: { accelerators: 2 } });
    const id = fleet.submit("both", { team: "nlp", gang: { accelerators: 2 } });
    expect(neverStarts(fleet, id)).toBe(true);
    expect(sentence(fleet, id)).toContain("Exceeds the limit per user of team nlp");
  });

  it("of one type leaves another type, unless that could not hold the request", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    const [pool] = fleet.engine.state.pools.values();
    const [node] = fleet.engine.state.nodes.values();
    fleet.apply({ pools: [{ ...pool!, name: "A100" as never, acceleratorType: "A100" }] });
    fleet.receive({
      kind: "nodeSeen",
      node: { ...node!, id: "a0" as never, pool: "A100" as never, acceleratorCount: 4 },
    });
    fleet.team("lab", null, { H100: 1 });
    const either = { team: "lab", acceleratorTypes: ["H100", "A100"] };
    fleet.submit("holder", { acceleratorTypes: ["A100"] });
    expect(neverStarts(fleet, fleet.submit("four", { ...either, gang: { accelerators: 4 } }))).toBe(false);
    expect(neverStarts(fleet, fleet.submit("five", { ...either, gang: { accelerators: 5 } }))).toBe(true);
  });
});

describe("a guarantee", () => {
  /** In older journals another rule applies: non-preemptible work stays within the guarantee of its own team. */
  const withinOwn: Policy = {
    ...defaultPolicy,
    teams: { order: [], usageHalfLifeMs: null, ...defaultPolicy.teams, nonPreemptible: "guarantee" },
  };

  it("of other teams leaves too little to non-preemptible work, or only while it is in use", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    fleet.command({ kind: "setPolicy", policy: defaultPolicy });
    fleet.define({ name: "owner", parent: null, limit: {}, guarantee: { H100: 2 } });
    fleet.define({ name: "other", parent: null, limit: {}, guarantee: { H100: 5 } });
    const firm = { ...H100, team: "owner", preemptible: false } as const;
    fleet.submit("holder", { ...firm, gang: { accelerators: 3 } });
    const alone = fleet.submit("alone", { ...firm, gang: { accelerators: 4 } });
    expect([alone, fleet.submit("waits", firm)].map((id) => neverStarts(fleet, id))).toEqual([true, false]);
    expect(sentence(fleet, alone)).toContain(
      "Exceeds what other teams' guarantees leave to non-preemptible work of team owner: it needs 4, but they leave only 3 accelerators",
    );
  });

  it("is too low for non-preemptible work alone, or only in use", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    fleet.command({ kind: "setPolicy", policy: withinOwn });
    fleet.define({ name: "owner", parent: null, limit: {}, guarantee: { H100: 2 } });
    const firm = { ...H100, team: "owner", preemptible: false } as const;
    fleet.submit("holder", { ...firm, gang: { accelerators: 2 } });
    const alone = fleet.submit("alone", { ...firm, gang: { accelerators: 3 } });
    expect([alone, fleet.submit("waits", firm)].map((id) => neverStarts(fleet, id))).toEqual([true, false]);
    expect(sentence(fleet, alone)).toContain("submit it as preemptible work, or raise guarantee.H100 of team owner");
  });

  it("of other types only leaves none of this type", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    fleet.command({ kind: "setPolicy", policy: withinOwn });
    fleet.define({ name: "owner", parent: null, limit: {}, guarantee: { A100: 2 } });
    const firm = fleet.submit("firm", { ...H100, team: "owner", preemptible: false });
    expect(neverStarts(fleet, firm)).toBe(true);
  });
});

describe("borrowing", () => {
  function borrowers(): SmallFleet {
    const fleet = SmallFleet.withNodes(1, 8);
    fleet.command({ kind: "setPolicy", policy: presets.get("kueue-fair-sharing") as Policy });
    fleet.team("all", null);
    fleet.define({ name: "rich", parent: "all", limit: {}, guarantee: { H100: 8 } });
    fleet.define({ name: "poor", parent: "all", limit: {}, guarantee: { H100: 1 }, borrowingLimit: { H100: 3 } });
    return fleet;
  }

  it("is exhausted by others' work for a while", () => {
    const fleet = borrowers();
    fleet.submit("holder", { ...H100, team: "rich", gang: { accelerators: 8 } });
    expect(neverStarts(fleet, fleet.submit("waits", { ...H100, team: "poor", gang: { accelerators: 4 } }))).toBe(false);
  });

  it("does not reach as far as the request, whatever others use", () => {
    const fleet = borrowers();
    expect(neverStarts(fleet, fleet.submit("never", { ...H100, team: "poor", gang: { accelerators: 5 } }))).toBe(true);
  });
});

describe("a budget", () => {
  it.each([
    ["total", true],
    ["month", false],
  ] as const)("of the period %s that is used up: never is %s", (period, expected) => {
    const fleet = SmallFleet.withNodes(1, 4);
    fleet.define({ name: "lab", parent: null, limit: {}, budget: { period, over: "hold", gpuHours: 4 } });
    const first = fleet.submit("first", { team: "lab", gang: { accelerators: 4 } });
    fleet.nowMs += 2 * HOUR_MS;
    fleet.finish(first, 0);
    const next = fleet.submit("next", { team: "lab" });
    expect(verdictView(fleet.engine, next)).toMatchObject({ reasons: [{ kind: "budget" }] });
    expect(neverStarts(fleet, next)).toBe(expected);
  });
});

describe("a hold, a time and a dependency", () => {
  it("are waits", () => {
    const fleet = SmallFleet.withNodes(1, 4);
    fleet.submit("first", { gang: { accelerators: 4 } });
    const waiting = [
      fleet.submit("held", { hold: true }),
      fleet.submit("later", { notBeforeMs: fleet.nowMs + HOUR_MS }),
      fleet.submit("after", { after: [{ workload: "first", on: "ok" }] }),
    ];
    expect(waiting.map((id) => neverStarts(fleet, id))).toEqual([false, false, false]);
  });
});
