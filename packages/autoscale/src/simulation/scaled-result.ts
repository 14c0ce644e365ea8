import { distribution } from "@headroom/sim";
import type { RequestTimes, RequestTrace, ServingSlo } from "@headroom/sim";

/** The outcome of a policy on a trace. */
export interface ScaledResult {
  readonly policy: string;
  /** Share in percent of all requests that met both objectives; refused requests missed them. */
  readonly attainmentPct: number;
  readonly acceleratorHours: number;
  /** Requests within the objectives per accelerator-hour. */
  readonly goodputPerAcceleratorHour: number;
  readonly p90TtftMs: number;
  readonly p99TtftMs: number;
  readonly refused: number;
  /** Changes of direction of the number of replicas that came within ten minutes. */
  readonly reversals: number;
  readonly replicasMax: number;
  readonly replicasOverTime: readonly ReplicaCount[];
  /** 1 for each request of the trace that met both objectives. */
  readonly met: Uint8Array;
}

export interface ReplicaCount {
  readonly atMs: number;
  readonly replicas: number;
}

const REVERSAL_MS = 600_000;

export function scaledResult(run: {
  readonly policy: string;
  readonly trace: RequestTrace;
  readonly times: RequestTimes;
  readonly slo: ServingSlo;
  readonly acceleratorMs: number;
  readonly refused: number;
  readonly endMs: number;
  readonly replicasOverTime: readonly ReplicaCount[];
}): ScaledResult {
  const { trace, times, slo, replicasOverTime } = run;
  const ttfts = new Float64Array(trace.requests.length);
  let answered = 0;
  const isMet = new Uint8Array(trace.requests.length);
  for (const [id, { arrivalMs, outputTokens }] of trace.requests.entries()) {
    const endMs = times.endMs[id] ?? Number.NaN;
    if (Number.isNaN(endMs)) continue;
    const firstMs = times.firstTokenMs[id] ?? endMs;
    ttfts[answered] = firstMs - arrivalMs;
    answered += 1;
    isMet[id] = Number(
      firstMs - arrivalMs <= slo.ttftMs && endMs - firstMs <= slo.tpotMs * Math.max(0, outputTokens - 1),
    );
  }
  const met = isMet.reduce((sum, one) => sum + one, 0);
  const { p90, p99 } = distribution(ttfts.subarray(0, answered));
  const acceleratorHours = run.acceleratorMs / 3_600_000;
  return {
    policy: run.policy,
    attainmentPct: (100 * met) / Math.max(1, trace.requests.length),
    acceleratorHours,
    goodputPerAcceleratorHour: acceleratorHours > 0 ? met / acceleratorHours : 0,
    p90TtftMs: p90,
    p99TtftMs: p99,
    refused: run.refused,
    reversals: reversalsIn(replicasOverTime),
    replicasMax: replicasOverTime.reduce((most, { replicas }) => Math.max(most, replicas), 0),
    replicasOverTime,
    met: isMet,
  };
}

function reversalsIn(counts: readonly ReplicaCount[]): number {
  let reversals = 0;
  let [direction, changedMs] = [0, -Infinity];
  for (const [index, { atMs, replicas }] of counts.entries()) {
    const before = counts[index - 1]?.replicas;
    if (before === undefined) continue;
    const now = Math.sign(replicas - before);
    if (now !== 0 && direction !== 0 && now !== direction && atMs - changedMs < REVERSAL_MS) reversals += 1;
    if (now !== 0) [direction, changedMs] = [now, atMs];
  }
  return reversals;
}
