/** False alarms of the verdict, and the requests after which planted regressions are found, beside a fixed horizon. */
import { errorEvidence } from "./error-test.ts";
import { latencyEvidence } from "./latency-test.ts";
import { noRegression, Trial, type Regression } from "./trial.ts";
import { rolloutVerdict, type RolloutFigure, type RolloutMargins } from "./verdict.ts";

export const usualMargins: RolloutMargins = { errorRate: 0.01, ttft: 0.05, tpot: 0.03, quality: null };

/** Copied requests, and so scores, are no part of a generated rollout. */
type TrialFigure = Exclude<RolloutFigure, "quality">;

const LOOK_EVERY = 2;
/** The fixed horizon is looked for with this step, in looks. */
const FIXED_STEP = 4;
const WEIGHT = 0.1;

/** Rollouts without a regression, and how many of them were aborted. */
export function falseAlarms(
  rollouts: number,
  { requests, isStratified = true }: { readonly requests: number; readonly isStratified?: boolean },
): number {
  let aborted = 0;
  for (let seed = 1; seed <= rollouts; seed++) {
    const trial = new Trial({ seed, regression: noRegression, weight: WEIGHT, isStratified });
    for (let at = LOOK_EVERY; at <= requests; at += LOOK_EVERY) {
      trial.play(at);
      if (rolloutVerdict(trial.canary, trial.baseline, usualMargins).kind !== "worse") continue;
      aborted++;
      break;
    }
  }
  return aborted;
}

export interface Detection {
  readonly rollouts: number;
  readonly found: number;
  /** Mean number of requests of the canary until the verdict. */
  readonly meanRequests: number;
  /** Requests of the canary with which a fixed-horizon test finds as many of the same rollouts; `null`: more than looked at. */
  readonly fixedRequests: number | null;
}

/** Planted regressions. The fixed-horizon test has the same margin, the same level and looks once. */
export function detection(
  figure: TrialFigure,
  regression: Regression,
  { rollouts, requests }: { readonly rollouts: number; readonly requests: number },
): Detection {
  const looks = Math.floor(requests / LOOK_EVERY);
  const fixedFound = new Uint32Array(looks + 1);
  let found = 0;
  let total = 0;
  for (let seed = 1; seed <= rollouts; seed++) {
    const trial = new Trial({ seed: seed + 1_000_000, regression, weight: WEIGHT, isStratified: true });
    let verdictAt = 0;
    for (let look = 1; look <= looks; look++) {
      trial.play(look * LOOK_EVERY);
      if (verdictAt === 0 && rolloutVerdict(trial.canary, trial.baseline, usualMargins).kind === "worse")
        verdictAt = look * LOOK_EVERY;
      if (look % FIXED_STEP === 0 && fixedHorizonRejects(figure, trial)) fixedFound[look]!++;
    }
    if (verdictAt === 0) continue;
    found++;
    total += verdictAt;
  }
  const fixed = fixedFound.findIndex((count, look) => look > 0 && count >= found);
  return {
    rollouts,
    found,
    meanRequests: found === 0 ? 0 : total / found,
    fixedRequests: fixed < 0 ? null : fixed * LOOK_EVERY,
  };
}

/** One-sided normal quantile of 0.01 / 3. */
const CRITICAL = 2.713;

function fixedHorizonRejects(figure: TrialFigure, { canary, baseline }: Trial): boolean {
  if (figure !== "errorRate") {
    const { z } = latencyEvidence(canary[figure], baseline[figure], {
      marginRatio: 1 + (usualMargins[figure] ?? 0),
      scale: 1,
    });
    return z > CRITICAL;
  }
  return errorEvidence([{ canary, baseline }], usualMargins.errorRate ?? 0).z > CRITICAL;
}
