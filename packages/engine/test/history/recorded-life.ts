/**
 * A life of a control plane in which everything happens that a journal can hold: every kind of event, and of each the
 * variants that its fields allow. It is recorded once for every state of the format (`record.ts`).
 */
import { attemptId, gangOfGroups, nodeId, presets, teamName, workloadId } from "../../src/index.ts";
import type { AttemptId, Command, Input, JournalGroup, Policy, Team, WorkerExit, WorkloadId } from "../../src/index.ts";
import { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "../lab/make.ts";
import { shapePolicy } from "../shapes/shape-policy.ts";

export interface RecordedLife {
  readonly groups: readonly JournalGroup[];
  /** A snapshot taken in mid-life and the number of groups before it. */
  readonly snapshot: { readonly text: string; readonly groupCount: number };
  readonly digest: string;
}

const submit = (name: string, changes: Parameters<typeof spec>[1] = {}, key: string | null = null): Command =>
  command({ kind: "submitWorkload", spec: spec(name, changes) }, key);
const exited = (id: string, ...exits: readonly WorkerExit[]): Input => ({
  kind: "attemptExited",
  attemptId: attemptId(id),
  exits,
});
const code = (worker: number, value: number): WorkerExit => ({ kind: "exited", worker, code: value });
const running = (id: string): Input => ({ kind: "attemptRunning", attemptId: attemptId(id) });

export function recordLife(): RecordedLife {
  const drive = new Drive();
  build(drive);
  work(drive);
  const snapshot = {
    text: new TextDecoder().decode(drive.engine.snapshot()),
    groupCount: drive.groups.length,
  };
  suffer(drive);
  govern(drive);
  plan(drive);
  replace(drive);
  keepTime(drive);
  relabel(drive);
  save(drive);
  placeGroups(drive);
  gather(drive);
  keepData(drive);
  predict(drive);
  keepSpares(drive);
  foresee(drive);
  divide(drive);
  heedNotice(drive);
  makeWay(drive);
  const groups = drive.groups.map(({ firstSequence, count, text, chain }) => ({ firstSequence, count, text, chain }));
  return { groups, snapshot, digest: drive.engine.digest() };
}

function build(drive: Drive): void {
  drive.nowMs = 1_000;
  drive.receive(
    applied({
      sites: [site],
      pools: [pool("H100"), pool("A100"), pool("")],
      teams: [team("forschung"), team("forschung/nlp", "forschung", { H100: 12, A100: 4 }), team("原型", null, {})],
      workloads: [
        spec("applied", { team: "forschung/nlp", gang: { accelerators: 2 }, env: { LANG: "C.UTF-8", B: "" } }),
      ],
    }),
  );
  drive.receive(
    { kind: "nodeSeen", node: node("n1", "H100") },
    { kind: "nodeSeen", node: node("n2", "H100") },
    { kind: "nodeSeen", node: node("n3", "A100", { acceleratorCount: 40 }) },
    { kind: "nodeSeen", node: node("n4", "", { acceleratorCount: 0 }) },
  );
}

/** Everything that goes well, or badly by its own doing. */
function work(drive: Drive): void {
  const gang = { workers: 2, accelerators: 4, coresMilli: 1500, memoryMib: 2048 };
  const retries = { max: 2, backoffMs: 100, backoffMaxMs: 150 };
  drive.nowMs = 2_000;
  drive.receive(submit("gang", { gang, acceleratorTypes: ["H100", "A100"], walltimeMs: 5_000, priority: 3 }, "key-1"));
  drive.receive(submit("array", { gang: { accelerators: 0 }, taskCount: 3, retries }));
  drive.receive(running("w1.1"), running("w2.1"), running("w3.0.1"), running("w3.1.1"));
  drive.receive(
    {
      kind: "progressReported",
      attemptId: attemptId("w2.1"),
      step: 1,
      totalSteps: 10,
      metrics: { loss: 2.5, tokens: 7 },
    },
    { kind: "progressReported", attemptId: attemptId("w1.1"), step: 3, totalSteps: null, metrics: {} },
    { kind: "checkpointReported", attemptId: attemptId("w2.1"), step: 1, path: "/ckpt/ünï/step-1" },
  );
  drive.nowMs = 2_500;
  drive.receive(exited("w3.0.1", code(0, 0)), exited("w3.1.1", code(0, 7)));
  drive.receive(exited("w1.1", { kind: "signalled", worker: 0, signal: "SIGSEGV" }));
  drive.nowMs = 2_600;
  drive.receive({ kind: "tick" });
  drive.receive(exited("w3.1.2", code(0, 7)), {
    kind: "attemptLost",
    attemptId: attemptId("w3.2.1"),
    detail: "no such directory",
  });
  drive.passTo(2_800);
  drive.receive(exited("w3.1.3", code(0, 7)));
  drive.passTo(4_000);
  drive.receive(exited("w3.2.2", code(0, 0)));
}

/** Walltimes, cancellations, drains and lost nodes. */
function suffer(drive: Drive): void {
  drive.passTo(7_000);
  drive.receive({ kind: "tick" });
  drive.receive(exited("w2.1", code(1, 143), code(0, 143)));
  const retries = { max: 1, backoffMs: 50, backoffMaxMs: 50 };
  const whole = { accelerators: 8 };
  drive.receive(submit("moved", { gang: whole, acceleratorTypes: ["H100"], retries }));
  drive.receive(submit("hit", { gang: { workers: 2, accelerators: 8 }, acceleratorTypes: ["A100"], retries }));
  drive.receive(
    submit("cancelled", { gang: whole, acceleratorTypes: ["H100"] }),
    submit("waits", { gang: { accelerators: 41 } }),
  );
  drive.receive(running("w4.1"), running("w5.1"), running("w6.1"));
  drive.receive(command({ kind: "stopWorkload", workloadId: workloadId("w6") }));
  drive.receive(command({ kind: "stopWorkload", workloadId: workloadId("w7") }, "key-2"));
  drive.receive(command({ kind: "drainNode", nodeId: nodeId("n1"), running: "requeue" }));
  drive.receive({ kind: "nodeUnreachable", nodeId: nodeId("n3"), detail: "no heartbeat for 30 s" });
  drive.nowMs = 7_500;
  drive.receive(exited("w4.1", code(0, 0)), exited("w6.1", { kind: "signalled", worker: 0, signal: "SIGKILL" }));
  drive.receive({ kind: "nodeSeen", node: node("n3", "A100", { acceleratorCount: 16 }) });
  drive.receive(command({ kind: "resumeNode", nodeId: nodeId("n1") }));
  drive.receive(submit("two nodes", { gang: { workers: 2, accelerators: 6 }, acceleratorTypes: ["H100"] }));
  drive.passTo(8_000);
  drive.receive({ kind: "tick" });
  drive.receive(exited("w4.2", code(0, 0)));
  drive.receive({ kind: "nodeUnreachable", nodeId: nodeId("n2"), detail: "power" });
}

/** Teams and policies change under what runs and waits. */
function govern(drive: Drive): void {
  for (const [name, policy] of presets) {
    drive.nowMs += 10;
    drive.receive(
      command({ kind: "setPolicy", policy: { ...policy, name: `${name}, rejecting`, exceedsFleet: "reject" } }),
    );
  }
  drive.receive(applied({ teams: [team("forschung/nlp", "原型", { H100: 2 })] }));
  drive.receive(submit("limited", { team: "forschung/nlp", gang: { accelerators: 3 }, acceleratorTypes: ["H100"] }));
  drive.receive(command({ kind: "removeTeam", team: teamName("forschung") }, "key-3"));
  drive.receive({ kind: "tick" });
}

/** Holds, conditions, elastic gangs, plans that evict, and places that are promised, kept and withdrawn. */
function plan(drive: Drive): void {
  const guaranteed = (name: string, accelerators: number): Team => ({ ...team(name), guarantee: { accelerators } });
  drive.nowMs += 1_000;
  drive.receive(
    command({ kind: "setPolicy", policy: presets.get("default") as Policy }),
    applied({ pools: [pool("B200")], teams: [guaranteed("links", 8), guaranteed("rechts", 8)] }),
    { kind: "nodeSeen", node: node("n5", "B200", { labels: { rack: "r1" } }) },
    { kind: "nodeSeen", node: node("n6", "B200", { labels: { rack: "r2" }, workersMax: 16 }) },
  );
  const acceleratorTypes = ["B200"];
  const idOf = (name: string): WorkloadId => {
    const found = [...drive.engine.state.workloads.values()].find(({ spec: each }) => each.name === name);
    if (found === undefined) throw new Error(`no workload ${name}`);
    return found.id;
  };
  const stopped = (id: string): Input => exited(id, { kind: "signalled", worker: 0, signal: "SIGTERM" });
  drive.receive(
    submit("held", { gang: { shareMilli: 500 }, acceleratorTypes, hold: true, restartCostMs: 10 }),
    submit("follows", { gang: { shareMilli: 250 }, acceleratorTypes, after: [{ workload: "held", on: "ok" }] }),
    submit("hopeless", { gang: { shareMilli: 250 }, acceleratorTypes, after: [{ workload: "held", on: "failed" }] }),
  );
  drive.receive(command({ kind: "releaseWorkload", workloadId: idOf("held") }));
  drive.receive(command({ kind: "holdWorkload", workloadId: idOf("follows") }));
  drive.receive(exited(`${idOf("held")}.1`, code(0, 0)));
  drive.receive(command({ kind: "releaseWorkload", workloadId: idOf("follows") }));
  drive.receive(exited(`${idOf("follows")}.1`, code(0, 0)));
  // Two loans are taken back for a guarantee; the second claimant gives up before its place is free.
  const loan = {
    team: "links",
    gang: { accelerators: 8 },
    acceleratorTypes,
    preemptible: true,
    minRuntimeMs: 10,
  } as const;
  drive.receive(submit("loan", loan), submit("loan again", loan));
  drive.nowMs += 1_000;
  drive.receive(submit("claim", { team: "rechts", gang: { accelerators: 8 }, acceleratorTypes }));
  drive.receive(stopped(`${idOf("loan again")}.1`));
  drive.receive(submit("urgent", { team: "links", gang: { accelerators: 8 }, acceleratorTypes, priority: 9 }));
  drive.receive(command({ kind: "stopWorkload", workloadId: idOf("urgent") }));
  drive.receive(stopped(`${idOf("loan")}.1`), exited(`${idOf("claim")}.1`, code(0, 0)));
  shrink(drive, acceleratorTypes);
}

/** An elastic gang grows, is asked to shrink for somebody, and goes on with what it keeps; work moves to make room. */
function shrink(drive: Drive, acceleratorTypes: readonly string[]): void {
  for (const workload of drive.engine.state.workloads.values())
    if (workload.endedAtMs === null) drive.receive(command({ kind: "stopWorkload", workloadId: workload.id }));
  for (const { id } of drive.engine.state.attempts.values()) drive.receive(exited(id, code(0, 0)));
  drive.receive(command({ kind: "setPolicy", policy: presets.get("kai") as Policy }));
  drive.receive(submit("elastic", { team: "links", gang: { workers: 16, minWorkers: 2 }, acceleratorTypes }));
  drive.receive(submit("partner", { team: "rechts", gang: { workers: 2, accelerators: 2 }, acceleratorTypes }));
  const elastic = [...drive.engine.state.attempts.values()].find(({ leaving }) => leaving !== undefined);
  if (elastic !== undefined) drive.receive({ kind: "workersLeft", attemptId: elastic.id });
  drive.receive({ kind: "tick" });
  // It has grown into what its partner leaves, or so it seems.
  const partner = [...drive.engine.state.attempts.values()].find(
    ({ acceleratorType, id }) => acceleratorType === acceleratorTypes[0] && id !== elastic?.id,
  );
  if (partner !== undefined) drive.receive(exited(partner.id, code(0, 0)));
  if (elastic !== undefined)
    drive.receive({
      kind: "joinFailed",
      attemptId: elastic.id,
      workers: elastic.workers.length - 1,
      detail: "worker 11 exited with code 1",
    });
}

/** What is to leave a node writes a checkpoint first, or not in time. */
function save(drive: Drive): void {
  const policy = presets.get("default") as Policy;
  const eviction = { ...(policy.eviction as NonNullable<Policy["eviction"]>), checkpointTimeoutMs: 60_000 };
  drive.receive(command({ kind: "setPolicy", policy: { ...policy, eviction } }), applied({ pools: [pool("E500")] }), {
    kind: "nodeSeen",
    node: node("n10", "E500"),
  });
  const ask = { gang: { accelerators: 4 }, acceleratorTypes: ["E500"], checkpointOnRequest: true } as const;
  drive.receive(submit("saves", ask), submit("does not", ask));
  const [saves, late] = [...drive.engine.state.attempts.values()].filter(
    ({ acceleratorType }) => acceleratorType === "E500",
  );
  if (saves === undefined || late === undefined) throw new Error("nothing runs on n10");
  drive.receive(running(saves.id), running(late.id));
  drive.receive(command({ kind: "drainNode", nodeId: nodeId("n10"), running: "requeue" }));
  drive.receive({ kind: "checkpointReported", attemptId: saves.id, step: 7, path: "step-7" });
  drive.passTo(drive.nowMs + 61_000);
}

/** A gang loses a node and goes on with another in its place. */
function replace(drive: Drive): void {
  const nodes = ["r1", "r2", "r3"].map((id): Input => ({ kind: "nodeSeen", node: node(id, "R900") }));
  drive.receive(applied({ pools: [pool("R900")] }), ...nodes);
  drive.receive(
    submit("replaces", { gang: { workers: 2, accelerators: 8 }, acceleratorTypes: ["R900"], onNodeLoss: "replace" }),
  );
  const found = [...drive.engine.state.attempts.values()].find(({ acceleratorType }) => acceleratorType === "R900");
  if (found === undefined) throw new Error("nothing runs on R900");
  drive.receive(running(found.id));
  drive.receive({ kind: "nodeUnreachable", nodeId: found.workers[0]?.node ?? nodeId("r1"), detail: "power" });
  drive.receive({ kind: "workersJoined", attemptId: found.id });
}

/** Windows come and go, schedules run, budgets are used up and renewed. */
function keepTime(drive: Drive): void {
  const hour = 3_600_000;
  const window = (name: string) => ({ name, startMs: drive.nowMs + hour, endMs: drive.nowMs + 2 * hour });
  drive.receive(
    command({ kind: "setPolicy", policy: presets.get("default") as Policy }),
    applied({
      pools: [pool("D400")],
      teams: [{ ...team("haushalt"), budget: { gpuHours: 10, microUsd: 1_000_000, period: "month", over: "warn" } }],
      calendar: [
        { kind: "maintenance", ...window("cooling"), nodes: [nodeId("n5")] },
        { kind: "reservation", ...window("demo"), team: teamName("rechts"), accelerators: 8, acceleratorType: "B200" },
        {
          kind: "maintenance",
          name: "called off",
          startMs: drive.nowMs + 9 * hour,
          endMs: drive.nowMs + 10 * hour,
          nodes: [nodeId("n6")],
        },
      ],
      schedules: [
        {
          name: "hourly",
          times: {
            minutes: [30],
            hours: hoursOfDay,
            daysOfMonth: range(1, 31),
            months: range(1, 12),
            daysOfWeek: range(0, 6),
          },
          spec: spec("hourly", { gang: { accelerators: 0 } }),
          concurrency: "forbid",
        },
      ],
    }),
  );
  drive.receive(command({ kind: "removeCalendarEntry", name: "called off" }), {
    kind: "nodeSeen",
    node: node("n9", "D400"),
  });
  drive.receive(submit("spender", { team: "haushalt", gang: { accelerators: 8 }, acceleratorTypes: ["D400"] }));
  for (const { id, startedAtMs } of drive.engine.state.attempts.values())
    if (startedAtMs === null) drive.receive(running(id));
  drive.passTo(drive.nowMs + 3 * hour);
  drive.receive(command({ kind: "removeSchedule", name: "hourly" }));
  waitForPower(drive, hour);
  produce(drive);
  drive.passTo(drive.nowMs + 32 * 24 * hour);
}

/** One makes what another waits for and a third finds when it comes. */
function produce(drive: Drive): void {
  const gang = { accelerators: 0 };
  drive.receive(
    submit("maker", { gang, produces: ["model"] }),
    submit("taker", { gang, after: [{ artifact: "model", workload: "maker" }] }),
  );
  const maker = [...drive.engine.state.attempts.values()].find(
    ({ workloadId: id }) => drive.engine.state.workloads.get(id)?.spec.name === "maker",
  );
  if (maker === undefined) throw new Error("the maker does not run");
  drive.receive({ kind: "artifactReported", attemptId: maker.id, name: "model", path: "/out/größe" });
  drive.receive(submit("late taker", { gang, after: [{ artifact: "model" }] }));
  drive.receive(exited(maker.id, code(0, 0)));
}

/** Cheap power comes, goes again before the work has started, and is waited for no longer than may be. */
function waitForPower(drive: Drive, hour: number): void {
  const when = { kind: "once", startMs: drive.nowMs + hour, endMs: drive.nowMs + 2 * hour } as const;
  const offPeak = { microUsdPerKwhMax: 100_000, gramsPerKwhMax: 200, latestStartMs: drive.nowMs + 3 * hour };
  drive.receive(
    applied({ calendar: [{ kind: "tariff", name: "sonne", when, microUsdPerKwh: 90_000, gramsPerKwh: 50 }] }),
    submit("patient", { gang: { accelerators: 0 }, offPeak, hold: true }),
  );
  drive.passTo(drive.nowMs + 4 * hour);
}

const range = (first: number, last: number): readonly number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);
const hoursOfDay = range(0, 23);

