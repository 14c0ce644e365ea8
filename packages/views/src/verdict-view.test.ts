import { attemptId, defaultPolicy, gangOfGroups, nodeId, poolName, presets } from "@headroom/model";
import type { Policy, Pool, WorkloadSpec } from "@headroom/model";
import { smallestChanges } from "@headroom/explain";
import { describe, expect, it } from "vitest";
import { calendarList } from "./calendar-view.ts";
import { changeSentence } from "./change-text.ts";
import { SmallFleet, specOf } from "./testing/small-fleet.ts";
import { queueView, verdictView } from "./verdict-view.ts";
import { workloadView } from "./workload-view.ts";

const endpointOf = (name: string, replicas: { readonly min: number; readonly max: number }): WorkloadSpec => ({
  ...specOf(name, {}),
  kind: "serve",
  replicas,
  ready: { path: "/health", timeoutMs: 60_000 },
});

const sentence = (fleet: SmallFleet, id: string): string | undefined => verdictView(fleet.engine, id)?.sentence;

describe("the sentence of a verdict", () => {
  it("says what the whole fleet could not hold", () => {
    const fleet = SmallFleet.withNodes(2, 8);
    const id = fleet.submit("wide", {
      gang: { workers: 4, accelerators: 8, coresMilli: 500, memoryMib: 1_536 },
      acceleratorTypes: ["H100"],
    });
    expect(sentence(fleet, id)).toBe(
      "Exceeds the fleet: it needs 8 H100 accelerators, 0.5 cores and 1.5 GiB of memory for each of 4 workers. Even if they were empty, the nodes that take work now would hold only 2 of 4 workers.",
    );
  });

  it("states a limit on network bandwidth in its unit, and the request that would fit the node", () => {
    const fleet = SmallFleet.withNetwork(400);
    fleet.team("small", null, { networkGbps: 100 });
    const gang = { accelerators: 1, networkGbps: 80 };
    fleet.submit("first", { team: "small", gang });
    const second = fleet.submit("second", { team: "small", gang });
    expect(sentence(fleet, second)).toBe(
      "Limit of team small reached: 80 Gbps of 100 Gbps in use, this needs 80 Gbps more.",
    );
    fleet.submit("wide", { gang: { accelerators: 1, networkGbps: 300 } });
    const third = fleet.submit("third", { gang: { accelerators: 1, networkGbps: 40 } });
    const [change] = smallestChanges(fleet.engine, third).filter(({ change: { kind } }) => kind === "lessNetwork");
    expect(change === undefined ? null : changeSentence(fleet.engine, specOf("third", {}), change.change)).toBe(
      "Request 20 Gbps of network bandwidth per worker instead of 40.",
    );
  });

  it("warns of a deadline that can no longer be kept, and of no other", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    fleet.submit("first", { gang: { accelerators: 8 } });
    const nowMs = fleet.engine.state.nowMs;
    const gang = { accelerators: 1 };
    const late = fleet.submit("late", { gang, walltimeMs: 3_600_000, deadlineMs: nowMs + 3_599_000 });
    const inTime = fleet.submit("in time", { gang, walltimeMs: 3_600_000, deadlineMs: nowMs + 3_700_000 });
    const later = fleet.submit("later", { gang, walltimeMs: 1, deadlineMs: nowMs + 2_000, notBeforeMs: nowMs + 2_000 });
    expect(sentence(fleet, late)).toMatch(
      /It will miss its deadline of .*: with its walltime it ends at .* at the earliest\.$/,
    );
    expect(verdictView(fleet.engine, late)).toMatchObject({ deadline: { deadlineMs: nowMs + 3_599_000 } });
    expect(sentence(fleet, inTime)).not.toContain("deadline");
    expect(sentence(fleet, later)).toContain("miss its deadline");
    const over = fleet.submit("over", { gang, deadlineMs: nowMs - 1_000 });
    const open = fleet.submit("open", { gang, deadlineMs: nowMs + 1_000 });
    expect(sentence(fleet, over)).toMatch(/It misses its deadline of .*: it does not end before /);
    expect(sentence(fleet, open)).not.toContain("deadline");
  });

  it("counts from the engine's clock, however long ago the last event was", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    const id = fleet.submit("later", { gang: { accelerators: 1 }, notBeforeMs: fleet.nowMs + 3_600_000 });
    fleet.nowMs += 1_800_000;
    fleet.receive({ kind: "tick" });
    expect(fleet.engine.state.nowMs).toBeLessThan(fleet.nowMs);
    expect(sentence(fleet, id)).toContain("in 30 min.");
  });

  it("names the prediction by which work would be in the way of a protected start", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    const easy = presets.get("easy") as Policy;
    const backfill = { protectedStarts: 1, assumedWalltimeMs: 3_600_000, predictFrom: 1 } as const;
    fleet.command({ kind: "setPolicy", policy: { ...easy, backfill } });
    const small = { gang: { accelerators: 1 }, walltimeMs: 86_400_000 };
    const run = fleet.submit("run-1", small);
    fleet.receive({ kind: "attemptRunning", attemptId: attemptId(`${run}.1`) });
    fleet.nowMs += 7_800_000;
    fleet.finish(run, 0);
    fleet.submit("holds", { gang: { accelerators: 7 }, walltimeMs: 3_600_000 });
    fleet.submit("head", { gang: { accelerators: 8 }, walltimeMs: 3_600_000 });
    const id = fleet.submit("run-2", small);
    expect(sentence(fleet, id)).toContain(
      "Would delay a protected start: head is to start there, by walltimes in 1 h at the latest (the bound that backfill keeps, not the forecast); it is predicted to run 2 h 10 min, by the last 1 run of its kind; stated: 1 d. A shorter walltime could be backfilled.",
    );
    expect(workloadView(fleet.engine.state, id)?.prediction).toEqual({ durationMs: 7_800_000, runs: 1 });
  });

  it("says which time of least price it waits for, by the forecast", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    const hour = 3_600_000;
    const when = { kind: "series", startMs: 0, stepMs: hour, microUsdPerKwh: [90_000, 110_000, 80_000] } as const;
    fleet.apply({ calendar: [{ kind: "tariff", name: "day-ahead", when }] });
    const id = fleet.submit("cheap", { startWindow: { cheapestMs: hour, latestStartMs: 4 * hour } });
    expect(sentence(fleet, id)).toBe(
      "Start window: it waits for the cheapest 1 h before its latest start; now it costs 0.09 USD/kWh. The window opens at 1970-01-01T02:00:00Z; its latest start is 1970-01-01T04:00:00Z.",
    );
    expect(calendarList(fleet.engine).items[0]?.sentence).toBe(
      "Tariff day-ahead, 0.08 USD/kWh to 0.11 USD/kWh, in 3 steps of 1 h from 1970-01-01T00:00:00Z on.",
    );
    fleet.nowMs = 2 * hour;
    fleet.receive({ kind: "tick" });
    expect(fleet.events.at(-1)).toMatchObject({ kind: "gangPlaced", workloadId: id });
  });

  it("counts what is free", () => {
    const fleet = SmallFleet.withNodes(2, 8);
    fleet.submit("first", { gang: { accelerators: 8 } });
    fleet.submit("second", { gang: { accelerators: 6 } });
    const id = fleet.submit("third", { gang: { workers: 2, accelerators: 4 } });
    expect(sentence(fleet, id)).toBe("Not enough free accelerators: it needs 8 accelerators; 2 of 16 are free.");
  });

  it("does not count free accelerators of nodes under maintenance, and names the nodes", () => {
    const fleet = SmallFleet.withNodes(2, 8);
    const firmware = {
      kind: "maintenance",
      name: "firmware",
      nodes: [nodeId("n1")],
      startMs: 0,
      endMs: 9_000_000,
    } as const;
    fleet.apply({ calendar: [firmware] });
    fleet.submit("first", { gang: { accelerators: 6 } });
    const closed =
      "8 more are free on n1, which maintenance firmware closes from 1970-01-01T00:00:00Z until 1970-01-01T02:30:00Z.";
    const wide = fleet.submit("wide", { gang: { workers: 3, accelerators: 4 } });
    expect(sentence(fleet, wide)).toBe(
      `Not enough free accelerators: it needs 12 accelerators; 2 of 16 are free. ${closed}`,
    );
    expect(verdictView(fleet.engine, wide)).toMatchObject({ wakeOn: expect.arrayContaining(["windowEnded"]) });
  });

  it("says that a gang lies within one executor", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    const [pool] = fleet.engine.state.pools.values();
    const other = { ...(pool as Pool), name: poolName("other"), executor: "other" };
    fleet.apply({ pools: [other] });
    const amounts = { acceleratorCount: 8, coresMilli: 16_000, memoryMib: 65_536 };
    const more = { id: nodeId("m0"), pool: other.name, fabric: [], ...amounts };
    fleet.receive({ kind: "nodeSeen", node: more });
    for (const name of ["first", "second"]) fleet.submit(name, { gang: { accelerators: 8 } });
    const id = fleet.submit("both", { gang: { workers: 2, accelerators: 8 } });
    expect(sentence(fleet, id)).toBe(
      "Exceeds the fleet: it needs 8 accelerators for each of 2 workers. Even if they were empty, the nodes that take work now would hold only 1 of 2 workers within one executor, and a gang cannot span executors.",
    );
    for (const node of [
      { ...more, id: nodeId("n1"), pool: (pool as Pool).name },
      { ...more, id: nodeId("m1") },
    ])
      fleet.receive({ kind: "nodeSeen", node });
    expect(sentence(fleet, id)).toBe(
      "Several executors: it needs 8 accelerators for each of 2 workers; only 1 of 2 workers fits within one executor, and a gang cannot span executors.",
    );
  });

  it("says what a team may claim where others would have to give way and do not, its own or one above it", () => {
    const fleet = SmallFleet.withNodes(4, 8);
    fleet.command({ kind: "setPolicy", policy: defaultPolicy });
    fleet.define({ name: "org", parent: null, limit: {}, guarantee: { H100: 16 } });
    for (const name of ["one", "two"]) fleet.team(name, "org");
    fleet.define({ name: "lab", parent: null, limit: {}, guarantee: { H100: 16 } });
    const opportunisticJob = { team: "lab", preemptible: true, acceleratorTypes: ["H100"] };
    const opportunisticJobs = ["a", "b", "c", "d"].map((name) =>
      fleet.submit(name, { ...opportunisticJob, gang: { accelerators: 8 } }),
    );
    const asked = { preemptible: true, acceleratorTypes: ["H100"] };
    const wide = fleet.submit("wide", { ...asked, team: "one", gang: { workers: 3, accelerators: 8 } });
    expect(sentence(fleet, wide)).toBe(
      "Not enough free accelerators: it needs 24 H100 accelerators; 0 of 32 are free. Team one is entitled to 16 H100 accelerators and uses 0. This would exceed its entitlement, so it cannot preempt other teams.",
    );
    fleet.stop(wide);
    for (const id of opportunisticJobs.slice(2)) fleet.stop(id);
    for (const id of opportunisticJobs.slice(2)) fleet.finish(id, 0);
    fleet.submit("firm", { team: "two", acceleratorTypes: ["H100"], gang: { workers: 2, accelerators: 8 } });
    const more = fleet.submit("more", { ...asked, team: "one", gang: { accelerators: 8 } });
    expect(sentence(fleet, more)).toContain(
      "Team org is entitled to 16 H100 accelerators and uses 16. This would exceed its entitlement, so it cannot preempt teams outside of it.",
    );
    const easy = presets.get("easy") as Policy;
    fleet.command({ kind: "setPolicy", policy: easy });
    expect(sentence(fleet, more)).not.toContain("entitle");
  });

  it("names the group of a gang that finds no room beside the others", () => {
    const fleet = SmallFleet.withNodes(2, 8);
    fleet.submit("first", { gang: { accelerators: 8 } });
    const shape = { coresMilli: 0, memoryMib: 0 };
    const gang = gangOfGroups([
      { name: "prefill", workers: 4, accelerators: 1, ...shape },
      { name: "decode", workers: 1, accelerators: 6, ...shape },
    ]);
    const id = fleet.submit("both", { gang });
    expect(sentence(fleet, id)).toBe(
      "Not enough free accelerators: its group prefill needs 4 accelerators; 2 of 16 are free.",
    );
    const wide = fleet.submit("wide", {
      gang: gangOfGroups([{ name: "trainer", workers: 3, accelerators: 8, ...shape }]),
    });
    expect(sentence(fleet, wide)).toMatch(
      /^Exceeds the fleet: its group trainer needs 8 accelerators for each of 3 workers\. Even if/,
    );
  });

  it("tells scattered accelerators from missing cores and memory", () => {
    const fleet = SmallFleet.withNodes(2, 8);
    fleet.submit("first", { gang: { accelerators: 4, coresMilli: 16_000, memoryMib: 1_024 } });
    fleet.submit("second", { gang: { accelerators: 5, coresMilli: 2_000, memoryMib: 65_536 } });
    const scattered = fleet.submit("scattered", { gang: { accelerators: 5 } });
    expect(sentence(fleet, scattered)).toBe(
      "Fragmented capacity: it needs 5 accelerators on one node; 7 are free in total, but only 0 of 1 worker fit.",
    );
    const cores = fleet.submit("cores", { gang: { accelerators: 4, coresMilli: 1_000 } });
    expect(sentence(fleet, cores)).toBe(
      "Not enough cores: it needs 4 accelerators and 1 core on one node; accelerators are free, but the cores beside them are enough for only 0 of 1 worker.",
    );
    const none = { accelerators: 0 };
    const alone = fleet.submit("cores-alone", { gang: { ...none, workers: 2, coresMilli: 10_000 } });
    expect(sentence(fleet, alone)).toBe(
      "Not enough cores: it needs 10 cores for each of 2 workers; the free cores are enough for only 1 of 2 workers.",
    );
    const memory = fleet.submit("memory-alone", { gang: { ...none, workers: 2, memoryMib: 61_440 } });
    expect(sentence(fleet, memory)).toBe(
      "Not enough memory: it needs 60 GiB of memory for each of 2 workers; the free memory is enough for only 1 of 2 workers.",
    );
  });

  it("needs and counts parts of accelerators as what they are", () => {
    const fleet = SmallFleet.withNodes(1, 1);
    fleet.submit("first", { gang: { accelerators: 1 } });
    const quarter = fleet.submit("quarter", { gang: { accelerators: 1, shareMilli: 250, coresMilli: 100 } });
    expect(sentence(fleet, quarter)).toBe(
      "Fragmented capacity: it needs 0.25 of an accelerator and 0.1 cores on one node; no accelerator has that much free.",
    );
    expect(verdictView(fleet.engine, quarter)).toMatchObject({
      reasons: [{ kind: "workerShortfall", neededPerWorker: 0.25, freeCount: 0 }],
    });
    fleet.submit("batch", { taskCount: 6, gang: { accelerators: 1, shareMilli: 250 } });
    fleet.submit("whole", { gang: { accelerators: 1 } });
    expect(queueView(fleet.engine, {}).waiting).toEqual({ workloads: 3, tasks: 8, accelerators: 2.75 });
    const part = fleet.submit("part", { gang: { accelerators: 1, profile: "3g.40gb" } });
    expect(sentence(fleet, part)).toBe(
      "Exceeds the fleet: it needs a 3g.40gb slice of an accelerator on one node; no pool with an accepted type states a MIG device (mig).",
    );
  });

  it("names the accelerator memory that no pool states, or that is more than any states", () => {
    const gang = { accelerators: 1, acceleratorMemoryMib: 20 * 1024 };
    const bare = SmallFleet.withNodes(1, 1);
    const need = "Exceeds the fleet: it needs 20 GiB of the memory of an accelerator on one node";
    const none = "Even if they were empty, the nodes that take work now would hold only 0 of 1 worker";
    expect(sentence(bare, bare.submit("a", { gang }))).toBe(
      `${need}. ${none}: none has more than 0 MiB of accelerator memory, because its pool states none (acceleratorMemory).`,
    );
    const small = SmallFleet.withMemory(16 * 1024);
    expect(sentence(small, small.submit("a", { gang }))).toBe(
      `${need}. ${none}: none has more than 16 GiB of memory on an accelerator.`,
    );
    const shared = SmallFleet.withMemory(30 * 1024);
    shared.submit("a", { gang });
    expect(sentence(shared, shared.submit("b", { gang }))).toBe(
      "Fragmented capacity: it needs 20 GiB of the memory of an accelerator on one node; no accelerator has that much free.",
    );
    expect(queueView(shared.engine, {}).waiting.accelerators).toBeCloseTo(0.667, 10);
  });

  it("names the parts that there are where the one that is wanted is none of them", () => {
    const fleet = SmallFleet.divided("A100-40GB");
    const id = fleet.submit("part", { gang: { accelerators: 1, profile: "3g.40gb" }, acceleratorTypes: ["A100"] });
    expect(sentence(fleet, id)).toBe(
      "Exceeds the fleet: it needs a 3g.40gb slice of one A100 accelerator on one node; no accepted type has this MIG profile: A100-40GB has 1g.5gb, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb.",
    );
    for (const name of ["a", "b", "c", "d"]) fleet.submit(name, { gang: { accelerators: 1, profile: "3g.20gb" } });
    // Two instances of 3g.20gb fit on the device. The other two wait (856 thousandths), and so does the 3g.40gb (428).
    expect(queueView(fleet.engine, {}).waiting.accelerators).toBeCloseTo(0.856 + 0.428, 10);
  });

  it("says which nodes it counts where labels or a rule narrow them", () => {
    const fleet = SmallFleet.withRacks("r1", "r1", "r2");
    for (const name of ["first", "second"])
      fleet.submit(name, { gang: { accelerators: 4 }, nodeSelector: { rack: "r1" } });
    const four = fleet.submit("four", { gang: { accelerators: 4 }, nodeSelector: { rack: "r1" } });
    expect(sentence(fleet, four)).toBe(
      "Not enough free accelerators: it needs 4 accelerators on nodes with rack=r1; 0 of the 8 there are free.",
    );
    const nowhere = fleet.submit("nowhere", { gang: { accelerators: 4 }, nodeSelector: { rack: "r9" } });
    expect(sentence(fleet, nowhere)).toMatch(/None of the 3 nodes that could hold a worker carries rack=r9/);
  });

  it("names the spread that is one too many, on an empty fleet and on a full one", () => {
    const fleet = SmallFleet.withRacks("r1", "r1", "r2");
    const gang = { workers: 3, accelerators: 1 };
    const never = fleet.submit("never", { gang, spread: { topologyKey: "rack", maxPerDomain: 1 } });
    expect(sentence(fleet, never)).toMatch(/would hold only 2 of 3 workers, as at most 1 of them may share a rack\.$/);
    fleet.submit("first", { gang: { accelerators: 4 }, nodeSelector: { rack: "r2" } });
    const now = fleet.submit("now", {
      gang: { ...gang, workers: 2 },
      spread: { topologyKey: "rack", maxPerDomain: 1 },
    });
    expect(sentence(fleet, now)).toMatch(/only 1 of 2 workers fits, as at most 1 of them may share a rack\.$/);
  });

  it("names what no node has as much of, and a type that no node has", () => {
    const fleet = SmallFleet.withNodes(2, 8);
    const memory = fleet.submit("memory", { gang: { accelerators: 0, memoryMib: 131_072 } });
    expect(sentence(fleet, memory)).toMatch(/would hold only 0 of 1 worker: none has more than 64 GiB of memory\.$/);
    expect(verdictView(fleet.engine, memory)).toMatchObject({
      reasons: [{ lack: { of: "memory", perWorker: 131_072, perNodeMax: 65_536 } }],
    });
    const none = { accelerators: 0, coresMilli: 1_000 };
    const typo = fleet.submit("typo", { gang: none, acceleratorTypes: ["h100"] });
    expect(sentence(fleet, typo)).toBe(
      "Exceeds the fleet: it needs 1 core on one node with h100 accelerators; no node has h100 accelerators; did you mean H100?",
    );
    const other = fleet.submit("other", { gang: none, acceleratorTypes: ["TPU-v6e"] });
    expect(sentence(fleet, other)).toMatch(/no node has TPU-v6e accelerators; the fleet has H100\.$/);
  });

  it("says from when on work may be asked to leave that was promised to run so long", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    fleet.command({ kind: "setPolicy", policy: defaultPolicy });
    fleet.submit("first", { gang: { accelerators: 8 }, preemptible: true, minRuntimeMs: 60_000 });
    const id = fleet.submit("urgent", { gang: { accelerators: 8 }, priority: 5 });
    fleet.nowMs += 20_000;
    fleet.receive({ kind: "tick" });
    expect(sentence(fleet, id)).toBe(
      "Not enough free accelerators: it needs 8 accelerators; 0 of 8 are free. Minimum runtime: first can be preempted from 1970-01-01T00:01:01Z (in 40 s), when its minRuntime ends.",
    );
    const alike = fleet.submit("alike", { gang: { accelerators: 8 } });
    expect(sentence(fleet, alike)).not.toContain("minRuntime");
  });

  it("says that spares are in the way, and what else is", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    const [pool] = fleet.engine.state.pools.values();
    fleet.apply({ pools: [{ ...pool!, hotSpares: 1 }] });
    fleet.team("small", null, { H100: 2 });
    const three = fleet.submit("three", { team: "small", gang: { accelerators: 3 } });
    expect(sentence(fleet, three)).toBe(
      "Hot spares: it fits only with them, and one node is kept as a hot spare for work that loses nodes. Exceeds the limit of team small: it needs 3, but the limit is 2 H100 accelerators, whatever else runs. Request less, or raise limit.H100 of team small to at least 3 in its file and run headroom apply -f FILE.",
    );
    fleet.team("small", null, { H100: 4 });
    expect(sentence(fleet, three)).toBe(
      "Hot spares: it would fit, but one node is kept as a hot spare for work that loses nodes.",
    );
  });

  it("names the team whose limit is reached", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    fleet.team("research", null, { H100: 4 });
    fleet.team("nlp", "research");
    fleet.submit("first", { team: "nlp", gang: { accelerators: 3 } });
    const id = fleet.submit("second", { team: "nlp", gang: { accelerators: 2 } });
    expect(sentence(fleet, id)).toBe(
      "Limit of team research reached: 3 of 4 H100 accelerators in use, this needs 2 more.",
    );
  });

  it("says which bound of a team is reached, in the unit of what it bounds", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    fleet.command({ kind: "setPolicy", policy: defaultPolicy });
    fleet.define({ name: "cpu", parent: null, limit: { cores: 4_000 } });
    const cores = fleet.submit("cores", { team: "cpu", gang: { coresMilli: 6_000 } });
    expect(sentence(fleet, cores)).toBe(
      "Exceeds the limit of team cpu: it needs 6 cores, but the limit is 4 cores, whatever else runs. Request less, or raise limit.cores of team cpu to at least 6 cores in its file and run headroom apply -f FILE.",
    );
    fleet.define({ name: "owner", parent: null, limit: {}, guarantee: { H100: 4 } });
    fleet.submit("firm", { team: "owner", gang: { accelerators: 3 }, preemptible: false });
    fleet.submit("loan", { team: "owner", gang: { accelerators: 2 }, preemptible: true });
    const { teams = { order: [], usageHalfLifeMs: null } } = defaultPolicy;
    fleet.command({
      kind: "setPolicy",
      policy: { ...defaultPolicy, teams: { ...teams, nonPreemptible: "guarantee" } },
    });
    const beyond = fleet.submit("beyond", { team: "owner", gang: { accelerators: 2 }, preemptible: false });
    expect(sentence(fleet, beyond)).toBe(
      "Guarantee of team owner reached for non-preemptible work: 3 of 4 H100 accelerators in use, this needs 2 more. Preemptible work can exceed the guarantee.",
    );
  });

  it("says that non-preemptible work must leave what other teams are guaranteed", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    fleet.command({ kind: "setPolicy", policy: defaultPolicy });
    fleet.define({ name: "owner", parent: null, limit: {}, guarantee: { accelerators: 1 } });
    fleet.define({ name: "other", parent: null, limit: {}, guarantee: { accelerators: 5 } });
    fleet.submit("fits", { team: "owner", gang: { accelerators: 2 }, preemptible: false });
    const beyond = fleet.submit("beyond", { team: "owner", gang: { accelerators: 2 }, preemptible: false });
    expect(sentence(fleet, beyond)).toBe(
      "Non-preemptible work of team owner must leave what other teams are guaranteed: 7 of 8 accelerators guaranteed or in use by non-preemptible work, this needs 2 more. Preemptible work can use guaranteed capacity while it is idle.",
    );
  });

  it("names the head under a policy that starts nothing past it", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    fleet.command({ kind: "setPolicy", policy: presets.get("fifo") as Policy });
    fleet.submit("running", { gang: { accelerators: 5 } });
    fleet.submit("head", { gang: { accelerators: 4 } });
    const id = fleet.submit("small", { gang: { accelerators: 1 } });
    expect(sentence(fleet, id)).toBe(
      "Behind the head of the queue: head does not fit yet, and policy fifo starts no work before it. 1 workload is ahead.",
    );
  });

  it("says how long a retry waits", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    const id = fleet.submit("flaky");
    fleet.finish(id, 7);
    expect(sentence(fleet, id)).toBe("Back-off: it failed 1 time. The next attempt starts in 8 s.");
  });

  it("says why something does not wait at all", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    const id = fleet.submit("quick");
    expect(sentence(fleet, id)).toBe("It does not wait: all of its tasks are placed.");
    fleet.finish(id, 0);
    expect(sentence(fleet, id)).toBe("It has ended: succeeded.");
    expect(verdictView(fleet.engine, "w99")).toBeNull();
    const submitted = fleet.command({ kind: "submitWorkload", spec: endpointOf("chat", { min: 0, max: 2 }) });
    const endpoint = submitted.kind === "workloadSubmitted" ? submitted.workloadId : "";
    expect(sentence(fleet, endpoint)).toBe("It should have no replicas; `headroom set NAME replicas=N` starts some.");
  });
});
