import { commandId, draw, nodeId, poolName, presets, siteName, teamName } from "@headroom/model";
import type { Event, Input, Policy, Team, WorkloadSpec } from "@headroom/model";
import type { Engine, JournalGroup } from "@headroom/engine";
import { describe, expect, it } from "vitest";
import type { RunPlan } from "../executor/run-plan.ts";
import { createSimulation, type SimulatedRound, type SimulationObserver } from "../run/simulation.ts";
import { outsideInputs } from "./outside-inputs.ts";
import { replay, type RecordedWindow } from "./replay.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const by = { actor: "ann", idempotencyKey: null } as const;
const preset = (name: string): Policy => presets.get(name)!;
const pool = {
  name: poolName("p"),
  site: siteName("dc"),
  executor: "simulated",
  acceleratorType: "H100",
  priceMicroUsdPerHour: 0,
} as const;

const spec = (name: string, accelerators: number, more: Partial<WorkloadSpec> = {}): WorkloadSpec =>
  ({
    kind: "train",
    name,
    team: teamName("a"),
    run: "true",
    dir: null,
    env: {},
    gang: { workers: 1, accelerators, coresMilli: 0, memoryMib: 0 },
    acceleratorTypes: [],
    priority: 0,
    walltimeMs: null,
    retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 },
    graceTimeoutMs: 30_000,
    checkpointDir: null,
    ...more,
  }) as WorkloadSpec;

const submit = (given: WorkloadSpec, actor = "ann"): Input => ({
  ...by,
  actor,
  kind: "submitWorkload",
  commandId: commandId(`s-${given.name}`),
  spec: given,
});

/** Collects the records of a journal in memory. */
class Recorder implements SimulationObserver {
  readonly rounds: { readonly atMs: number; readonly inputs: readonly Input[] }[] = [];
  readonly groups: JournalGroup[] = [];
  onRound({ inputs, ready }: SimulatedRound): void {
    this.rounds.push({ atMs: ready.atMs, inputs });
    const { group } = ready;
    if (group === null) return;
    const { firstSequence, count, text, chain } = group;
    this.groups.push({ firstSequence, count, text, chain });
  }
  fork(): this {
    throw new Error("not forked");
  }
}

interface Life {
  readonly nodes: number;
  readonly teams: readonly Team[];
  readonly policy: Policy;
  readonly inputs: readonly { readonly atMs: number; readonly input: Input }[];
  readonly fromMs: number;
  readonly toMs: number;
  plan(name: string): RunPlan;
}

/** Runs a simulation and returns the journal's records of the window. */
function record({
  nodes,
  teams,
  policy,
  inputs,
  fromMs,
  toMs,
  plan,
}: Life): RecordedWindow & { readonly engine: Engine } {
  const recorder = new Recorder();
  const simulation = createSimulation({
    startAtMs: 0,
    fleet: {
      sites: [{ name: siteName("dc"), fabricLevels: [] }],
      pools: [pool],
      nodes: Array.from({ length: nodes }, (_, index) => ({
        id: nodeId(`n${index}`),
        pool: pool.name,
        fabric: [],
        acceleratorCount: 8,
        coresMilli: 64_000,
        memoryMib: 65_536,
      })),
    },
    teams,
    policy,
    script: { length: inputs.length, atMs: (index) => inputs[index]!.atMs, input: (index) => inputs[index]!.input },
    executor: { startupMs: 2000, stopMs: 1000, plan: (launch) => plan(launch.spec.name) },
    nodeFaults: null,
    observer: recorder,
  });
  const rest = { untilMs: fromMs - 1, maxRounds: 1_000_000 };
  while (!simulation.advance(rest));
  const snapshot = simulation.engine.snapshot();
  const before = { rounds: recorder.rounds.length, groups: recorder.groups.length };
  while (!simulation.advance({ untilMs: toMs, maxRounds: 1_000_000 }));
  return {
    snapshot,
    groups: recorder.groups.slice(before.groups),
    inputs: recorder.rounds.slice(before.rounds).flatMap(outsideInputs),
    fromMs,
    toMs,
    stepMs: Math.ceil((toMs - fromMs) / 10),
    engine: simulation.engine,
  };
}