/** Accelerators are divided: parts lie beside each other, one waits for two that are asked to leave, and who waits is told. */
function divide(drive: Drive): void {
  drive.receive(
    applied({ sites: [site], pools: [{ ...pool("M900"), mig: "H100-80GB" }] }),
    { kind: "nodeSeen", node: node("m1", "M900", { acceleratorCount: 1 }) },
    command({ kind: "setPolicy", policy: presets.get("default") as Policy }),
  );
  const part = (profile: string) => ({ accelerators: 1, profile });
  const on = { acceleratorTypes: ["M900"] };
  drive.receive(
    submit("third", { ...on, gang: { ...part("3g.40gb"), workers: 2 }, preemptible: true }),
    submit("small", { ...on, gang: part("1g.10gb") }),
  );
  for (const { id, startedAtMs } of drive.engine.state.attempts.values())
    if (startedAtMs === null) drive.receive(running(id));
  drive.receive(submit("whole", { ...on, gang: part("7g.80gb"), priority: 100 }));
  for (const { id, stop } of Array.from(drive.engine.state.attempts.values()))
    if (stop !== null) drive.receive(exited(id, { kind: "signalled", worker: 0, signal: "SIGTERM" }));
}

/** Data may be worked on here and not there, and a pool is said to hold them. */
function keepData(drive: Drive): void {
  const holds = ["s3://korpus"];
  drive.receive(
    applied({
      sites: [{ ...site, data: { rules: ["vertraulich"] } }],
      pools: [
        { ...pool("F600"), data: { rules: [], holds } },
        { ...pool("G700"), data: { holds } },
      ],
    }),
    { kind: "nodeSeen", node: node("n11", "F600") },
    { kind: "nodeSeen", node: node("n12", "G700") },
  );
  const data = { inputs: ["s3://korpus/v7"], rule: "vertraulich" };
  drive.receive(submit("secret", { gang: { accelerators: 8 }, data }));
  const apart = { sets: ["leise"], from: [{ set: "leise", over: "rack" }], alone: true } as const;
  drive.receive(submit("lone", { gang: { accelerators: 4, apart }, acceleratorTypes: ["G700"] }));
  drive.receive(submit("secret too", { gang: { accelerators: 8 }, acceleratorTypes: ["F600"], data }));
}

