/**
 * Generates traces from a seed. The same options give the same trace in every JavaScript engine, because only integers
 * and the four basic operations are used. Arrivals are scaled to the drawn work, so that the offered load is exact in
 * every trace, not only on average.
 */
import { drawBelow, drawExponential } from "../faults/exponential.ts";
import { inOrderOfSubmission, type Trace, type TraceJob } from "./trace.ts";

export interface GangShare {
  readonly accelerators: number;
  /** Relative weight; a whole number. */
  readonly weight: number;
}

export interface GeneratorOptions {
  readonly seed: number;
  readonly jobs: number;
  /** Number of accelerators of the pool. */
  readonly accelerators: number;
  /**
   * Offered load: accelerator time that the jobs request, divided by the pool's accelerator time during the arrivals.
   */
  readonly load: number;
  readonly gangs: readonly GangShare[];
  /**
   * Durations are uniform over the octaves between these bounds: many short jobs, and a long tail with most of the
   * work.
   */
  readonly durationMinS: number;
  readonly durationMaxS: number;
}

/**
 * Weights of sizes: mostly single accelerators, and fewer and fewer larger powers of two. The ITP clusters have a
 * distribution of this shape; the numbers are not theirs.
 */
export const usualGangs: readonly GangShare[] = [
  { accelerators: 1, weight: 55 },
  { accelerators: 2, weight: 12 },
  { accelerators: 4, weight: 12 },
  { accelerators: 8, weight: 14 },
  { accelerators: 16, weight: 5 },
  { accelerators: 32, weight: 2 },
];

/** Bounds of durations in seconds, from a smoke test to a weekend. */
export const usualDurations = { durationMinS: 60, durationMaxS: 200_000 } as const;

export function generateTrace(options: GeneratorOptions): Trace {
  const { seed, jobs, accelerators, load } = options;
  const sizes = drawSizes(options);
  const durations = Array.from({ length: jobs }, (_, job) => drawDurationS(options, job));
  let acceleratorSeconds = 0;
  for (let job = 0; job < jobs; job++) acceleratorSeconds += sizes[job]! * durations[job]!;
  const meanGapS = acceleratorSeconds / (accelerators * load * jobs);
  const list: TraceJob[] = [];
  let submittedAtS = 0;
  for (let job = 0; job < jobs; job++) {
    submittedAtS += meanGapS * drawExponential({ seed, sequence: job, purpose: "gap" });
    list.push({
      id: `generated-${job}`,
      submittedAtMs: Math.floor(submittedAtS) * 1000,
      durationMs: durations[job]! * 1000,
      accelerators: sizes[job]!,
      coresMilli: 0,
      memoryMib: 0,
      acceleratorTypes: [],
    });
  }
  return { jobs: inOrderOfSubmission(list), fleet: null };
}

function drawSizes(options: GeneratorOptions): number[] {
  const { seed, gangs } = options;
  const totalWeight = gangs.reduce((sum, { weight }) => sum + weight, 0);
  return Array.from({ length: options.jobs }, (_, sequence) => {
    let rest = drawBelow({ seed, sequence, purpose: "gang" }, totalWeight);
    for (const share of gangs) {
      if (rest < share.weight) return Math.min(share.accelerators, options.accelerators);
      rest -= share.weight;
    }
    return 1;
  });
}

/** Draws a uniform octave, then a uniform position in it. The result is nearly log-uniform. */
function drawDurationS(options: GeneratorOptions, sequence: number): number {
  const { seed, durationMinS, durationMaxS } = options;
  let octaves = 0;
  for (let top = durationMinS; top < durationMaxS; top *= 2) octaves++;
  const octave = drawBelow({ seed, sequence, purpose: "octave" }, Math.max(1, octaves));
  let low = durationMinS;
  for (let step = 0; step < octave; step++) low *= 2;
  const high = Math.max(low + 1, Math.min(low * 2, durationMaxS + 1));
  return low + drawBelow({ seed, sequence, purpose: "duration" }, high - low);
}
