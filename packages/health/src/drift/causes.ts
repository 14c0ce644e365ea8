/**
 * The facts that slow nodes share. For each value of each fact, the nodes that have it are compared with the other nodes of the
 * set by their mean relative performance. The value that explains most of the variance (the largest sum of squares
 * between the two groups, as in an analysis of variance) is the first cause; its effect is subtracted, and the search
 * goes on with what is left.
 */
import { medianOf } from "../statistics.ts";
import { comparableSets } from "./profile.ts";
import type { ComparableSet, FactValue, NodeProfile } from "./profile.ts";

/** Measured nodes of a set from which on a comparison says something. */
const MEASURED_MIN = 8;
/** Nodes of a cohort: what a single node has is no cause that nodes share. */
const COHORT_MIN = 2;
const CAUSES_MAX = 5;
const RUNNERS_UP_MAX = 3;
/** Loss of performance below which a cause is not worth a look. */
const SLOWDOWN_MIN = 0.01;
/** Probability that a set of nodes without any cause shows one. */
const FALSE_CAUSE = 0.001;

export interface SharedFact {
  readonly fact: string;
  readonly value: FactValue;
}

export interface Cause {
  readonly set: string;
  /** The facts that these nodes and no others have. More than one fact: the data cannot tell them apart. */
  readonly facts: readonly SharedFact[];
  readonly node_count: number;
  /** Mean performance of these nodes below that of the others, in percent. */
  readonly slower_pct: number;
  /** Distance of the two means in standard errors. */
  readonly standard_errors: number;
  readonly nodes: readonly string[];
  /** The facts that explain most after this one, each with the part of its sum of squares. */
  readonly runners_up: readonly (SharedFact & { readonly part: number })[];
}

/** The causes of all sets, the one that explains most first. */
export function causesOf(profiles: readonly NodeProfile[]): readonly Cause[] {
  return comparableSets(profiles)
    .flatMap(causesIn)
    .toSorted((left, right) => right.standard_errors - left.standard_errors);
}

/** The values of a fact, numbered; `of[node]` is the number of the node's value. */
interface Column {
  readonly fact: string;
  readonly values: readonly FactValue[];
  readonly of: Int32Array;
}

/** The nodes that have one value of a fact. */
interface Cohort {
  readonly column: Column;
  readonly at: number;
  readonly count: number;
  /** Mean of the others less mean of the cohort. */
  readonly loss: number;
  readonly squares: number;
}

function causesIn({ set, profiles, facts }: ComparableSet): Cause[] {
  const measured = profiles.filter(({ performance }) => performance !== null && performance > 0);
  if (measured.length < MEASURED_MIN) return [];
  const columns = facts.map((fact) => columnOf(fact, measured));
  const residuals = relative(measured.map(({ performance }) => performance as number));
  const causes: Cause[] = [];
  while (causes.length < CAUSES_MAX) {
    const cohorts = cohortsOf(columns, residuals);
    const best = cohorts[0];
    if (best === undefined || best.loss < SLOWDOWN_MIN) break;
    const standardErrors = standardErrorsOf(best, residuals);
    // The normal tail is at most exp(-t² / 2), and each cohort is one more chance to be wrong (Bonferroni).
    if (standardErrors ** 2 < 2 * Math.log(cohorts.length / FALSE_CAUSE)) break;
    const alike = cohorts.filter((cohort) => isSame(cohort, best));
    const others = cohorts.filter((cohort) => !isSame(cohort, best));
    causes.push({
      set,
      facts: alike.map(sharedFact),
      node_count: best.count,
      slower_pct: Math.round(1000 * best.loss) / 10,
      standard_errors: rounded(standardErrors),
      nodes: measured.flatMap(({ node }, index) => (best.column.of[index] === best.at ? [node] : [])),
      runners_up: others
        .slice(0, RUNNERS_UP_MAX)
        .map((cohort) => ({ ...sharedFact(cohort), part: rounded(cohort.squares / best.squares) })),
    });
    residuals.forEach((value, index) => {
      if (best.column.of[index] === best.at) residuals[index] = value + best.loss;
    });
  }
  return causes;
}

const rounded = (value: number): number => Math.round(value * 100) / 100;

const sharedFact = ({ column, at }: Cohort): SharedFact => ({ fact: column.fact, value: column.values[at] ?? null });

function columnOf(fact: string, profiles: readonly NodeProfile[]): Column {
  const numbers = new Map<FactValue, number>();
  const of = Int32Array.from(profiles, ({ facts }) => {
    const value = facts.get(fact) ?? null;
    const known = numbers.get(value);
    if (known !== undefined) return known;
    numbers.set(value, numbers.size);
    return numbers.size - 1;
  });
  return { fact, values: [...numbers.keys()], of };
}

/** Performance relative to the median of the set, less one. */
function relative(values: readonly number[]): Float64Array {
  const median = medianOf(values);
  return Float64Array.from(values, (value) => value / median - 1);
}

/** The cohorts that are slower than the others, the one that explains most first. */
function cohortsOf(columns: readonly Column[], residuals: Float64Array): readonly Cohort[] {
  const total = residuals.reduce((sum, value) => sum + value, 0);
  const size = residuals.length;
  const cohorts: Cohort[] = [];
  for (const column of columns) {
    const counts = new Float64Array(column.values.length);
    const sums = new Float64Array(column.values.length);
    for (let index = 0; index < size; index++) {
      const at = column.of[index] as number;
      counts[at] = (counts[at] as number) + 1;
      sums[at] = (sums[at] as number) + (residuals[index] as number);
    }
    for (let at = 0; at < counts.length; at++) {
      const [count, sum] = [counts[at] as number, sums[at] as number];
      if (count < COHORT_MIN || count === size) continue;
      const loss = (total - sum) / (size - count) - sum / count;
      if (loss > 0) cohorts.push({ column, at, count, loss, squares: (loss ** 2 * count * (size - count)) / size });
    }
  }
  return cohorts.toSorted((left, right) => right.squares - left.squares);
}

function standardErrorsOf({ squares }: Cohort, residuals: Float64Array): number {
  const mean = residuals.reduce((sum, value) => sum + value, 0) / residuals.length;
  const all = residuals.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const within = Math.max(all - squares, Number.EPSILON * all);
  return Math.sqrt((squares * (residuals.length - 2)) / within);
}

/** Whether two cohorts are the same nodes. */
function isSame(left: Cohort, right: Cohort): boolean {
  if (left.count !== right.count) return false;
  return left.column.of.every((at, index) => (at === left.at) === (right.column.of[index] === right.at));
}
