/** The figures of an endpoint as text, for the list and the page of one endpoint. */
import type { Endpoint } from "@headroom/protocol";
import { grouped, plural } from "@headroom/views";
import type { ReactElement } from "react";

export function ReadyText({ replicas: { ready, wanted } }: Pick<Endpoint, "replicas">): ReactElement {
  return (
    <span className={ready < wanted ? "text-wait" : ""}>
      {grouped(ready)} of {grouped(wanted)}
    </span>
  );
}

export function loadText(load: Endpoint["load"]): string {
  if (load === null) return "no gateway has reported";
  const held = load.held === 0 ? "" : `, ${grouped(load.held)} held`;
  return `${plural(load.running, "request")} in progress${held}, ${load.requestsPerSecond.toFixed(1)}/s`;
}

/** The rollout in a few words: `rolling out revision 3 (10% of the requests)`. */
export function rolloutText({ number, weightMilli, phase }: NonNullable<Endpoint["rollout"]>): string {
  if (phase === "turningBack") return `rolling back revision ${number}`;
  const share = weightMilli === null ? "" : ` (${weightMilli / 10}% of the requests)`;
  return `${phase === "paused" ? "paused at" : "rolling out"} revision ${number}${share}`;
}

/** How the number of replicas comes about, in a few words. */
export function scalingText({ autoscaled, scaling }: Pick<Endpoint, "autoscaled" | "scaling">): string {
  if (!autoscaled) return "by hand";
  return scaling?.kept == null ? "follows traffic" : words[scaling.kept];
}

const words: Readonly<Record<NonNullable<NonNullable<Endpoint["scaling"]>["kept"]>, string>> = {
  enough: "follows traffic",
  silent: "no gateway reports",
  unsound: "readings contradict each other",
  partial: "a gateway is silent",
  holding: "holds before it changes",
  max: "at its maximum",
  metric: "a value that it follows is not known",
  budget: "its budget is spent",
  refused: "change refused",
};

export const latencyText = (ms: number): string =>
  ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
