/** Demand drawn at random from a population of jobs, as published evaluations of placement policies do. */
import { draw } from "@headroom/model";
import { acceleratorMilliOf, type TraceJob } from "../trace/trace.ts";

/** Total request to reach. The last drawn job may exceed it. */
export interface DemandTarget {
  readonly askedMilli: number;
  readonly seed: number;
}

/**
 * Draws jobs with replacement until their total request reaches the target. Then the jobs are shuffled, so that the
 * large job that ended the drawing need not come last. A population without requests can never reach the target; then
 * no job is drawn.
 */
export function drawDemand(population: readonly TraceJob[], { askedMilli, seed }: DemandTarget): TraceJob[] {
  const drawn: TraceJob[] = [];
  if (population.every((job) => acceleratorMilliOf(job) === 0)) return drawn;
  for (let sum = 0; sum < askedMilli; sum += acceleratorMilliOf(drawn.at(-1)!)) {
    drawn.push(population[below(population.length, draw(seed, drawn.length, "demand"))]!);
  }
  for (let last = drawn.length - 1; last > 0; last--) {
    const other = below(last + 1, draw(seed, last, "order of demand"));
    [drawn[last], drawn[other]] = [drawn[other]!, drawn[last]!];
  }
  return drawn;
}

/** Turns a uniform 32-bit draw into one of `count` indices; the bias is below `count` parts in 2^32. */
const below = (count: number, drawn: number): number => Math.floor((drawn * count) / 4_294_967_296);
