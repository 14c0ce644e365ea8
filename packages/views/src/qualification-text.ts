/** Qualification of nodes in words, and as a resource. */
import type { NodeQualification as EngineQualification } from "@headroom/model";
import type { Event, NodeQualification } from "@headroom/protocol";
import { durationText } from "./plain-text.ts";

type QualificationEvent = Extract<Event, { readonly kind: `nodeQualification${string}` }>;

export const isQualification = (event: Event): event is QualificationEvent =>
  event.kind.startsWith("nodeQualification");

const causes: Readonly<Record<EngineQualification["cause"], string>> = {
  joined: "it joined",
  returned: "it came back after a loss",
  resumed: "it was drained",
  changed: "its amounts have changed",
  requested: "a user asked for it",
};

export function qualificationSentence(event: QualificationEvent): string {
  const { nodeId } = event;
  switch (event.kind) {
    case "nodeQualificationRequired":
      return `Node ${nodeId} has to pass the suite ${event.suite} before it takes work, because ${causes[event.cause]}${event.actor === null ? "" : ` (${event.actor})`}.`;
    case "nodeQualificationStarted":
      return `Run ${event.run} of the suite began on node ${nodeId}; it is expected to take ${durationText(event.expectedMs)}.`;
    case "nodeQualificationEnded":
      return endedSentence(event);
  }
}

function endedSentence({
  nodeId,
  outcome,
  detail,
  durationMs,
}: QualificationEvent & { readonly kind: "nodeQualificationEnded" }): string {
  const because = detail === "" ? "" : `: ${detail}`;
  switch (outcome) {
    case "passed":
      return `Node ${nodeId} passed its suite within ${durationText(durationMs)} and takes work${because}.`;
    case "waived":
      return `Node ${nodeId} takes work without a proof, because its pool has no rule of qualification any more.`;
    case "retried":
      return `The suite proved nothing about node ${nodeId}, and runs once more${because}.`;
    case "failed":
      return `Node ${nodeId} did not qualify and takes no work${because}. Repair it, then run headroom nodes qualify ${nodeId}.`;
  }
}

export function qualificationResource(
  { suite, cause, phase, sinceMs, run, detail }: EngineQualification,
  expectedAtMs: number | undefined,
): NodeQualification {
  return {
    suite,
    cause,
    phase,
    sinceMs,
    run,
    ...(expectedAtMs === undefined ? {} : { expectedAtMs }),
    ...(detail === undefined ? {} : { detail }),
  };
}
