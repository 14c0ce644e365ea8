/** Rollouts: how the replicas of an endpoint come to run another revision. A revision is what its replicas run. */
import type { ProducedArtifact, ReadinessSpec, Workload, WorkloadSpec } from "./workload.ts";

/** Steps of a rollout, and what ends it early. Absent in a spec: replicas are replaced one after another. */
export interface RolloutSpec {
  /** Share of the requests that the new revision gets, step by step, in percent, ascending; the last one is 100. */
  readonly steps: readonly number[];
  /** Share of the requests, in percent, of which the new revision gets copies before the first step; absent: none. */
  readonly shadow?: number;
  /** Time that a step lasts at least. */
  readonly everyMs: number;
  /** Time after which a rollout that has not ended is rolled back. */
  readonly timeoutMs: number;
  readonly abort: RolloutMargins;
}

/** Regressions that a rollout accepts, in thousandths. An absent figure is not looked at. */
export interface RolloutMargins {
  /** 10 allows one more failed request of 100. */
  readonly errorRateMilli: number;
  /** 50 allows a time that is 5% longer than that of the present revision. */
  readonly ttftMilli?: number;
  readonly tpotMilli?: number;
  /** 50 allows a mean score of copied requests that is 0.05 lower than that of the present revision, of 1. */
  readonly qualityMilli?: number;
}

/** New values of the fields that make a revision. A field that is absent does not change. */
export interface RevisionChanges {
  readonly run?: string;
  readonly dir?: string | null;
  readonly env?: WorkloadSpec["env"];
  readonly ready?: ReadinessSpec;
  /** `null`: the name of the workload. */
  readonly servedModel?: string | null;
}

export interface Rollout {
  /** Number of the new revision. The first revision of an endpoint has the number 1. */
  readonly number: number;
  readonly changes: RevisionChanges;
  /** Artifacts that replicas of the new revision get; absent: none. */
  readonly given?: readonly ProducedArtifact[];
  readonly cause: "changed" | "alias";
  readonly actor: string;
  readonly startedAtMs: number;
  /** Time after which it is rolled back if it has not ended. */
  readonly deadlineAtMs: number;
  /** Steps in percent; absent: replicas are replaced one after another. The first one is 0 with `shadow`. */
  readonly steps?: readonly number[];
  /** Share of the requests, in percent, of which the new revision gets copies during the step of 0%. */
  readonly shadow?: number;
  /** Position in `steps`. */
  readonly step: number;
  readonly stepAtMs: number;
  /** True: it ends as soon as all replicas of the new revision are ready. */
  readonly isFinal?: true;
  readonly isPaused?: true;
  /** True: a replica may stop before its successor is placed, because the fleet has no room for one more. */
  readonly isSqueezed?: true;
  /** True: the replaced replicas are replaced back. */
  readonly isReversed?: true;
  /** Replicas that each revision should have. */
  readonly stable: number;
  readonly canary: number;
}

/** Why a rollout went on, stopped or ended. Rates and ratios are in thousandths. */
export type RolloutGround =
  | { readonly kind: "requested" }
  | { readonly kind: "ready"; readonly replicas: number }
  | { readonly kind: "deadline"; readonly afterMs: number }
  /** The new replicas had no place for this time. */
  | { readonly kind: "noRoom"; readonly forMs: number }
  | { readonly kind: "verdict"; readonly requests: number; readonly figures: readonly RolloutFigureGround[] };

/** One figure of the new revision beside the present one's. */
export interface RolloutFigureGround {
  readonly figure: "errorRate" | "ttft" | "tpot" | "quality";
  /** Error rate, mean score, or latency as a ratio to the present revision's; `null`: too few requests. */
  readonly canaryMilli: number | null;
  readonly baselineMilli: number | null;
  readonly marginMilli: number;
  /** Evidence that the margin is exceeded: 1000 condemns. */
  readonly evidenceMilli: number;
}

/** Actions of a user, or of the control plane by a verdict, on a rollout. `advance`: the next step. `promote`: the last one. */
export type RolloutAction = "advance" | "promote" | "pause" | "resume" | "rollBack" | "squeeze";

const FIRST_REVISION = 1;

export const revisionNumberOf = ({ revisionNumber }: { readonly revisionNumber?: number }): number =>
  revisionNumber ?? FIRST_REVISION;

/** The spec with the changes of a revision. */
export function revisedSpec(spec: WorkloadSpec, changes: RevisionChanges): WorkloadSpec {
  const { servedModel, ...plain } = changes;
  const revised: Record<string, unknown> = { ...spec, ...plain };
  if (servedModel === null) delete revised["servedModel"];
  else if (servedModel !== undefined) revised["servedModel"] = servedModel;
  return revised as unknown as WorkloadSpec;
}

/** The spec that the author of the endpoint declared last: during a rollout that of the new revision. */
export const declaredSpec = ({ spec, rollout }: Pick<Workload, "spec" | "rollout">): WorkloadSpec =>
  rollout === undefined || rollout.isReversed === true ? spec : revisedSpec(spec, rollout.changes);

interface OfAttempt {
  readonly spec: WorkloadSpec;
  readonly given?: readonly ProducedArtifact[];
}

/** The spec and the artifacts of an attempt: of the new revision, or of the present one. */
export function revisionOf(workload: Workload, attempt: { readonly revisionNumber?: number }): OfAttempt {
  const { rollout, spec } = workload;
  if (rollout === undefined || revisionNumberOf(attempt) !== rollout.number) return workload;
  const revised = revisedSpec(spec, rollout.changes);
  return rollout.given === undefined ? { spec: revised } : { spec: revised, given: rollout.given };
}

/** Share of the requests that the new revision should get, in percent; `null`: replicas of both revisions are alike. */
export const rolloutShare = ({ steps, step }: Rollout): number | null =>
  steps === undefined ? null : (steps[step] ?? 100);

/** Share of the requests, in percent, of which the new revision gets copies now, whose answers no client gets; `null`: none. */
export const shadowShare = (rollout: Rollout): number | null =>
  rolloutShare(rollout) === 0 ? (rollout.shadow ?? null) : null;
