/**
 * Bounds of 80% around a forecast: quantiles of the errors of the combination at earlier origins (split conformal, Vovk 2005), measured in
 * the scale of the series at each origin (Lei and others 2018, locally weighted). An error at an origin comes from weights that
 * did not see the values there. Errors of neighbouring steps and of overlapping origins repeat each other, so the number of independent
 * errors is estimated, and the bounds widen as those of Student's distribution do.
 */
import type { Backtest } from "./backtest.ts";
import { combined, type MethodErrors } from "./combination.ts";
import { quantile, select } from "./order.ts";

export interface Bounds {
  /** Distance from the forecast, at least 0. */
  readonly below: Float64Array;
  readonly above: Float64Array;
}

/** `scale`: the scale of the series at its end. `unknown`: distance where too few errors are known. */
export function intervals(
  tests: readonly Backtest[],
  errors: MethodErrors,
  { horizon, scale, unknown }: { readonly horizon: number; readonly scale: number; readonly unknown: number },
): Bounds {
  const residuals = residualsOf(tests, errors, horizon);
  const below = new Float64Array(horizon).fill(unknown);
  const above = below.slice();
  const near = new Float64Array(tests.length * horizon);
  let step = 0;
  while (step < horizon) {
    // Quantiles change slowly with the distance, so they are computed for steps of growing width.
    const next = Math.min(horizon, step + 1 + Math.floor(step / 5));
    const reach = Math.max(2, step / 3);
    const [from, to] = [Math.max(0, Math.ceil(step - reach)), Math.min(horizon, Math.floor(step + reach) + 1)];
    let count = 0;
    for (const residual of residuals)
      for (let at = from; at < Math.min(to, residual.length); at += 1) near[count++] = residual[at]!;
    const last = Math.max(0, step - 1);
    if (count >= 5) {
      const known = near.subarray(0, count);
      const wider = scale * widening(independent(tests, residuals, { from, to }));
      const [low, high] = [Math.max(0, -quantile(known, 0.1)), Math.max(0, quantile(known, 0.9))];
      const share = coveringShare(known, low, high);
      below.fill(wider * share * low, step, next);
      above.fill(wider * share * high, step, next);
    } else {
      below.fill(below[last]!, step, next);
      above.fill(above[last]!, step, next);
    }
    step = next;
  }
  return { below, above };
}

/** Errors of the combination at each origin, in units of the scale there. The weights come from origins that do not overlap. */
function residualsOf(tests: readonly Backtest[], errors: MethodErrors, horizon: number): readonly Float64Array[] {
  return tests.map(({ origin, predicted, actual, scale }, index) => {
    let [from, to] = [index, index + 1];
    while (from > 0 && tests[from - 1]!.origin - origin < horizon) from -= 1;
    while (to < tests.length && origin - tests[to]!.origin < horizon) to += 1;
    // At least a third of the origins must remain.
    const most = Math.ceil((2 * tests.length) / 3);
    while (to - from > most) {
      if (index - from > to - 1 - index) from += 1;
      else to -= 1;
    }
    if (to - from >= tests.length) [from, to] = [0, 0];
    const residual = combined(predicted, errors, { steps: actual.length, without: { from, to } }).mean;
    for (let step = 0; step < residual.length; step += 1) residual[step] = (actual[step]! - residual[step]!) / scale;
    return residual;
  });
}

/**
 * Number of independent errors among those at some steps: stretches of the past that do not overlap, times the steps if errors within an
 * origin are unlike each other (the design effect of clustered samples, Kish 1965).
 */
function independent(
  tests: readonly Backtest[],
  residuals: readonly Float64Array[],
  { from, to }: { readonly from: number; readonly to: number },
): number {
  const span = tests[0]!.origin - tests.at(-1)!.origin + to;
  const stretches = Math.min(tests.length, Math.max(1, span / to));
  let [total, between, groups, count, mean] = [0, 0, 0, 0, 0];
  for (const residual of residuals)
    for (let at = from; at < Math.min(to, residual.length); at += 1) {
      mean += residual[at]!;
      count += 1;
    }
  mean /= count;
  for (const residual of residuals) {
    let [sum, size] = [0, 0];
    for (let at = from; at < Math.min(to, residual.length); at += 1) {
      sum += residual[at]! - mean;
      total += (residual[at]! - mean) ** 2;
      size += 1;
    }
    if (size === 0) continue;
    between += (sum / size) ** 2;
    groups += 1;
  }
  const steps = count / groups;
  if (steps <= 1 || total === 0) return stretches;
  // Share of the variance that the errors of one origin have in common.
  const ratio = between / groups / (total / count);
  const common = Math.min(1, Math.max(0, (ratio - 1 / steps) / (1 - 1 / steps)));
  return (stretches * steps) / (1 + (steps - 1) * common);
}

/** Power of the widening: quantiles of few errors are too narrow themselves. Chosen on the series of docs/promises.md. */
const CAUTION = 1.5;

/** 90% quantile of Student's distribution for a new value beside so many, over that of the normal distribution (Hill's expansion). */
function widening(count: number): number {
  const z = 1.2815515655446004;
  const freedom = Math.max(1, count - 1);
  const first = (z ** 3 + z) / 4;
  const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96;
  const student = z + first / freedom + second / freedom ** 2;
  return ((student / z) * Math.sqrt(1 + 1 / Math.max(1, count))) ** CAUTION;
}

/**
 * Factor with which the bounds hold 80% of the errors, their ends included. It is not 1 where many errors are equal (counts, idle
 * hours), or where all errors have one sign.
 */
function coveringShare(errors: Float64Array, low: number, high: number): number {
  const needed = new Float64Array(errors.length);
  for (let index = 0; index < errors.length; index += 1) {
    const error = errors[index]!;
    needed[index] = error === 0 ? 0 : error > 0 ? error / high : -error / low;
  }
  const wanted = 0.8 * needed.length;
  const value = select(needed, Math.min(needed.length - 1, Math.max(0, Math.ceil(0.8 * (needed.length + 1)) - 1)));
  if (!Number.isFinite(value)) return 1;
  let [fewer, most] = [0, 0];
  for (let index = 0; index < needed.length; index += 1) {
    if (needed[index]! < value * (1 - 1e-9)) fewer += 1;
    if (needed[index]! <= value * (1 + 1e-9)) most += 1;
  }
  return most > fewer + 1 && wanted - fewer < most - wanted ? value * (1 - 1e-6) : value;
}
