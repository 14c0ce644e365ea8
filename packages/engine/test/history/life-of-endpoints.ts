/** Part of the recorded journal: an endpoint whose replicas become ready, fail, grow and shrink. */
import { attemptId, workloadId } from "@headroom/model";
import type { RolloutAction, RolloutGround, WorkloadChanges } from "@headroom/model";
import type { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, site, spec } from "../lab/make.ts";

/** One replica is ready, and one has failed and is started again. */
export function beginEndpoint(drive: Drive): void {
  drive.receive(applied({ sites: [site], pools: [pool("L4")] }), { kind: "nodeSeen", node: node("n81", "L4") });
  const endpoint = spec("chat", { acceleratorTypes: ["L4"], replicas: { min: 0, max: 2 } });
  drive.receive(command({ kind: "submitWorkload", spec: endpoint }, "key-chat"));
  change(drive, { replicaCount: 2, scale: { concurrencyMilli: 4_000, idleToZeroMs: 60_000, downAfterMs: 60_000 } });
  const budget = { microUsd: 50_000_000, period: "day" } as const;
  change(drive, { overflow: { provider: "backup", queueTimeMs: 5_000, budget, dataRules: ["unmarked"] } });
  change(drive, { budget: { microUsd: 1_000_000, period: "day", over: "warn" } });
  const metrics = [{ name: "jobsQueued", source: "site", perReplicaMilli: 20_000 }] as const;
  change(drive, { scale: { concurrencyMilli: 4_000, metrics, idleToZeroMs: 60_000, downAfterMs: 60_000 } });
  const [first, second] = replicasOf(drive);
  if (first === undefined || second === undefined) throw new Error("the endpoint has no two replicas");
  drive.receive({ kind: "attemptRunning", attemptId: first });
  drive.receive({ kind: "replicaReady", attemptId: first, address: "127.0.0.1:8000" });
  drive.receive({ kind: "attemptRunning", attemptId: second });
  drive.receive({ kind: "attemptExited", attemptId: second, exits: [{ kind: "exited", worker: 0, code: 1 }] });
}

/** The load needs no replica, and one again while a replica waits to be started again. */
export function followLoad(drive: Drive): void {
  const [first] = replicasOf(drive);
  if (first === undefined) throw new Error("the endpoint has no replica");
  const load = { kind: "load", measuredMilli: 0, targetMilli: 4_000, neededMilli: 1_000, aheadMs: 30_000 } as const;
  const queued = { cause: "metric", metric: "jobsQueued" } as const;
  const scaled = { kind: "scaleEndpoint", workloadId: workloadId(idOf(drive)) } as const;
  drive.receive(
    command({ ...scaled, from: 2, replicas: 1, ground: { ...load, cause: "concurrency" }, stopFirst: [first] }),
    command({ ...scaled, from: 1, replicas: 2, ground: { ...load, cause: "held" }, stopFirst: [] }),
    command({ ...scaled, from: 2, replicas: 1, ground: { ...load, ...queued }, stopFirst: [] }),
    command({ ...scaled, from: 1, replicas: 2, ground: { ...load, ...queued }, stopFirst: [] }),
  );
}

/** Requests that left the endpoint cost more than its budget, which is then raised. */
export function spendBudget(drive: Drive): void {
  const charge = { kind: "chargeOverflow", workloadId: workloadId(idOf(drive)), gateway: "g1" } as const;
  const startedAtMs = drive.engine.state.nowMs;
  drive.receive(command({ ...charge, startedAtMs, microUsd: 900_000 }));
  change(drive, { budget: { microUsd: 1_000_000, period: "month", over: "minimum" } });
  drive.receive(command({ ...charge, startedAtMs, microUsd: 1_100_000 }));
  change(drive, { budget: { microUsd: 9_000_000, period: "month", over: "stop" } });
  change(drive, { replicaCount: 2 });
  change(drive, { budget: null });
}

/** An endpoint whose budget is renewed while time passes. */
export function meterEndpoint(drive: Drive): void {
  const metered = spec("metered", { acceleratorTypes: ["L4"], replicas: { min: 0, max: 1 } });
  const budget = { microUsd: 1_000_000, period: "day", over: "warn" } as const;
  drive.receive(command({ kind: "submitWorkload", spec: { ...metered, budget } as typeof metered }));
  const id = [...drive.engine.state.workloads.values()].findLast(({ spec: { name } }) => name === "metered")?.id;
  if (id === undefined) throw new Error("the endpoint was not submitted");
  const charge = { kind: "chargeOverflow", workloadId: id, gateway: "g1", startedAtMs: drive.nowMs } as const;
  drive.receive(command({ ...charge, microUsd: 800_000 }));
}

