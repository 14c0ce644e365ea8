/** Why an endpoint has its number of replicas, in words and numbers. */
import type { LoadGround, ScaleGround } from "@headroom/model";
import type { ScalingState, TypeFigures } from "@headroom/protocol";
import { capitalized } from "./rollout-text.ts";
import { durationText, plural } from "./plain-text.ts";

/** Grounds in the engine, and in answers of the API. */
type ShownLoad = Omit<LoadGround, "metric"> & { readonly metric?: string | undefined };
type ShownGround = Exclude<ScaleGround, LoadGround> | ShownLoad;

/** The ground as the end of a sentence: `: 40 requests in progress, target 16 for each replica`. */
export const groundText = (ground: ShownGround): string =>
  ground.kind === "load" ? `: ${loadGroundText(ground)}` : (otherGrounds[ground.kind] ?? "");

/** The order in which missing replicas take accelerator types, if the change chose one. */
export const typesText = (types: readonly string[] | undefined): string =>
  types === undefined ? "" : `; new replicas take ${types.join(", then ")}`;

const otherGrounds: { readonly [Kind in ShownGround["kind"]]?: string } = {
  budgetSpent: ": the budget of the endpoint is spent",
  budgetRenewed: ": the budget of the endpoint was renewed",
};

/** The load that decided, beside its target. */
export function loadGroundText({ cause, metric, measuredMilli, targetMilli, neededMilli, aheadMs }: ShownLoad): string {
  const measured = amount(measuredMilli);
  const target = amount(targetMilli);
  const need = `, so ${amount(neededMilli)} replicas`;
  const ahead = aheadMs === 0 ? "" : ` in ${durationText(aheadMs)}, when a start would be ready`;
  switch (cause) {
    case "concurrency":
      return `${measured} requests in progress, target ${target} for each replica${need}${ahead}`;
    case "requestsPerSecond":
      return `${measured} requests per second, target ${target} for each replica${need}${ahead}`;
    case "queueTime":
      return `requests wait ${milliseconds(measuredMilli)} for a replica, target ${milliseconds(targetMilli)}${need}`;
    case "ttft":
      return `time to the first token ${milliseconds(measuredMilli)}, target ${milliseconds(targetMilli)}${need}`;
    case "tpot":
      return `time per output token ${milliseconds(measuredMilli)}, target ${milliseconds(targetMilli)}${need}`;
    case "metric":
      return `the value of ${metric ?? "a metric"} is ${measured}, target ${target}${need}`;
    case "held":
      // The cause of the number also where nothing waits: the load needs no second replica.
      if (measuredMilli === 0) return neededMilli === 0 ? "no requests in progress" : "one replica is enough";
      return `the gateway holds ${plural(Math.round(measuredMilli / 1000), "request")} for a first replica`;
    case "idle":
      // Idle endpoints stop before their `idleToZero` where another one waits for a place.
      return `no requests for ${durationText(Math.round(measuredMilli / 1000))}${measuredMilli < targetMilli ? ", and another endpoint waited for a place" : ""}`;
  }
}

const amount = (milli: number): string => String(Number((milli / 1000).toFixed(2)));
const milliseconds = (milli: number): string => `${Math.round(milli / 1000)} ms`;

interface Scaling {
  readonly ground: LoadGround | null;
  readonly kept: ScalingState["kept"];
  readonly silentAfterMs: number;
  readonly refusal: string | null;
  /** Values of metric sources that the endpoint follows. */
  readonly metrics?: ScalingState["metrics"];
  /** Accelerator types at the last start of replicas, first choice first. */
  readonly types?: ScalingState["types"];
  /** The rule that the traffic chose, in words. */
  readonly rule?: string | null;
}

/** The load that the autoscaler last saw, and why the number of replicas stays. */
export function scalingSentence(scaling: Scaling): string {
  const { ground, kept, silentAfterMs, refusal, metrics = [], types = [], rule = null } = scaling;
  const seen = ground === null ? "" : `${capitalized(loadGroundText(ground))}.`;
  const chosen = rule === null ? "" : `Rule: ${rule}.`;
  const unknown = metrics.flatMap(({ name, gap }) => (gap === null ? [] : metricGapText(name, gap)));
  return [seen, chosen, keptText(kept, silentAfterMs, refusal), ...unknown, choiceText(types)]
    .filter((text) => text !== "")
    .join(" ");
}

/** The choice of accelerator types at the last start of replicas, with what decided it. */
function choiceText(types: readonly TypeFigures[]): string {
  if (types.length === 0) return "";
  const texts = types.map(({ type, microUsdPerHour, times, isPredicted, isFailing, isFast, covers }) => {
    const speed =
      times === null
        ? "not measured"
        : `${isPredicted ? "predicted " : ""}${durationText(Math.max(1, Math.round(times.workMs)))} a request`;
    const lack = isFailing
      ? ", its replicas failed"
      : isFast === false
        ? ", too slow for the targets"
        : covers === false
          ? ", too little for the load"
          : "";
    const price = microUsdPerHour === 0 ? "no price" : `${amount(Math.round(microUsdPerHour / 1000))} USD an hour`;
    return `${type} (${price}, ${speed}${lack})`;
  });
  return `New replicas take ${texts.join(", then ")}.`;
}

/** Why a value of a metric source is not known, and what to do. */
export function metricGapText(
  name: string,
  gap: NonNullable<NonNullable<ScalingState["metrics"]>[number]["gap"]>,
): string {
  switch (gap) {
    case "missing":
      return `No metric source has the value ${name} of this endpoint: see headroom metric-source targets.`;
    case "late":
      return `The last value of ${name} is older than three intervals of its source: see headroom metric-source targets.`;
    case "unsound":
      return `The value of ${name} is below zero or no number.`;
    case "contradictory":
      return `Several sources or series have different values of ${name}: name the source, or sum the series in the query.`;
    case "partial":
      return `The value of ${name} was not read from every ready replica.`;
  }
}

function keptText(kept: Scaling["kept"], silentAfterMs: number, refusal: string | null): string {
  switch (kept) {
    case null:
    case "enough":
      return "";
    case "silent":
      return `No gateway has reported for ${durationText(silentAfterMs)}, so the number stays. Check that a gateway follows the endpoint with a token of role operator.`;
    case "unsound":
      return "The figures of the gateway contradict each other, so the number stays.";
    case "partial":
      return "One of several gateways is silent, so no replica is stopped.";
    case "holding":
      return "The number stays for now: it falls after fewer replicas were enough for `scale.downAfter`, and its direction turns at most once in twice that time.";
    case "max":
      return "The maximum of `replicas` is reached.";
    case "metric":
      return "A value that the number follows is not known, so no replica is stopped.";
    case "budget":
      return "The budget of the endpoint is spent, so no replica is added until it is renewed.";
    case "refused":
      return `The change was refused: ${refusal ?? ""}`;
  }
}
