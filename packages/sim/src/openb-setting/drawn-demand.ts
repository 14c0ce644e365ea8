/** Demand drawn at random from a population of jobs, as published evaluations of placement policies do. */
import { draw } from "@headroom/engine";
import { acceleratorMilliOf, type TraceJob } from "../trace/trace.ts";

/** How much is asked before the drawing stops: the last one drawn may pass it. */
export interface DemandTarget {
  readonly askedMilli: number;
  readonly seed: number;
}

/**
 * Jobs drawn with replacement until what they ask for together reaches the target, then shuffled, so that the large one that
 * ended the drawing need not come last. A population that asks for nothing can never get there and draws nothing.
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

/** A uniform 32-bit draw as one of `count` positions; what is not quite uniform is less than `count` parts in 2^32. */
const below = (count: number, drawn: number): number => Math.floor((drawn * count) / 4_294_967_296);
