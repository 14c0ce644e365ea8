import { firstTokenConstants, inferenceConstants, spreadConstants } from "../../packages/perf/src/index.ts";
import type { InferenceConstantName, InferenceConstants } from "../../packages/perf/src/index.ts";
import type { Case } from "./inference-rows.ts";
import { observe, quantile, scoredQuantities } from "./inference-score.ts";
import type { Observation, Quantity } from "./inference-score.ts";

const names = Object.keys(inferenceConstants).toSorted() as InferenceConstantName[];
const stepNames = names.filter((name) => !spreadConstants.includes(name) && !firstTokenConstants.includes(name));

/** Errors beyond a factor of 4.5 count as that much: such rows are about something that the model does not know. */
const errorCap = 1.5;

/** Pull towards the middle of a range: nothing where rows speak of a constant, everything where none does. */
const pull = 0.002;

/** First step as share of a range, the step below which a pass ends, and its rounds at most. */
const stepFirst = 0.15;
const stepMin = 0.01;
const roundsMax = 30;

/** The middle of every range: what is known before any measurement. */
function unmeasuredConstants(): InferenceConstants {
  const entries = names.map((name) => [
    name,
    (inferenceConstants[name].range[0] + inferenceConstants[name].range[1]) / 2,
  ]);
  return Object.fromEntries(entries) as Record<InferenceConstantName, number>;
}

type Mutable = Record<InferenceConstantName, number>;

/** Which constants a search may move, and by what it judges them. */
interface Aim {
  readonly names: readonly InferenceConstantName[];
  readonly quantities: readonly Quantity[];
  readonly cases: readonly Case[];
  readonly groups: ReadonlyMap<string, string>;
}

function objective(aim: Aim, constants: Mutable): number {
  const sums = new Map<string, { sum: number; count: number }>();
  for (const { group, logTimeRatio } of observe(aim.cases, aim.groups, constants, aim.quantities)) {
    const entry = sums.get(group) ?? { sum: 0, count: 0 };
    entry.sum += Math.min(Math.abs(logTimeRatio), errorCap);
    entry.count += 1;
    sums.set(group, entry);
  }
  const macro = [...sums.values()].reduce((total, { sum, count }) => total + sum / count, 0) / Math.max(1, sums.size);
  const distance = aim.names.reduce((total, name) => {
    const [low, high] = inferenceConstants[name].range;
    return total + ((constants[name] - low) / (high - low) - 0.5) ** 2;
  }, 0);
  return macro + pull * distance;
}

/** Coordinate pattern search (Hooke and Jeeves, J. ACM 8(2), 1961), in place. */
function search(aim: Aim, constants: Mutable): void {
  let best = objective(aim, constants);
  const isBetter = (name: InferenceConstantName, value: number): boolean => {
    const before = constants[name];
    if (value === before) return false;
    constants[name] = value;
    const reached = objective(aim, constants);
    if (reached < best - 1e-7) {
      best = reached;
      return true;
    }
    constants[name] = before;
    return false;
  };
  const steps = new Map(aim.names.map((name) => [name, stepFirst]));
  for (let round = 0; round < roundsMax && [...steps.values()].some((step) => step >= stepMin); round += 1) {
    for (const [name, step] of steps) {
      const [low, high] = inferenceConstants[name].range;
      const at = constants[name];
      const width = step * (high - low);
      const hasMoved = isBetter(name, Math.min(high, at + width)) || isBetter(name, Math.max(low, at - width));
      steps.set(name, hasMoved ? Math.min(0.3, step * 1.5) : step * 0.5);
    }
  }
}

/**
 * The constants that describe these rows best: the macro average over groups of |log(predicted / measured)|, from the
 * middle of the ranges. First what makes a step, then what only the first token knows. The same rows give the same result.
 */
export function fit(cases: readonly Case[], groups: ReadonlyMap<string, string>): InferenceConstants {
  const constants: Mutable = { ...unmeasuredConstants() };
  search({ names: stepNames, quantities: scoredQuantities, cases, groups }, constants);
  search({ names: firstTokenConstants, quantities: ["ttft"], cases, groups }, constants);
  return constants;
}

/** What was predicted for each part with the constants that the other parts give. */
export function leaveOut(
  cases: readonly Case[],
  groups: ReadonlyMap<string, string>,
  partOf: (one: Case) => string,
): readonly Observation[] {
  const parts = [...new Set(cases.map(partOf))].toSorted();
  return parts.flatMap((part) => {
    const others = cases.filter((one) => partOf(one) !== part);
    const left = cases.filter((one) => partOf(one) === part);
    const constants = {
      ...fit(others, groups),
      denseSpread: spreadNow("denseSpread"),
      expertSpread: spreadNow("expertSpread"),
    };
    return observe(left, groups, constants);
  });
}

const spreadNow = (name: InferenceConstantName): number => inferenceConstants[name].value;

/** Spreads that hold four of five left-out observations. */
export function spreadsOf(leftOut: readonly Observation[]): { denseSpread: number; expertSpread: number } {
  const spread = (isMixture: boolean): number => {
    const errors = leftOut.filter((one) => one.isMixture === isMixture).map((one) => Math.abs(one.logTimeRatio));
    return quantile(errors, 0.8);
  };
  return { denseSpread: spread(false), expertSpread: spread(true) };
}
