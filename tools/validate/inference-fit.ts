import {
  firstTokenConstants,
  inferenceConstants,
  servingEvidenceOf,
  servingKindOf,
  spreadConstants,
} from "../../packages/perf/src/index.ts";
import type { InferenceConstantName, InferenceConstants, ServingEvidence } from "../../packages/perf/src/index.ts";
import { leastSquares } from "./least-squares.ts";
import type { Case } from "./inference-rows.ts";
import { allQuantities, observe, quantile } from "./inference-score.ts";
import type { Observation } from "./inference-score.ts";

const names = Object.keys(inferenceConstants).toSorted() as InferenceConstantName[];
const stepNames = names.filter((name) => !spreadConstants.includes(name) && !firstTokenConstants.includes(name));

/**
 * Limit of an error, as a natural logarithm (a factor of 4.5). Larger errors are caused by effects that the model does
 * not contain.
 */
const errorCap = 1.5;

/**
 * Errors below this value count by their square, and larger errors linearly. This is a smooth form of least absolute
 * deviations.
 */
const errorKnee = 0.03;

/**
 * Weight of the penalty that pulls each constant towards the middle of its range. The penalty decides only the values
 * of constants that the rows do not determine.
 */
const pull = 0.01;

/**
 * Weight of the errors of times to the first token, relative to the errors of steps. They separate the time of prompts
 * from the time of decoding; with this weight they do not change the fit of decoding.
 */
const firstTokenWeight = 0.2;

/** The middle of every range. The constants have these values before any measurement. */
function unmeasuredConstants(): InferenceConstants {
  const entries = names.map((name) => [
    name,
    (inferenceConstants[name].range[0] + inferenceConstants[name].range[1]) / 2,
  ]);
  return Object.fromEntries(entries) as Record<InferenceConstantName, number>;
}

/** The constants that a search can change, and the weight of each measured quantity in its objective. */
interface Aim {
  readonly names: readonly InferenceConstantName[];
  readonly stepWeight: number;
  readonly firstTokenWeight: number;
  readonly cases: readonly Case[];
  readonly groups: ReadonlyMap<string, string>;
}

/** A number whose square is quadratic in small errors and linear in larger errors. */
function softened(error: number): number {
  const capped = Math.max(-errorCap, Math.min(errorCap, error));
  return capped / Math.hypot(capped, errorKnee) ** 0.5;
}

/**
 * Residuals of observations. Every group has the same weight. For steps, a residual is the logarithm of the ratio of
 * predicted to measured time. For first tokens, it is the relative error, because they are scored by it.
 */
function groupResiduals(observations: readonly Observation[], weight: number): number[] {
  const counts = new Map<string, number>();
  for (const { group } of observations) counts.set(group, (counts.get(group) ?? 0) + 1);
  return observations.map(({ group, quantity, logTimeRatio }) => {
    const error = quantity === "ttft" ? Math.expm1(Math.min(errorCap, logTimeRatio)) : logTimeRatio;
    return Math.sqrt(weight / (counts.size * (counts.get(group) ?? 1))) * softened(error);
  });
}

/** Minimises the residuals of the rows over the named constants. The search starts with the current values. */
function search(aim: Aim, start: InferenceConstants): InferenceConstants {
  const place = (name: InferenceConstantName, value: number): number => {
    const [low, high] = inferenceConstants[name].range;
    return (value - low) / (high - low);
  };
  const constantsAt = (places: readonly number[]): InferenceConstants => {
    const moved = aim.names.map((name, index) => {
      const [low, high] = inferenceConstants[name].range;
      return [name, low + (places[index] ?? 0) * (high - low)] as const;
    });
    return { ...start, ...(Object.fromEntries(moved) as Partial<InferenceConstants>) };
  };
  const residuals = (places: readonly number[]): number[] => {
    const observations = observe(aim.cases, aim.groups, constantsAt(places), { wanted: allQuantities });
    const steps = observations.filter(({ quantity }) => quantity !== "ttft");
    const firstTokens = observations.filter(({ quantity }) => quantity === "ttft");
    return [
      ...groupResiduals(steps, aim.stepWeight),
      ...groupResiduals(firstTokens, aim.firstTokenWeight),
      ...places.map((at) => pull * (at - 0.5)),
    ];
  };
  return constantsAt(
    leastSquares(
      residuals,
      aim.names.map((name) => place(name, start[name])),
    ),
  );
}

/**
 * Fits the constants to these rows. The fit minimises the macro average over groups of |log(predicted / measured)| and
 * starts in the middle of the ranges. All constants are fitted first, then those that affect only the first token. Rows
 * that measured only the first token are scored but not used for the fit, because they contain no decoding. The same
 * rows give the same result.
 */
export function fit(all: readonly Case[], groups: ReadonlyMap<string, string>): InferenceConstants {
  const cases = all.filter(({ measured }) => measured.tpotMs !== undefined || measured.tokensPerS !== undefined);
  const steps = { names: [...stepNames, ...firstTokenConstants], stepWeight: 1, firstTokenWeight, cases, groups };
  const found = search(steps, unmeasuredConstants());
  return search({ names: firstTokenConstants, stepWeight: 0, firstTokenWeight: 1, cases, groups }, found);
}

/** The kinds of replicas that occur in these rows. */
export function evidenceOf(cases: readonly Case[]): readonly ServingEvidence[] {
  return servingEvidenceOf(cases.map(({ replica, source }) => ({ kind: servingKindOf(replica), source })));
}

/**
 * Predicts each part of the rows with constants and evidence from all other parts. The interval constants are those of
 * the shipped model.
 */
export function leaveOut(
  cases: readonly Case[],
  groups: ReadonlyMap<string, string>,
  partOf: (one: Case) => string,
): readonly Observation[] {
  const parts = [...new Set(cases.map(partOf))].toSorted();
  return parts.flatMap((part) => {
    const others = cases.filter((one) => partOf(one) !== part);
    const left = cases.filter((one) => partOf(one) === part);
    const spreads = { stepSpread: spreadNow("stepSpread"), firstTokenSpread: spreadNow("firstTokenSpread") };
    const constants = { ...fit(others, groups), ...spreads };
    return observe(left, groups, constants, { wanted: allQuantities, evidence: evidenceOf(others) });
  });
}

const spreadNow = (name: InferenceConstantName): number => inferenceConstants[name].value;

/** Interval constants with which four of five left-out observations are inside their intervals. */
export function spreadsOf(leftOut: readonly Observation[]): { stepSpread: number; firstTokenSpread: number } {
  const spread = (isFirstToken: boolean): number => {
    const wanted = leftOut.filter(({ quantity }) => (quantity === "ttft") === isFirstToken);
    return quantile(
      wanted.map(({ logTimeRatio, doubt }) => Math.abs(logTimeRatio) / doubt),
      0.8,
    );
  };
  return { stepSpread: spread(false), firstTokenSpread: spread(true) };
}