/** By two runs of a kind the next is predicted; it runs longer, and then longer than its walltime. */
function predict(drive: Drive): void {
  const easy = presets.get("easy") as Policy;
  const backfill = { reserve: "head", depth: 1, assumedWalltimeMs: 3_600_000, predictFrom: 2 } as const;
  drive.receive(command({ kind: "setPolicy", policy: { ...easy, backfill } }), applied({ pools: [pool("H800")] }), {
    kind: "nodeSeen",
    node: node("n13", "H800"),
  });
  const ask = { gang: { accelerators: 8 }, acceleratorTypes: ["H800"], walltimeMs: 600_000 } as const;
  for (const index of [1, 2, 3]) {
    drive.receive(submit(`lauf-${index}`, ask));
    const id = [...drive.engine.state.attempts.keys()].at(-1) ?? "";
    drive.receive(running(id));
    drive.nowMs += 30_000;
    if (index < 3) drive.receive(exited(id, code(0, 0)));
  }
  drive.receive({ kind: "tick" });
}

/** Power is foreseen step by step, and work waits for the cheapest and the cleanest of it. */
function foresee(drive: Drive): void {
  const hour = 3_600_000;
  const when = {
    kind: "series",
    startMs: drive.nowMs,
    stepMs: hour,
    microUsdPerKwh: [300_000, 90_000, 120_000],
    gramsPerKwh: [400, 100],
  } as const;
  drive.receive(applied({ calendar: [{ kind: "tariff", name: "vorhersage", when }] }));
  const offPeak = { cheapestMs: hour, cleanestMs: 2 * hour, latestStartMs: drive.nowMs + 3 * hour };
  drive.receive(submit("waits", { gang: { accelerators: 0 }, offPeak }));
  drive.passTo(drive.nowMs + hour);
  drive.receive({ kind: "tick" });
}