/** An endpoint with unlike accelerators, whose new replica takes the second of its types. */
export function orderTypes(drive: Drive): void {
  const unlike = spec("unlike", { acceleratorTypes: ["L4", "H100"], replicas: { min: 0, max: 2 } });
  const scale = { concurrencyMilli: 4_000, idleToZeroMs: 60_000, downAfterMs: 60_000 };
  drive.receive(command({ kind: "submitWorkload", spec: { ...unlike, scale } as typeof unlike }));
  const id = [...drive.engine.state.workloads.values()].findLast(({ spec: { name } }) => name === "unlike")?.id;
  if (id === undefined) throw new Error("the endpoint was not submitted");
  const ground = {
    kind: "load",
    cause: "held",
    measuredMilli: 1_000,
    targetMilli: 4_000,
    neededMilli: 500,
    aheadMs: 0,
  } as const;
  const scaled = { kind: "scaleEndpoint", workloadId: id, ground, stopFirst: [] } as const;
  drive.receive(command({ ...scaled, from: 0, replicas: 1, acceleratorTypes: ["H100", "L4"] }));
}

/** The ready replica stops answering, and the endpoint ends. */
export function endEndpoint(drive: Drive): void {
  const [first] = replicasOf(drive);
  if (first === undefined) throw new Error("the endpoint has no replica");
  drive.receive({ kind: "replicaNotReady", attemptId: first, detail: "connection refused" });
  change(drive, { replicas: { min: 0, max: 1 } });
  drive.receive(command({ kind: "stopWorkload", workloadId: workloadId(idOf(drive)) }));
  for (const replica of replicasOf(drive))
    drive.receive({
      kind: "attemptExited",
      attemptId: attemptId(replica),
      exits: [{ kind: "exited", worker: 0, code: 0 }],
    });
}

/** A rollout in steps is paused and rolled back, as is one with copied requests, one without steps begins, and another is completed. */
export function rollEndpointsOut(drive: Drive): void {
  const rollout = { steps: [50, 100], everyMs: 1_000, timeoutMs: 60_000, abort: { errorRateMilli: 10, ttftMilli: 50 } };
  change(drive, { rollout, run: "serve two", ready: { path: "/ready", timeoutMs: 60_000 } });
  const steer = (action: RolloutAction, ground: RolloutGround): void =>
    void drive.receive(
      command({ kind: "steerRollout", workloadId: workloadId(idOf(drive)), number: null, step: null, action, ground }),
    );
  steer("pause", { kind: "requested" });
  steer("resume", { kind: "requested" });
  const figure = {
    figure: "ttft",
    canaryMilli: 1_200,
    baselineMilli: null,
    marginMilli: 50,
    evidenceMilli: 1_100,
  } as const;
  steer("advance", { kind: "verdict", requests: 80, figures: [figure] });
  steer("rollBack", { kind: "deadline", afterMs: 60_000 });
  change(drive, {
    rollout: { ...rollout, shadow: 20, abort: { errorRateMilli: 10, qualityMilli: 50 } },
    run: "serve three",
  });
  const score = {
    figure: "quality",
    canaryMilli: 900,
    baselineMilli: 980,
    marginMilli: 50,
    evidenceMilli: 300,
  } as const;
  steer("advance", { kind: "verdict", requests: 60, figures: [score] });
  steer("rollBack", { kind: "requested" });
  change(drive, { rollout: null, env: { VERSION: "2" }, servedModel: "text", dir: "/srv" });
  change(drive, { overflow: { endpoint: "a/other", concurrencyMilli: 4_000, dataRules: [] } });
  change(drive, { overflow: null });
  steer("squeeze", { kind: "noRoom", forMs: 30_000 });
}

const idOf = ({ engine }: Drive): string =>
  [...engine.state.workloads.values()].find(({ scale }) => scale !== undefined)?.id ?? "";

const replicasOf = (drive: Drive): readonly ReturnType<typeof attemptId>[] => [
  ...(drive.engine.state.workloads.get(workloadId(idOf(drive)))?.activeAttempts ?? []),
];

const change = (drive: Drive, changes: WorkloadChanges): void => {
  drive.receive(command({ kind: "changeWorkload", workloadId: workloadId(idOf(drive)), changes }));
};
