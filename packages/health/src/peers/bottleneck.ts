/**
 * The resource that bounds the steps of a run: computation, memory traffic, input and output, or the network. Only measurements
 * decide; without them there is no answer.
 */

/** Measurements of a run; `null`: not measured. */
export interface RunMeasurements {
  readonly stepSeconds: number | null;
  /** Seconds of a step that the run reports. */
  readonly compute: number | null;
  readonly network: number | null;
  readonly storage: number | null;
  /** Part of the time in which its accelerators were not busy, from 0 to 1. */
  readonly idleShare: number | null;
  /** Time in percent in which tensor units, and memory, of its accelerators were active, as DCGM measures it. */
  readonly tensorPercent: number | null;
  readonly dramPercent: number | null;
}

/** `computeOrMemory`: memory traffic was not measured. */
export type Bound = "compute" | "memory" | "computeOrMemory" | "io" | "network";

export interface Bottleneck {
  readonly bound: Bound;
  /** Part of a step, or of the time, from 0 to 1. */
  readonly share: number;
  /** `reported`: parts of a step. `idle`: accelerators that wait for input. `counters`: counters of accelerators. */
  readonly ground: "reported" | "idle" | "counters";
}

/** Accelerators that are idle for this part of the time wait for their input: collectives count as use in the counters of vendors. */
const IDLE_SHARE_MIN = 0.4;
/** Percent of time above which memory or tensor units count as saturated. Chosen; DCGM states no limit. */
const DRAM_PERCENT_MIN = 50;
const TENSOR_PERCENT_MIN = 50;

/** `null`: the measurements do not decide. */
export function bottleneckOf(run: RunMeasurements): Bottleneck | null {
  return reportedBottleneck(run) ?? idleBottleneck(run) ?? counterBottleneck(run);
}

/** The largest reported part, if it is larger than what the reported parts leave of the step. */
function reportedBottleneck(run: RunMeasurements): Bottleneck | null {
  const { stepSeconds, compute, network, storage } = run;
  if (stepSeconds === null || !(stepSeconds > 0)) return null;
  const parts = [
    ["compute", compute],
    ["network", network],
    ["io", storage],
  ] as const;
  const known = parts.flatMap(([bound, seconds]) => (seconds === null ? [] : [{ bound, seconds }]));
  const [largest] = known.toSorted((left, right) => right.seconds - left.seconds);
  const rest = known.length === parts.length ? 0 : stepSeconds - known.reduce((sum, { seconds }) => sum + seconds, 0);
  if (largest === undefined || !(largest.seconds > 0) || largest.seconds <= rest) return null;
  const share = Math.min(1, largest.seconds / stepSeconds);
  const bound = largest.bound === "compute" ? computeOrMemory(run) : largest.bound;
  return { bound, share, ground: "reported" };
}

function idleBottleneck({ idleShare }: RunMeasurements): Bottleneck | null {
  return idleShare !== null && idleShare >= IDLE_SHARE_MIN ? { bound: "io", share: idleShare, ground: "idle" } : null;
}

function counterBottleneck(run: RunMeasurements): Bottleneck | null {
  const { tensorPercent, dramPercent } = run;
  if (tensorPercent === null || dramPercent === null) return null;
  const percent = Math.max(tensorPercent, dramPercent);
  if (percent < Math.min(DRAM_PERCENT_MIN, TENSOR_PERCENT_MIN)) return null;
  return { bound: computeOrMemory(run), share: percent / 100, ground: "counters" };
}

function computeOrMemory({ tensorPercent, dramPercent }: RunMeasurements): Bound {
  if (tensorPercent === null || dramPercent === null) return "computeOrMemory";
  return dramPercent >= DRAM_PERCENT_MIN && dramPercent > tensorPercent ? "memory" : "compute";
}