/** A gang of unlike groups starts, grows, makes room and is promised its place again. */
function placeGroups(drive: Drive): void {
  drive.receive(
    command({ kind: "setPolicy", policy: presets.get("default") as Policy }),
    applied({
      pools: [pool("E500")],
      teams: [
        { ...team("gruppen"), guarantee: { E500: 8, accelerators: 8 } },
        { ...team("mieter"), guarantee: {} },
      ],
    }),
    { kind: "nodeSeen", node: node("n10", "E500") },
  );
  const shape = { coresMilli: 1000, memoryMib: 0, acceleratorTypes: ["E500"] };
  const gang = gangOfGroups([
    { name: "prefill", workers: 3, minWorkers: 1, accelerators: 1, ...shape },
    { name: "decode", workers: 1, accelerators: 4, fabric: { within: "node" }, ...shape },
    { name: "front", workers: 1, accelerators: 0, coresMilli: 500, memoryMib: 64 },
  ]);
  drive.receive(
    submit("tenant", { team: "mieter", gang: { accelerators: 8 }, acceleratorTypes: ["E500"], preemptible: true }),
  );
  drive.receive(submit("groups", { team: "gruppen", gang }));
  const tenant = [...drive.engine.state.attempts.values()].at(-1)?.id ?? "";
  drive.receive(exited(tenant, { kind: "signalled", worker: 0, signal: "SIGTERM" }));
}