const team = (name: string, more: Partial<Team> = {}): Team => ({
  name: teamName(name),
  parent: null,
  limit: {},
  ...more,
});

/** About a hundred workloads of two teams on four nodes, more than fit at once. */
function busyLife(policy: Policy, seed: number): Life {
  const luck = (index: number, purpose: string, below: number): number => draw(seed, index, purpose) % below;
  const durations = new Map<string, number>();
  const inputs = Array.from({ length: 240 }, (_, index) => {
    const name = `j${luck(index, "name", 40)}-${index}`;
    const minutes = 1 + luck(index, "minutes", 90);
    durations.set(name, MINUTE_MS * minutes);
    const given = spec(name, 1 + luck(index, "size", 8), {
      team: teamName(luck(index, "team", 3) === 0 ? "a" : "b"),
      walltimeMs: 2 * minutes * MINUTE_MS,
    });
    return { atMs: index * 3 * MINUTE_MS, input: submit(given, index % 2 === 0 ? "ann" : "bob") };
  });
  return {
    nodes: 4,
    teams: [team("a"), team("b")],
    policy,
    inputs,
    fromMs: 3 * HOUR_MS,
    toMs: 11 * HOUR_MS,
    plan: (name) => ({ durationMs: durations.get(name)!, exitCode: 0 }),
  };
}

const unchanged = { policy: null, teams: [] };
const total = (events: readonly JournalGroup[], kind: Event["kind"]): number =>
  events.flatMap(({ text }) => JSON.parse(text) as Event[]).filter((event) => event.kind === kind).length;

