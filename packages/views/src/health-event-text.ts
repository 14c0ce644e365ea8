/** Sentences about events of fleet health: labels, reported faults, and what people do about incidents. */
import { unreachable } from "@headroom/model";
import type { Event } from "@headroom/protocol";
import { durationText } from "./plain-text.ts";

type HealthEvent = Extract<Event, { readonly kind: "nodeRelabelled" | "faultsReported" | "incidentAnnotated" }>;

export const isHealthEvent = (event: Event): event is HealthEvent =>
  event.kind === "nodeRelabelled" || event.kind === "faultsReported" || event.kind === "incidentAnnotated";

export function healthEventSentence(event: HealthEvent): string {
  switch (event.kind) {
    case "nodeRelabelled": {
      const place = event.fabric.length === 0 ? "" : `; its place in the fabric is ${event.fabric.join(" / ")}`;
      return `The labels of node ${event.nodeId} changed${place}.`;
    }
    case "faultsReported":
      return `Node ${event.nodeId} has ${event.faults.map(({ code }) => code).join(", ")}, reported by ${event.actor}.`;
    case "incidentAnnotated":
      return annotationSentence(event);
    default:
      return unreachable(event);
  }
}

function annotationSentence({
  actor,
  incident,
  annotation,
  atMs,
}: HealthEvent & { readonly kind: "incidentAnnotated" }): string {
  switch (annotation.kind) {
    case "acknowledge":
      return `${actor} acknowledged incident ${incident}.`;
    case "silence":
      return `${actor} silenced incident ${incident} for ${durationText(annotation.untilMs - atMs)}.`;
    case "resolve":
      return `${actor} resolved incident ${incident}.`;
    case "note":
      return `${actor} wrote about incident ${incident}: ${annotation.text}`;
    default:
      return unreachable(annotation);
  }
}
