/** Rollouts of endpoints in words and numbers. */
import type { Rollout, RolloutFigureGround, RolloutGround } from "@headroom/model";
import type { Event, RolloutState } from "@headroom/protocol";
import { durationText, grouped, plural } from "./plain-text.ts";

type RolloutEvent = Extract<Event, { readonly kind: `rollout${string}` }>;

export function rolloutEventText(event: RolloutEvent): string {
  switch (event.kind) {
    case "rolloutStarted":
      return `${event.actor} ${event.cause === "alias" ? "moved the alias of its model, which begins" : "changed it, which begins"} the rollout of revision ${event.number}${event.steps === undefined ? ", replica by replica" : ` in steps of ${stepsText(event.steps, event.shadow)}`}.`;
    case "rolloutSteered":
      return `${event.actor} ${actionTexts[event.action]}${groundText(event.ground)}.`;
    case "rolloutSized":
      return `the present revision should have ${plural(event.stable, "replica")}, the new one ${event.canary}.`;
    case "rolloutEnded":
      return event.outcome === "completed"
        ? `all replicas run the new revision${groundText(event.ground)}.`
        : `${event.actor} rolled the new revision back${groundText(event.ground)}.`;
  }
}

/** `copies of 10%, then 5%, 25%, 100%`. */
export const stepsText = (steps: readonly number[], shadow: number | null = null): string => {
  const shares = steps.filter((step) => step > 0).map((step) => `${step}%`);
  return `${shadow === null ? "" : `copies of ${shadow}%, then `}${shares.join(", ")}`;
};

const actionTexts = {
  advance: "took the next step of the rollout",
  promote: "promoted the new revision",
  pause: "paused the rollout",
  resume: "resumed the rollout",
  rollBack: "began to replace the new replicas back",
  squeeze: "lets a replica stop before its successor is placed",
} as const;

function groundText(ground: RolloutGround): string {
  switch (ground.kind) {
    case "requested":
      return "";
    case "ready":
      return `: ${plural(ground.replicas, "replica")} ready`;
    case "deadline":
      return `: it had not ended after ${durationText(ground.afterMs)}`;
    case "noRoom":
      return `: a new replica has had no place for ${durationText(ground.forMs)}`;
    case "verdict": {
      const figures = ground.figures.map(rolloutFigureText).join("; ");
      return ` after ${plural(ground.requests, "request")}${figures === "" ? "" : `: ${figures}`}`;
    }
  }
}

const names = {
  errorRate: "errors",
  ttft: "time to the first token",
  tpot: "time per output token",
  quality: "score of answers",
} as const;
const percent = (milli: number): string => `${Number((milli / 10).toFixed(1))}%`;

/** `errors 5.2% beside 0.2%, up to 1% more accepted, evidence 100%`. */
export function rolloutFigureText({
  figure,
  canaryMilli,
  baselineMilli,
  marginMilli,
  evidenceMilli,
}: RolloutFigureGround): string {
  const accepted =
    figure === "quality"
      ? `up to ${percent(marginMilli)} less accepted`
      : `up to ${percent(marginMilli)} more accepted`;
  if (canaryMilli === null) return `${names[figure]}: too few requests to compare`;
  const compared =
    figure === "errorRate" || figure === "quality"
      ? `${percent(canaryMilli)} beside ${baselineMilli === null ? "no requests" : percent(baselineMilli)}`
      : `${percent(canaryMilli)} of the present revision's`;
  return `${names[figure]} ${compared}, ${accepted}, evidence ${percent(Math.min(1000, evidenceMilli))}`;
}

/** For the reason why an endpoint is as it is. */
export function rolloutGoingText({ number, steps, step, shadow, isReversed, stable, canary }: Rollout): string {
  const share =
    steps === undefined
      ? "replica by replica"
      : steps[step] === 0
        ? `with copies of ${shadow ?? 0}% of the requests`
        : `at ${steps[step] ?? 100}% of the requests`;
  const how = isReversed === true ? "is replaced back" : `is rolled out ${share}`;
  return `Revision ${number} ${how}: it should have ${plural(canary, "replica")}, and the present one ${stable}. headroom rollout show NAME has readings and verdict.`;
}

/** State and next step. */
export function rolloutSentence(rollout: Omit<RolloutState, "sentence">, everyMs: number | null): string {
  const { number, steps, step, phase, replicas, verdict } = rollout;
  const ready = `${replicas.canaryReady} of ${replicas.canary} new replicas are ready`;
  if (phase === "turningBack")
    return `Revision ${number} is replaced back: ${replicas.stableReady} of ${replicas.stable} present replicas are ready.`;
  if (phase === "finishing") return `Revision ${number} replaces the present one: ${ready}.`;
  const at = `(step ${step + 1} of ${steps?.length ?? 1})`;
  const share =
    rollout.shadowMilli === null
      ? `Revision ${number} gets ${steps?.[step] ?? 100}% of the requests ${at}`
      : `Revision ${number} gets copies of ${rollout.shadowMilli / 10}% of the requests, and no client gets its answers ${at}`;
  if (phase === "paused") return `${share}. The rollout is paused: headroom rollout resume goes on.`;
  if (replicas.canaryReady < replicas.canary) return `${share}: ${ready}.`;
  const next = step + 1 < (steps?.length ?? 1) ? `${steps?.[step + 1]}%` : "the end";
  switch (verdict) {
    case "worse":
      return `${share} and is worse, so it is rolled back.`;
    case "suspect":
      return `${share}. There is evidence against it, not enough for a verdict, so it waits for more requests.`;
    case "unknown":
    case null:
      return `${share}. ${grouped(rollout.requests?.canary ?? 0)} requests are too few for a verdict, so it waits for more.`;
    case "good":
      return `${share} and is not worse. ${everyMs === null ? "" : `After ${durationText(everyMs)} in this step comes ${next}.`}`.trim();
  }
}

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
