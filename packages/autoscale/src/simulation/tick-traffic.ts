/** Traffic by second, and a queue of its work: the coarse form of an endpoint, for long traces and large fleets. */
import type { RequestTrace } from "@headroom/sim";
import type { LoadMeter } from "../policies/load-meter.ts";

export const TICK_MS = 1000;
/** Longest traffic in ms that is simulated by second. One row with a wrong year makes a trace of a file much longer. */
const TRAFFIC_MS_MAX = 400 * 86_400_000;

/** Requests that arrive in each second, and their tokens. */
export interface TickTraffic {
  readonly arrivals: Float64Array;
  readonly promptTokens: Float64Array;
  readonly outputTokens: Float64Array;
}

/** Throws for traffic longer than `TRAFFIC_MS_MAX`. */
export function tickTraffic(trace: RequestTrace): TickTraffic {
  const { requests } = trace;
  const problem = lengthProblem(trace);
  if (problem !== null) throw new RangeError(problem);
  const count = Math.floor((requests.at(-1)?.arrivalMs ?? 0) / TICK_MS) + 1;
  const zeros = (): Float64Array => new Float64Array(count);
  const traffic = { arrivals: zeros(), promptTokens: zeros(), outputTokens: zeros() };
  for (const { arrivalMs, promptTokens, outputTokens } of requests) {
    const tick = Math.floor(arrivalMs / TICK_MS);
    traffic.arrivals[tick] = (traffic.arrivals[tick] ?? 0) + 1;
    traffic.promptTokens[tick] = (traffic.promptTokens[tick] ?? 0) + promptTokens;
    traffic.outputTokens[tick] = (traffic.outputTokens[tick] ?? 0) + outputTokens;
  }
  return traffic;
}

/** Why the traffic is too long to be simulated by second; `null`: it is not. */
export function lengthProblem({ requests }: RequestTrace): string | null {
  const lastMs = requests.at(-1)?.arrivalMs ?? 0;
  if (lastMs <= TRAFFIC_MS_MAX) return null;
  const days = (ms: number): number => Math.ceil(ms / 86_400_000);
  return `the traffic takes ${days(lastMs)} days, and at most ${days(TRAFFIC_MS_MAX)} are simulated: look for a row with a wrong time`;
}

/** Work of each second in s of one replica. `factor`: in times of what the capacity says. */
export function workByTick(traffic: TickTraffic, meter: LoadMeter, factor: number): Float64Array {
  return traffic.arrivals.map((arrived, tick) => {
    const prompt = traffic.promptTokens[tick] ?? 0;
    const ended = { ended: arrived, endedOutputTokens: traffic.outputTokens[tick] ?? 0 };
    meter.add({ arrivals: arrived, arrivedPromptTokens: prompt, ...ended, tickMs: TICK_MS });
    return (factor * meter.workMs(prompt)) / 1000;
  });
}

/** One second of a queue: the work that waits after it, and the share of its requests that find too much before them. */
export function lateInTick({
  backlogS,
  workS,
  replicas,
  toleranceS,
}: {
  readonly backlogS: number;
  readonly workS: number;
  readonly replicas: number;
  readonly toleranceS: number;
}): { readonly backlogS: number; readonly lateShare: number } {
  const served = (TICK_MS / 1000) * replicas;
  const bound = toleranceS * replicas;
  const beyond = backlogS + workS - served - bound;
  const lateShare = backlogS > 0 && backlogS >= bound ? 1 : beyond <= 0 ? 0 : Math.min(1, beyond / workS);
  return { backlogS: Math.max(0, backlogS + workS - served), lateShare: workS > 0 ? lateShare : 0 };
}