describe("policy replay", () => {
  it("gives what was recorded where nothing is otherwise", () => {
    for (const name of ["default", "fifo", "easy"]) {
      const window = record(busyLife(preset(name), 7));
      const { recorded, control, changed, teams, assumptions } = replay(window, unchanged);
      expect(recorded.workloads).toBeGreaterThan(100);
      expect(control).toEqual(recorded);
      expect(changed).toEqual(recorded);
      expect(teams.map(({ outcome }) => outcome)).toEqual(["same", "same"]);
      expect(assumptions).toMatchObject({ stopped: 0, lostAttempts: 0, refusals: { control: 0, changed: 0 } });
      expect(recorded.started).toBeGreaterThanOrEqual(total(window.groups, "attemptStarted") - 32);
    }
  });

  it("says who wins and who loses under another policy", () => {
    const window = record(busyLife(preset("fifo"), 7));
    const { recorded, control, changed, sizes } = replay(window, { policy: preset("sjf"), teams: [] });
    expect(control).toEqual(recorded);
    expect(changed.waitMeanMs).toBeLessThan(control.waitMeanMs);
    const skip = replay(window, { policy: preset("fifo-skip"), teams: [] });
    expect(skip.changed.waitMeanMs).toBeLessThan(control.waitMeanMs);
    expect(skip.changed.utilisation).toBeGreaterThan(control.utilisation);
    expect(skip.sizes.find(({ name }) => name === "1")).toMatchObject({ outcome: "wins" });
    expect(sizes.map(({ name }) => name)).toEqual(["1", "2", "3-4", "5-8"]);
    for (const { changed: each } of skip.users) expect(each.workloads).toBeGreaterThan(40);
  });

  it("takes teams as they would have been, whatever was declared of them meanwhile", () => {
    const life = busyLife(preset("default"), 9);
    const again: Input = {
      ...by,
      kind: "apply",
      commandId: commandId("again"),
      sites: [],
      pools: [],
      teams: [team("b")],
      workloads: [],
    };
    const inputs = [...life.inputs, { atMs: 5 * HOUR_MS, input: again }].toSorted(
      (left, right) => left.atMs - right.atMs,
    );
    const window = record({ ...life, inputs });
    const { teams } = replay(window, { policy: null, teams: [team("b", { limit: { H100: 4 } })] });
    const b = teams.find(({ name }) => name === "b")!;
    expect(b.outcome).toBe("loses");
    expect(b.changed.acceleratorHours).toBeLessThan(b.control.acceleratorHours / 2);
    expect(teams[0]).toMatchObject({ name: "a", outcome: "wins" });
  });

  it("stops what was stopped, and says of how much the end is not known", () => {
    const long = { durationMs: 100 * HOUR_MS, exitCode: 0 };
    const window = record({
      nodes: 1,
      teams: [team("a")],
      policy: preset("fifo"),
      // The replay's policy refuses the first submission, so later ids differ from the recorded ones. The stop must
      // still reach the recorded workload.
      inputs: [
        { atMs: 1000, input: submit(spec("too-large", 80)) },
        { atMs: 2000, input: submit(spec("stopped", 8)) },
        { atMs: 3000, input: submit(spec("waits", 8, { after: [{ workload: "w2", on: "any" }] })) },
        { atMs: 2 * HOUR_MS, input: stop("w2") },
      ],
      fromMs: 500,
      toMs: 10 * HOUR_MS,
      plan: () => long,
    });
    const { recorded, changed, assumptions } = replay(window, {
      policy: { ...preset("fifo-skip"), exceedsFleet: "reject" },
      teams: [],
    });
    expect(recorded).toMatchObject({ workloads: 3, started: 2, endedCount: 1 });
    expect(changed).toMatchObject({ workloads: 2, started: 2, endedCount: 1, makespanMs: 2 * HOUR_MS + 1000 - 500 });
    expect(assumptions).toMatchObject({
      stopped: 1,
      waitingAtEnd: { recorded: 1, changed: 0 },
      refusals: { control: 0, changed: 1 },
    });
  });

  it("tells who wins by the work that both courses have", () => {
    const window = record({
      nodes: 1,
      teams: [team("a"), team("b")],
      policy: preset("fifo"),
      // The workload is larger than the fleet. It waits for ten hours unless it is refused.
      inputs: [
        { atMs: 1000, input: submit(spec("too-large", 80)) },
        { atMs: 2000, input: submit(spec("first", 8)) },
        { atMs: 3000, input: submit(spec("second", 8)) },
      ],
      fromMs: 500,
      toMs: 10 * HOUR_MS,
      plan: () => ({ durationMs: HOUR_MS, exitCode: 0 }),
    });
    const report = replay(window, { policy: { ...preset("fifo"), exceedsFleet: "reject" }, teams: [] });
    expect(report.control.workloads).toBe(3);
    expect(report.changed.workloads).toBe(2);
    expect(report.changed.waitMeanMs).toBeLessThan(report.control.waitMeanMs);
    expect(report.shared).toMatchObject({ workloads: 2, controlMeanMs: report.changed.waitMeanMs });
    expect(report.teams).toMatchObject([{ name: "a", outcome: "same" }]);
  });

  it("lets work go on from the checkpoint that it really made, and counts what evictions undo", () => {
    const checkpoint = (afterMs: number) => ({ afterMs, step: afterMs, path: "/c" });
    const urgent = spec("urgent", 8, { priority: 10, team: teamName("a") });
    const saving = spec("saving", 8, { preemptible: true });
    const life: Life = {
      nodes: 1,
      teams: [team("a")],
      policy: { ...preset("default"), phases: ["place"] },
      inputs: [
        { atMs: 0, input: submit(saving) },
        { atMs: 3 * HOUR_MS + 2000, input: submit(urgent) },
      ],
      fromMs: HOUR_MS,
      toMs: 12 * HOUR_MS,
      plan: (name) =>
        name === "urgent"
          ? { durationMs: HOUR_MS, exitCode: 0 }
          : { durationMs: 4 * HOUR_MS, exitCode: 0, checkpoints: [checkpoint(HOUR_MS / 2), checkpoint(2 * HOUR_MS)] },
    };
    const window = record(life);
    const { recorded, control, changed } = replay(window, { policy: preset("default"), teams: [] });
    expect(control).toEqual(recorded);
    expect(recorded).toMatchObject({ evictions: 0, endedCount: 2 });
    expect(recorded.acceleratorHours).toBeCloseTo(8 * 4, 1);
    // Two of three hours are saved. The remaining hour runs after the hour of the urgent workload.
    expect(changed).toMatchObject({ evictions: 1, endedCount: 2, waitMeanMs: 2000 });
    expect(changed.lostAcceleratorHours).toBeCloseTo(8, 1);
    expect(changed.acceleratorHours - recorded.acceleratorHours).toBeCloseTo(8, 1);
  });
});

