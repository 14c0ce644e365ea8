/**
 * The next action on a rollout: by its verdict, its deadline, and the replicas that it has. Pure. A rollout that nobody looks
 * after ends: the new revision is promoted step by step, or rolled back at the deadline. Too few requests never advance it.
 */
import { revisionNumberOf, shadowShare } from "@headroom/model";
import type {
  Attempt,
  RolloutAction,
  RolloutFigureGround,
  RolloutGround,
  RolloutMargins,
  Workload,
} from "@headroom/model";
import { rolloutVerdict } from "../rollouts/verdict.ts";
import type { RolloutMargins as Margins, RolloutVerdict } from "../rollouts/verdict.ts";
import type { RolloutReadings } from "./rollout-readings.ts";

/** Time without a place for a new replica after which a present one may stop first. */
const NO_ROOM_MS = 30_000;

export interface RolloutDecision {
  readonly action: RolloutAction;
  readonly ground: RolloutGround;
}

interface RolloutFacts {
  readonly nowMs: number;
  readonly active: readonly Attempt[];
  readonly verdict: RolloutVerdict | null;
}

/** `null`: the rollout stays as it is. */
export function rolloutDecision(workload: Workload, { nowMs, active, verdict }: RolloutFacts): RolloutDecision | null {
  const { rollout, spec } = workload;
  if (rollout === undefined || spec.kind !== "serve") return null;
  const isOwn = (attempt: Attempt): boolean => revisionNumberOf(attempt) === rollout.number && attempt.stop === null;
  if (rollout.isReversed === true) {
    const present = active.filter((attempt) => attempt.stop === null && !isOwn(attempt));
    return squeezeIn(workload, { nowMs, coming: present, wanted: rollout.stable });
  }
  if (verdict?.kind === "worse") return { action: "rollBack", ground: verdictGround(verdict) };
  if (nowMs >= rollout.deadlineAtMs)
    return { action: "rollBack", ground: { kind: "deadline", afterMs: rollout.deadlineAtMs - rollout.startedAtMs } };
  const own = active.filter(isOwn);
  if (rollout.steps === undefined) return squeezeIn(workload, { nowMs, coming: own, wanted: rollout.canary });
  if (rollout.isFinal === true || rollout.isPaused === true || verdict?.kind !== "good") return null;
  const ready = own.filter((attempt) => attempt.ready !== undefined).length;
  const everyMs = spec.rollout?.everyMs ?? 0;
  if (ready < rollout.canary || nowMs - Math.max(rollout.stepAtMs, readyAtMs(own)) < everyMs) return null;
  return { action: "advance", ground: verdictGround(verdict) };
}

/** A step lasts from the time when the replicas of the step were ready. */
const readyAtMs = (own: readonly Attempt[]): number => Math.max(0, ...own.map(({ ready }) => ready?.atMs ?? 0));

/** Where a fleet is full, a replica must stop before its successor has a place, also when replicas are replaced back. */
function squeezeIn(
  { rollout, scale }: Workload,
  { nowMs, coming, wanted }: { readonly nowMs: number; readonly coming: readonly Attempt[]; readonly wanted: number },
): RolloutDecision | null {
  if (rollout === undefined || rollout.isSqueezed === true || coming.length >= wanted) return null;
  const lastAtMs = Math.max(
    rollout.startedAtMs,
    scale?.atMs ?? 0,
    ...coming.map(({ placedAtMs, ready }) => ready?.atMs ?? placedAtMs),
  );
  return nowMs - lastAtMs < NO_ROOM_MS
    ? null
    : { action: "squeeze", ground: { kind: "noRoom", forMs: nowMs - lastAtMs } };
}

/** The verdict of the readings; `null`: there are none, or the rollout has no steps. */
export function verdictOn({ spec, rollout }: Workload, readings: RolloutReadings | null): RolloutVerdict | null {
  if (readings === null || spec.kind !== "serve" || rollout?.steps === undefined) return null;
  const margins = marginsOf(spec.rollout?.abort ?? usualMargins);
  // Without a shadow no request is copied, and copies alone are scored.
  const quality = rollout.shadow === undefined ? null : margins.quality;
  const needsScores = quality !== null && shadowShare(rollout) !== null;
  return rolloutVerdict(readings.canary, readings.baseline, { ...margins, quality }, needsScores);
}

/** The steps were removed from the spec during the rollout. */
const usualMargins: RolloutMargins = { errorRateMilli: 10 };

const marginsOf = ({ errorRateMilli, ttftMilli, tpotMilli, qualityMilli }: RolloutMargins): Margins => ({
  errorRate: shareOf(errorRateMilli),
  ttft: shareOf(ttftMilli),
  tpot: shareOf(tpotMilli),
  quality: shareOf(qualityMilli),
});
const shareOf = (milli: number | undefined): number | null => (milli === undefined ? null : milli / 1000);

const verdictGround = (verdict: RolloutVerdict): RolloutGround => ({
  kind: "verdict",
  requests: verdict.requests,
  figures: figureGrounds(verdict),
});

/** The figures in whole thousandths: events hold integers. */
export const figureGrounds = ({ figures }: RolloutVerdict): readonly RolloutFigureGround[] =>
  figures.map(({ figure, canary, baseline, margin, evidence }) => ({
    figure,
    canaryMilli: milliOf(canary),
    baselineMilli: milliOf(baseline),
    marginMilli: Math.round(1000 * margin),
    evidenceMilli: Math.min(EVIDENCE_MILLI_MAX, Math.round(1000 * evidence)),
  }));

const EVIDENCE_MILLI_MAX = 1_000_000;
const milliOf = (value: number | null): number | null =>
  value === null || !Number.isFinite(value) ? null : Math.round(1000 * Math.min(value, 1e9));
