/**
 * `npm run bench many-models [-- --json]`: many endpoints with little traffic share few accelerators, with the engine and the control of
 * live endpoints. `--models 20 --accelerators 4 --duty 0.05 --session 60 --cold-start 30 --hours 24 --idle-to-zero 300 --seed 1`. Requests come in
 * sessions, one in a second, with pauses of 20 s (`--pause 20`) after a tenth of them; a replica serves any number of them, 0.2 s to the first token. Prints a record with and one
 * without replicas that idle endpoints give up.
 */
import { parseArgs } from "node:util";
import { commandId, defaultPolicy, teamName } from "@headroom/model";
import type { Attempt, WorkloadId, WorkloadSpec } from "@headroom/model";
import { createSimulation, topologyFreePool } from "@headroom/sim";
import type { SimulationObserver } from "@headroom/sim";
import { seededDraw } from "@headroom/routing";
import { IdleYields, LoadReports, scaledEndpoint, ScalingControl } from "../src/index.ts";
import type { ScaleCommand, ScaledEndpoint } from "../src/index.ts";

const { values: options } = parseArgs({
  options: {
    models: { type: "string", default: "20" },
    accelerators: { type: "string", default: "4" },
    duty: { type: "string", default: "0.05" },
    session: { type: "string", default: "60" },
    "cold-start": { type: "string", default: "30" },
    hours: { type: "string", default: "24" },
    "idle-to-zero": { type: "string", default: "300" },
    pause: { type: "string", default: "20" },
    seed: { type: "string", default: "1" },
  },
});
const [models, accelerators, duty] = [Number(options.models), Number(options.accelerators), Number(options.duty)];
const [sessionS, pauseS] = [Number(options.session), Number(options.pause)];
const coldStartMs = 1000 * Number(options["cold-start"]);
const untilMs = 3_600_000 * Number(options.hours);
const STEP_MS = 100;
const LOOK_MS = 2_000;
const REPORT_MS = 1_000;
const FIRST_TOKEN_MS = 200;
const ANSWER_MS = 2_000;
/** Live times are those of the wall clock. */
const ORIGIN_MS = 1_790_000_000_000;
const FOREVER_MS = 315_360_000_000;
const common = { actor: "autoscaler", idempotencyKey: null } as const;

/** Arrivals of one model: sessions of drawn lengths and pauses, one request per second in them on the mean. */
function arrivalsOf(seed: number): readonly number[] {
  // Draws of neighbouring seeds begin alike.
  const draw = seededDraw(Math.imul(seed + 1, 0x9e3779b1) >>> 0);
  for (let skipped = 0; skipped < 20; skipped += 1) draw();
  const exponential = (mean: number): number => -mean * Math.log(1 - draw() / 2 ** 32);
  const all: number[] = [];
  for (
    let atS = exponential(sessionS / duty);
    1000 * atS < untilMs;
    atS += exponential((sessionS * (1 - duty)) / duty)
  ) {
    const endS = atS + exponential(sessionS);
    for (; atS < endS; atS += exponential(draw() % 10 === 0 ? pauseS : 1)) all.push(Math.round(1000 * atS));
  }
  return all;
}

class Silent implements SimulationObserver {
  onRound(): void {}

  fork(): this {
    return this;
  }
}

interface Model {
  readonly id: WorkloadId;
  readonly arrivals: readonly number[];
  readonly control: ScalingControl;
  readonly yields: IdleYields;
  next: number;
  held: number[];
  ends: number[];
  sent: number;
  busyAtMs: number;
}