const forEver: RunPlan = { durationMs: 1000 * HOUR_MS, exitCode: 0 };
const drain = (node: string): Input => ({
  ...by,
  kind: "drainNode",
  commandId: commandId(`drain-${node}`),
  nodeId: nodeId(node),
  running: "requeue",
});
const resume = (node: string): Input => ({
  ...by,
  kind: "resumeNode",
  commandId: commandId(`resume-${node}`),
  nodeId: nodeId(node),
});
const stop = (id: string): Input => ({
  ...by,
  kind: "stopWorkload",
  commandId: commandId(`stop-${id}`),
  workloadId: id as never,
});
const sweep = (count: number): Life["inputs"] =>
  Array.from({ length: count }, (_, index) => ({
    atMs: 1000 + index * MINUTE_MS,
    input: submit(spec(`s${index}`, 1)),
  }));

/** Five short jobs, then a job that occupies the node for a long time; further recorded inputs follow. */
const longAfterShort = (more: Life["inputs"], big: Partial<WorkloadSpec> = {}): Life => ({
  nodes: 1,
  teams: [team("a")],
  policy: preset("default"),
  inputs: [...sweep(5), { atMs: 10 * MINUTE_MS, input: submit(spec("big", 8, big)) }, ...more],
  fromMs: 0,
  toMs: 8 * HOUR_MS,
  plan: (name) => (name === "big" ? forEver : { durationMs: 2000, exitCode: 0 }),
});

