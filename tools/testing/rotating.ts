/**
 * Long samples in slices that rotate with the commit. `npm test` takes a small slice of each sample and `npm run test:seeds`
 * a larger one; the number of the commit chooses which, so that as many commits as a sample has slices are a full pass.
 *
 * - `HEADROOM_SLICE=7` takes the slices of commit 7; every run prints its number, and a failure repeats with it.
 * - `HEADROOM_SLICE=all` takes whole samples. `HEADROOM_RUNS=10` takes samples ten times as large, whole.
 * - A seed that failed once is added to `found` of its sample, and runs in every slice.
 */
import { execFileSync } from "node:child_process";

/**
 * Number of slices of a sample, for those that state no other. Primes, so that a generator whose cases take turns by seed
 * has every kind in every slice.
 */
const UNIT_PARTS = 19;
const SUITE_PARTS = 5;

/** The part of all samples that a run takes. `vitest.config.ts` puts it into the environment of the test processes. */
export interface Rotation {
  /** Number of the commit; `null`: whole samples. */
  readonly slice: number | null;
  /** Factor on the size of whole samples. */
  readonly runs: number;
  /** The run belongs to the suite that takes the large slices. */
  readonly isLong: boolean;
}

function rotation(env: NodeJS.ProcessEnv = process.env): Rotation {
  const { HEADROOM_SLICE: slice = "0", HEADROOM_RUNS: runs, HEADROOM_SAMPLES: samples } = env;
  if (slice !== "all" && !/^\d+$/.test(slice))
    throw new Error(`HEADROOM_SLICE is the number of a slice, or all, not ${slice}.`);
  if (runs !== undefined && !(Number(runs) > 0))
    throw new Error(`HEADROOM_RUNS is a factor on the size of samples, not ${runs}.`);
  const isWhole = slice === "all" || runs !== undefined;
  return { slice: isWhole ? null : Number(slice), runs: Number(runs ?? 1), isLong: samples === "long" };
}

/** The number of commits up to this one; 0 outside a repository. */
export function commitNumber(root: string): number {
  try {
    const args = ["rev-list", "--count", "HEAD"];
    return Number(execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
  } catch {
    return 0;
  }
}

export interface Sample {
  /** Number of cases of the whole sample. */
  readonly size: number;
  /** Number of slices in `npm test`. */
  readonly parts?: number;
  /** Number of slices in `npm run test:seeds`. */
  readonly suiteParts?: number;
  /** Seeds outside the slice that failed once. */
  readonly found?: readonly number[];
}

export interface Slice {
  /** Seeds from 1, the slice first. */
  readonly seeds: readonly number[];
  /** Part of the sample that the slice is, above 1 for larger samples. */
  readonly share: number;
  /**
   * The number above which something must occur in the slice, where it occurs more than `count` times in the whole sample:
   * a quarter of its share in a large slice, since what is rare gathers in few cases; -1, so that it need not occur, in a
   * small slice and where that quarter is less than one.
   */
  least(count: number): number;
  readonly index: number;
}

/** The seeds that this run takes of a sample: every `parts`-th one, so that a slice has cases of all kinds. */
export function sliceOf(sample: Sample, { slice, runs, isLong }: Rotation = rotation()): Slice {
  const { size, parts = UNIT_PARTS, suiteParts = SUITE_PARTS, found = [] } = sample;
  const count = slice === null ? 1 : Math.min(size, isLong ? suiteParts : parts);
  const index = slice === null ? 0 : slice % count;
  const all = Array.from({ length: Math.ceil(size * runs) }, (_, at) => at + 1);
  const seeds = all.filter((seed) => seed % count === index);
  const share = (slice === null ? runs : 1) / count;
  const least = (times: number): number => {
    if (slice === null) return times * share;
    return isLong && times * share >= 4 ? Math.floor((times * share) / 4) : -1;
  };
  return { seeds: [...new Set([...seeds, ...found])], share, least, index };
}

/** The members of a list that this run takes. */
export function someOf<Member>(
  list: readonly Member[],
  sample: Omit<Sample, "size" | "found"> = {},
): readonly Member[] {
  const seeds = new Set(sliceOf({ ...sample, size: list.length }).seeds);
  return list.filter((_, at) => seeds.has(at + 1));
}

/** The parameters of fast-check for a property of so many cases: each slice has a seed. `HEADROOM_SEED` selects another. */
export function runsOf(size: number): { readonly numRuns: number; readonly seed: number } {
  const { seeds, index } = sliceOf({ size });
  return { numRuns: seeds.length, seed: Number(process.env["HEADROOM_SEED"] ?? index + 1) };
}

/**
 * System tests of some minutes each, which take turns by commit, so that every run of CI has one turn of them. Tests that
 * share a turn are short or use the same components.
 */
const turns = [
  ["quickstart", "remediations", "networks of teams"],
  ["installed in a folder", "first answer", "foreign jobs", "submitters", "staging on Slurm"],
  ["tour", "rollouts", "torchrun on Slurm", "steps of pipelines"],
  ["bursts", "monitoring", "drains", "console demo"],
  ["installed in a container", "adoption", "elastic torchrun"],
  ["Kubernetes", "retraining loop"],
] as const;

/** Whether this run takes a system test that takes turns with others. */
export function isTurnOf(
  test: (typeof turns)[number][number],
  { slice }: Pick<Rotation, "slice"> = rotation(),
): boolean {
  return slice === null || turns[slice % turns.length]?.some((name) => name === test) === true;
}
