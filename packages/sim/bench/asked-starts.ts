/**
 * `node tools/bootstrap.mjs packages/sim/bench/asked-starts.ts FILE GPUS MINUTES` measures how many real starts lie
 * within the start ranges that a live control plane shows. It runs an ITP trace under the default policy and requests
 * estimates at most every MINUTES; the calibration (`LiveCalibration`) learns only from these estimates. Only workloads
 * that were submitted within the last ten minutes and wait for at least one more minute count, each with its first
 * range. Prints JSON.
 */
import { readFileSync } from "node:fs";
import { defaultPolicy } from "@headroom/model";
import type { WorkloadId } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import {
  estimateStarts,
  importItp,
  LiveCalibration,
  topologyFreePool,
  traceStarts,
  usualEstimateOptions,
  type RangeCalibration,
  type StartEstimate,
  type TraceJob,
} from "@headroom/sim";

const youngMs = 600_000;
const longWaitMs = 60_000;
const effort = 10_000;

const [file, gpus, minutes] = process.argv.slice(2);
if (file === undefined || gpus === undefined || minutes === undefined) throw new Error("FILE GPUS MINUTES are needed");
const accelerators = Number(gpus);
const everyMs = Number(minutes) * 60_000;

const imported = importItp({ file, lines: readFileSync(file, "utf8").split("\n") }, { skipBroken: false });
if (imported.kind === "refused") throw new Error(imported.reason);
const fits = imported.trace.jobs.filter((job) => job.accelerators <= accelerators);

interface Told {
  readonly atMs: number;
  readonly estimate: StartEstimate;
}

function asked(jobs: readonly TraceJob[], isCalibrated: boolean): Record<string, unknown> {
  const simulation = traceStarts({ jobs, fleet: topologyFreePool(accelerators), policy: defaultPolicy });
  const calibration = new LiveCalibration();
  const ranges = isCalibrated ? calibration.ranges : null;
  const told = new Map<WorkloadId, Told>();
  let questions = 0;
  let nextMs = 0;
  while (simulation.step()) {
    const { nowMs, engine, observer } = simulation;
    observer.submitted = [];
    observer.started = [];
    const young = nowMs < nextMs ? [] : youngIn(engine, nowMs);
    if (young.length === 0) continue;
    nextMs = nowMs + everyMs;
    questions++;
    calibration.learn(engine.state, nowMs);
    const found = estimatesOf(engine, nowMs, ranges);
    calibration.recordRange(engine.state, found, nowMs);
    for (const estimate of found)
      if (young.includes(estimate.workloadId) && !told.has(estimate.workloadId))
        told.set(estimate.workloadId, { atMs: nowMs, estimate });
  }
  const { idOf, startedAtMs } = simulation.observer;
  return {
    calibrated: isCalibrated,
    questions,
    ...outcome(told, new Map(idOf.map((id, job) => [id, startedAtMs[job]!]))),
  };
}

function youngIn({ state }: Engine, nowMs: number): WorkloadId[] {
  return [...state.workloads.values()]
    .filter(({ phase, submittedAtMs }) => phase === "pending" && nowMs - submittedAtMs <= youngMs)
    .map(({ id }) => id);
}

function estimatesOf(engine: Engine, nowMs: number, calibration: RangeCalibration | null): readonly StartEstimate[] {
  return estimateStarts(engine, { ...usualEstimateOptions, nowMs, effort, calibration });
}

function outcome(
  told: ReadonlyMap<WorkloadId, Told>,
  startedAtMs: ReadonlyMap<WorkloadId | null, number>,
): Record<string, number> {
  const never = Number.POSITIVE_INFINITY;
  const late = [...told].filter(([id, { atMs }]) => startedAtMs.get(id)! - atMs > longWaitMs);
  const share = (isSo: (startMs: number, estimate: StartEstimate) => boolean): number =>
    Math.round((late.filter(([id, { estimate }]) => isSo(startedAtMs.get(id)!, estimate)).length / late.length) * 1e4) /
    1e4;
  const earlier = share((startMs, { p10AtMs }) => startMs < (p10AtMs ?? never));
  const later = share((startMs, { p90AtMs }) => startMs > (p90AtMs ?? never));
  return {
    told: late.length,
    within_share: Math.round((1 - earlier - later) * 1e4) / 1e4,
    earlier_share: earlier,
    later_share: later,
  };
}

process.stdout.write(
  `${JSON.stringify(
    [true, false].map((isCalibrated) => asked(fits, isCalibrated)),
    null,
    2,
  )}\n`,
);