/** Of two pieces of work in one team's cells the lesser goes on as a loan of what others leave idle. */
function relabel(drive: Drive): void {
  const owner: Team = {
    ...team("zellen"),
    shapes: [{ within: "node", accelerators: 8, count: 1, acceleratorType: "C300" }],
  };
  drive.receive(
    command({ kind: "setPolicy", policy: shapePolicy(true) }),
    applied({ pools: [pool("C300")], teams: [owner] }),
    { kind: "nodeSeen", node: node("n7", "C300") },
    { kind: "nodeSeen", node: node("n8", "C300") },
  );
  const ask = { team: "zellen", gang: { accelerators: 8 }, acceleratorTypes: ["C300"] } as const;
  drive.receive(submit("lesser", { ...ask, preemptible: true }));
  drive.receive(submit("greater", { ...ask, priority: 5 }));
}

/** Three of four accelerators are busy; of their memory something is told, or nothing. */
const uses = (id: AttemptId, peakMemoryMib: number | null): Input => ({
  kind: "utilizationReported",
  attemptId: id,
  accelerators: 4,
  busyAccelerators: 3,
  busyMilli: 700,
  peakMemoryMib,
  capacityMib: peakMemoryMib === null ? null : 81_920,
});

/** When everybody has gone, what is idle is gathered: of two that lie apart one moves to the other. */
function gather(drive: Drive): void {
  const { state } = drive.engine;
  for (const { id, endedAtMs } of Array.from(state.workloads.values()))
    if (endedAtMs === null) drive.receive(command({ kind: "stopWorkload", workloadId: id }));
  for (const { id } of Array.from(state.attempts.values())) drive.receive(exited(id, code(0, 0)));
  drive.receive(
    command({
      kind: "setPolicy",
      policy: {
        ...(presets.get("default") as Policy),
        phases: ["place", "defragment"],
        defragment: { movesPerHour: 1, restMs: 3_600_000, lossPerPairMs: 60_000 },
      },
    }),
    applied({ pools: [pool("F600")] }),
    { kind: "nodeSeen", node: node("n11", "F600") },
    { kind: "nodeSeen", node: node("n12", "F600") },
  );
  const ask = { gang: { accelerators: 4 }, acceleratorTypes: ["F600"], preemptible: true } as const;
  for (const name of ["apart", "gone", "together", "gone too"]) drive.receive(submit(name.replace(" ", "-"), ask));
  for (const { id } of Array.from(state.attempts.values())) drive.receive(running(id), uses(id, 4096), uses(id, null));
  const attemptsOf = (name: string): readonly string[] =>
    [...state.workloads.values()].find(({ spec: { name: own } }) => own === name)?.activeAttempts ?? [];
  for (const name of ["gone", "gone-too"]) for (const id of attemptsOf(name)) drive.receive(exited(id, code(0, 0)));
  for (const id of attemptsOf("apart")) drive.receive(exited(id, code(0, 0)));
}