describe("what was interrupted and did not run again", () => {
  it("lasts at least as long as it ran, where it waits at the end", () => {
    const window = record(longAfterShort([{ atMs: 7 * HOUR_MS, input: drain("n0") }]));
    const { recorded, control, changed, assumptions } = replay(window, { policy: preset("fifo"), teams: [] });
    expect(recorded.utilisation).toBeGreaterThan(0.8);
    expect(control).toEqual(recorded);
    expect(changed.utilisation).toBe(recorded.utilisation);
    expect(assumptions).toMatchObject({ imaginedDurations: 1, stopped: 0 });
  });

  it("goes on until somebody stops it, where that was while it waited", () => {
    const window = record(
      longAfterShort([
        { atMs: 3 * HOUR_MS, input: drain("n0") },
        { atMs: 6 * HOUR_MS, input: stop("w6") },
      ]),
    );
    const { recorded, control, assumptions } = replay(window, unchanged);
    expect(recorded).toMatchObject({ endedCount: 6 });
    expect(control).toEqual(recorded);
    expect(assumptions).toMatchObject({ imaginedDurations: 0, stopped: 1 });
  });

  it("goes on until then where nobody else takes its place", () => {
    const victim = spec("victim", 8, { preemptible: true });
    const window = record({
      ...longAfterShort([]),
      inputs: [
        ...sweep(5),
        { atMs: 10 * MINUTE_MS, input: submit(victim) },
        { atMs: 2 * HOUR_MS, input: submit(spec("urgent", 8, { priority: 10 })) },
        { atMs: 6 * HOUR_MS, input: stop("w6") },
      ],
      plan: (name) => (name.startsWith("s") ? { durationMs: 2000, exitCode: 0 } : forEver),
    });
    const { recorded, control, changed } = replay(window, { policy: preset("fifo"), teams: [] });
    expect(recorded).toMatchObject({ evictions: 1, started: 7 });
    expect(control).toEqual(recorded);
    // In submission order the victim keeps its place until it is stopped; only then does the urgent workload start.
    expect(changed.evictions).toBe(0);
    expect(changed.waitP95Ms).toBeGreaterThan(4 * HOUR_MS);
    expect(changed.utilisation).toBeCloseTo(recorded.utilisation, 2);
  });

  it("keeps what its checkpoints saved, and is not shorter for it", () => {
    const saving: RunPlan = { ...forEver, checkpoints: [{ afterMs: 5 * HOUR_MS, step: 5, path: "/c" }] };
    const life = longAfterShort([{ atMs: 7 * HOUR_MS, input: drain("n0") }]);
    const window = record({ ...life, plan: (name) => (name === "big" ? saving : life.plan(name)) });
    const { recorded, control } = replay(window, unchanged);
    expect(control).toEqual(recorded);
  });

  it("has done by its workers what it did, where they became more", () => {
    const elastic = spec("big", 8, {
      gang: { workers: 2, minWorkers: 1, accelerators: 8, coresMilli: 0, memoryMib: 0 },
    });
    const window = record({
      ...longAfterShort([]),
      nodes: 2,
      inputs: [
        ...sweep(5),
        { atMs: 10 * MINUTE_MS, input: submit(spec("hour", 8)) },
        { atMs: 11 * MINUTE_MS, input: submit(elastic) },
        { atMs: 6 * HOUR_MS, input: drain("n0") },
        { atMs: 6 * HOUR_MS + 1, input: drain("n1") },
      ],
      plan: (name) => (name === "big" ? forEver : { durationMs: name === "hour" ? HOUR_MS : 2000, exitCode: 0 }),
    });
    const { recorded, control } = replay(window, unchanged);
    expect(recorded.utilisation).toBeGreaterThan(0.6);
    expect(control).toEqual(recorded);
  });

  it("saves by its workers what it saved, where they became more", () => {
    const gang = { workers: 2, minWorkers: 1, accelerators: 8, coresMilli: 0, memoryMib: 0 };
    let launches = 0;
    const window = record({
      ...longAfterShort([]),
      nodes: 2,
      inputs: [
        { atMs: 1000, input: submit(spec("hour", 8)) },
        { atMs: 1001, input: submit(spec("big", 8, { gang })) },
        { atMs: 2.5 * HOUR_MS, input: drain("n0") },
        { atMs: 2.5 * HOUR_MS + 1, input: drain("n1") },
        { atMs: 5 * HOUR_MS, input: resume("n1") },
      ],
      // The gang ran an hour with one worker and an hour with two. One worker needs two hours for the rest.
      plan: (name) => {
        if (name === "hour") return { durationMs: HOUR_MS, exitCode: 0 };
        launches++;
        return launches > 1
          ? { durationMs: 2 * HOUR_MS, exitCode: 0 }
          : { ...forEver, checkpoints: [{ afterMs: 3 * HOUR_MS, step: 3, path: "/c" }] };
      },
    });
    const { recorded, control } = replay(window, unchanged);
    expect(recorded).toMatchObject({ endedCount: 2 });
    expect(recorded.makespanMs).toBeGreaterThan(7 * HOUR_MS);
    // The time during which the gang is resized counts as no progress.
    expect(Math.abs(control.makespanMs - recorded.makespanMs)).toBeLessThan(10_000);
    expect(control.utilisation).toBeCloseTo(recorded.utilisation, 2);
  });

  it("is told task by task of an array", () => {
    const array = spec("big", 4, { kind: "batch", taskCount: 3 });
    const window = record({
      ...longAfterShort([]),
      inputs: [
        ...sweep(5),
        { atMs: 10 * MINUTE_MS, input: submit(array) },
        { atMs: 5 * HOUR_MS, input: drain("n0") },
        { atMs: 7 * HOUR_MS, input: stop("w6") },
      ],
    });
    const { recorded, control, assumptions } = replay(window, unchanged);
    expect(recorded.utilisation).toBeGreaterThan(0.5);
    expect(control).toEqual(recorded);
    expect(assumptions).toMatchObject({ imaginedDurations: 0 });
  });
});
