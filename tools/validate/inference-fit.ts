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

/** Errors beyond a factor of 4.5 count as that much: such rows are about something that the model does not know. */
const errorCap = 1.5;

/** Below this an error counts by its square, above it by its size: a smooth least-absolute fit. */
const errorKnee = 0.03;

/** Pull towards the middle of a range: nothing where rows speak of a constant, everything where none does. */
const pull = 0.01;

/** Weight of the first token's error beside that of steps: enough to tell prompts from decoding, not to move decoding. */
const firstTokenWeight = 0.03;

/** The middle of every range: what is known before any measurement. */
function unmeasuredConstants(): InferenceConstants {
  const entries = names.map((name) => [
    name,
    (inferenceConstants[name].range[0] + inferenceConstants[name].range[1]) / 2,
  ]);
  return Object.fromEntries(entries) as Record<InferenceConstantName, number>;
}

/** Which constants a search may move, and the weight of each kind of quantity by which it judges them. */
interface Aim {
  readonly names: readonly InferenceConstantName[];
  readonly stepWeight: number;
  readonly firstTokenWeight: number;
  readonly cases: readonly Case[];
  readonly groups: ReadonlyMap<string, string>;
}

/** Number whose square grows as the size of the error does. */
function softened(error: number): number {
  const capped = Math.max(-errorCap, Math.min(errorCap, error));
  return capped / Math.hypot(capped, errorKnee) ** 0.5;
}

/** Errors of observations, every group with the same weight: |log| of steps, relative ones of first tokens, as scored. */
function groupResiduals(observations: readonly Observation[], weight: number): number[] {
  const counts = new Map<string, number>();
  for (const { group } of observations) counts.set(group, (counts.get(group) ?? 0) + 1);
  return observations.map(({ group, quantity, logTimeRatio }) => {
    const error = quantity === "ttft" ? Math.expm1(Math.min(errorCap, logTimeRatio)) : logTimeRatio;
    return Math.sqrt(weight / (counts.size * (counts.get(group) ?? 1))) * softened(error);
  });
}

/** Moves the named constants from where they are to where the rows are described best. */
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
 * The constants that describe these rows best: the macro average over groups of |log(predicted / measured)|, from the
 * middle of the ranges. First all of them, then what only the first token knows. The same rows give the same result.
 * Rows that measured the first token alone are scored and not fitted to: they contain no decoding.
 */
export function fit(all: readonly Case[], groups: ReadonlyMap<string, string>): InferenceConstants {
  const cases = all.filter(({ measured }) => measured.tpotMs !== undefined || measured.tokensPerS !== undefined);
  const steps = { names: [...stepNames, ...firstTokenConstants], stepWeight: 1, firstTokenWeight, cases, groups };
  const found = search(steps, unmeasuredConstants());
  return search({ names: firstTokenConstants, stepWeight: 0, firstTokenWeight: 1, cases, groups }, found);
}

/** The kinds of replicas in these rows. */
export function evidenceOf(cases: readonly Case[]): readonly ServingEvidence[] {
  return servingEvidenceOf(cases.map(({ replica, source }) => ({ kind: servingKindOf(replica), source })));
}

/**
 * Predictions for each part by the constants and the evidence that the other parts give; the spreads are the
 * shipped ones.
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

/** Spreads that hold four of five left-out observations. */
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