/** One of three nodes is a spare; who loses a node with its gang takes it, the node that comes back is the next. */
function keepSpares(drive: Drive): void {
  const { state } = drive.engine;
  for (const { id, endedAtMs } of Array.from(state.workloads.values()))
    if (endedAtMs === null) drive.receive(command({ kind: "stopWorkload", workloadId: id }));
  for (const { id } of Array.from(state.attempts.values())) drive.receive(exited(id, code(0, 0)));
  const kept = (spares: number): Command =>
    applied({ pools: [{ ...pool("J800"), ...(spares > 0 ? { spares } : {}) }] });
  const seen = (id: string): Input => ({ kind: "nodeSeen", node: node(id, "J800") });
  const lost = (id: string): Input => ({ kind: "nodeUnreachable", nodeId: nodeId(id), detail: "power" });
  drive.receive(kept(1), ...["n21", "n22", "n23"].map(seen));
  drive.receive(submit("spared", { gang: { workers: 2, accelerators: 8 }, acceleratorTypes: ["J800"] }));
  const idOf = (): AttemptId => [...state.attempts.keys()].at(-1) as AttemptId;
  drive.receive(running(idOf()));
  drive.receive(lost("n23"));
  // Between the end of the first attempt and the start of the next it is known how many workers it lost.
  drive.receive(exited(idOf(), { kind: "signalled", worker: 0, signal: "SIGTERM" }));
  drive.receive(seen("n23"));
  drive.receive(lost("n23"));
  drive.receive(seen("n23"));
  drive.receive(kept(0));
  drive.receive(kept(2));
}