function run(isYielding: boolean): Readonly<Record<string, unknown>> {
  const simulation = createSimulation({
    startAtMs: ORIGIN_MS,
    fleet: topologyFreePool(accelerators),
    teams: [{ name: teamName("a"), parent: null, limit: {} }],
    policy: defaultPolicy,
    script: {
      length: 0,
      atMs: () => 0,
      input: () => {
        throw new RangeError("no script");
      },
    },
    executor: { startupMs: 0, stopMs: 300, plan: () => ({ durationMs: FOREVER_MS, exitCode: 0 }) },
    nodeFaults: null,
    observer: new Silent(),
  });
  let serial = 0;
  const send = (command: object): ReturnType<typeof simulation.command> =>
    simulation.command({ ...common, commandId: commandId(`c${(serial += 1)}`), ...command } as never);
  const all: readonly Model[] = Array.from({ length: models }, (_, index) => {
    const reply = send({ kind: "submitWorkload", spec: specOf(index) });
    if (reply?.kind !== "accepted" || reply.result.kind !== "workloadSubmitted") throw new RangeError("refused");
    const id = reply.result.workloadId;
    const rest = { next: 0, held: [], ends: [], sent: 0, busyAtMs: ORIGIN_MS };
    return {
      id,
      arrivals: arrivalsOf(1000 * Number(options.seed) + index),
      control: new ScalingControl(),
      yields: new IdleYields(),
      ...rest,
    };
  });
  const reports = new LoadReports();
  const waits: number[] = [];
  let starts = 0;
  const looked = ({ id }: Model): ScaledEndpoint | null => {
    const { workloads, attempts, pools } = simulation.engine.state;
    const workload = workloads.get(id);
    return workload === undefined
      ? null
      : scaledEndpoint(
          workload,
          workload.activeAttempts.flatMap((attempt) => attempts.get(attempt) ?? []),
          pools.values(),
        );
  };
  const scale = (command: ScaleCommand | null): void => void (command !== null && send(command));
  const look = (model: Model, nowMs: number): void => {
    const endpoint = looked(model);
    if (endpoint === null) return;
    scale(model.control.decide(endpoint, { reports }, nowMs).command);
    const waiting = looked(model);
    if (!isYielding || waiting === null) return;
    const others = all.flatMap((each) => looked(each) ?? []);
    const candidates = model.yields.candidates({ waiting, others, reports, nowMs });
    if (candidates.length === 0) return;
    const command = candidates.find((tried) => makesRoom(model, tried)) ?? null;
    model.yields.chosen(command, nowMs);
    if (command !== null)
      all.find(({ id }) => id === command.workloadId)?.control.yielded(command.replicas - command.from, nowMs);
    scale(command);
  };
  /** As the control plane asks its engine (`server/src/forecast/makes-room.ts`). */
  const makesRoom = ({ id }: Model, command: ScaleCommand): boolean => {
    const fork = simulation.fork();
    fork.command({ ...common, commandId: commandId("makes-room"), ...command });
    const { workloads, attempts } = fork.engine.state;
    const ids = workloads.get(command.workloadId)?.activeAttempts ?? [];
    const stopping = ids.filter((attempt) => attempts.get(attempt)?.stop !== null);
    fork.receive(
      stopping.map((attemptId) => ({
        kind: "attemptExited",
        attemptId,
        exits: [{ kind: "exited", worker: 0, code: 0 }],
      })),
    );
    return (fork.engine.state.workloads.get(id)?.activeAttempts.length ?? 0) > 0;
  };
  for (let atMs = 0; atMs < untilMs; atMs += STEP_MS) {
    const nowMs = ORIGIN_MS + atMs;
    while (!simulation.advance({ untilMs: nowMs, maxRounds: 10_000 }));
    for (const model of all) {
      const active = looked(model)?.active ?? [];
      starts += becomeReady(active, nowMs);
      const isServing = active.some(({ ready, stop }) => ready !== undefined && stop === null);
      const before = model.held.length;
      for (; (model.arrivals[model.next] ?? Infinity) <= atMs; model.next += 1)
        model.held.push(model.arrivals[model.next] ?? 0);
      if (isServing) {
        for (const arrivedMs of model.held) waits.push(atMs - arrivedMs + FIRST_TOKEN_MS);
        model.sent += model.held.length;
        for (const _ of model.held) model.ends.push(atMs + ANSWER_MS);
        model.held = [];
      }
      model.ends = model.ends.filter((end) => end > atMs);
      if (model.held.length + model.ends.length > 0) model.busyAtMs = nowMs;
      const isNew = before === 0 && model.held.length > 0;
      if (atMs % REPORT_MS !== 0 && !isNew) continue;
      reports.take(model.id, reportOf(model, nowMs), nowMs);
      if (isNew) look(model, nowMs);
    }
    if (atMs % LOOK_MS === 0) for (const model of all) look(model, nowMs);
  }
  const sorted = waits.toSorted((left, right) => left - right);
  const at = (share: number): number => sorted[Math.floor(share * sorted.length)] ?? 0;
  const cold = sorted.filter((wait) => wait > FIRST_TOKEN_MS + STEP_MS);
  return {
    yielding: isYielding,
    requests: sorted.length,
    starts,
    ttft_p50_ms: at(0.5),
    ttft_p95_ms: at(0.95),
    ttft_p99_ms: at(0.99),
    waited_p95_ms: cold[Math.floor(0.95 * cold.length)] ?? 0,
    bound_ms: coldStartMs + 1000,
    beyond_bound_pct: Number(
      ((100 * sorted.filter((wait) => wait > coldStartMs + 1000).length) / sorted.length).toFixed(2),
    ),
  };

  function becomeReady(active: readonly Attempt[], nowMs: number): number {
    const due = active.filter(
      ({ ready, stop, phase, startedAtMs }) =>
        ready === undefined && stop === null && phase === "running" && nowMs >= (startedAtMs ?? Infinity) + coldStartMs,
    );
    if (due.length > 0)
      simulation.receive(
        due.map(({ id, task }) => ({ kind: "replicaReady", attemptId: id, address: `replica:${8000 + task}` })),
      );
    return due.length;
  }
}

const reportOf = (model: Model, nowMs: number): Parameters<LoadReports["take"]>[1] => ({
  version: 1,
  gateway: "g",
  startedAtMs: ORIGIN_MS,
  requests: model.sent,
  running: model.ends.length,
  held: model.held.length,
  idleMs: nowMs - model.busyAtMs,
  queued: 0,
  kvUsage: null,
  ttft: null,
  tpot: null,
  replicas: [],
});

function specOf(index: number): WorkloadSpec {
  return {
    kind: "serve",
    name: `m${index}`,
    team: teamName("a"),
    run: "",
    dir: null,
    env: {},
    gang: { workers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0 },
    acceleratorTypes: [],
    priority: 0,
    walltimeMs: null,
    retries: { max: 1000, backoffMs: 0, backoffMaxMs: 0 },
    graceTimeoutMs: 0,
    checkpointDir: null,
    replicas: { min: 0, max: 1 },
    ready: { path: "/health", timeoutMs: FOREVER_MS },
    scale: { concurrencyMilli: 16_000, idleToZeroMs: 1000 * Number(options["idle-to-zero"]), downAfterMs: 60_000 },
  };
}

for (const isYielding of [true, false]) process.stdout.write(`${JSON.stringify(run(isYielding))}\n`);