/** A node goes at a known instant, and the worker on it goes on elsewhere before. */
function heedNotice(drive: Drive): void {
  const nodes = ["n31", "n32", "n33"].map((id): Input => ({ kind: "nodeSeen", node: node(id, "K900") }));
  drive.receive(applied({ pools: [pool("K900")] }), ...nodes);
  const gang = { workers: 2, accelerators: 8 };
  drive.receive(submit("heeding", { gang, onNodeLoss: "replace", acceleratorTypes: ["K900"] }));
  drive.receive(running([...drive.engine.state.attempts.keys()].at(-1) ?? ""));
  drive.receive({ kind: "nodeNotice", nodeId: nodeId("n32"), goneAtMs: drive.nowMs + 40_000 });
  drive.passTo(drive.nowMs + 40_000);
  drive.receive({ kind: "nodeUnreachable", nodeId: nodeId("n32"), detail: "taken back" });
}

/** What has to leave nodes in time says for what: a window, a reservation, a notice and why it was given. */
function makeWay(drive: Drive): void {
  const ids = ["n41", "n42", "n43"];
  const nodes = ids.map((id): Input => ({ kind: "nodeSeen", node: node(id, "L950") }));
  drive.receive(applied({ pools: [pool("L950")], teams: [team("gast")] }), ...nodes);
  for (const id of ids) drive.receive(submit(`on-${id}`, { gang: { accelerators: 8 }, acceleratorTypes: ["L950"] }));
  for (const { id, startedAtMs } of Array.from(drive.engine.state.attempts.values()))
    if (startedAtMs === null) drive.receive(running(id));
  const times = { startMs: drive.nowMs + 600_000, endMs: drive.nowMs + 1_200_000 };
  drive.receive(
    applied({
      calendar: [
        { kind: "maintenance", name: "firmware", ...times, nodes: [nodeId("n41")], reason: "new firmware" },
        { kind: "reservation", name: "guests", ...times, nodes: [nodeId("n42")], team: teamName("gast") },
      ],
    }),
    command({ kind: "noticeNode", nodeId: nodeId("n43"), gone: { inMs: 600_000 }, reason: "spot reclaim" }),
  );
  drive.passTo(drive.nowMs + 600_000);
  for (const { id, stop } of Array.from(drive.engine.state.attempts.values()))
    if (stop?.closedBy !== undefined) drive.receive(exited(id, { kind: "signalled", worker: 0, signal: "SIGTERM" }));
}
