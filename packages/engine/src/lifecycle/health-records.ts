/** Records about the health of the fleet. Nothing of the state changes; incidents are computed from them outside the engine. */
import type { Command } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";

/** The caller has checked that there is an incident with this id. */
export function annotateIncident(
  batch: Batch,
  { incident, annotation, actor }: Command & { readonly kind: "annotateIncident" },
): Decision {
  batch.emit({ kind: "incidentAnnotated", version: 1, atMs: batch.nowMs, incident, annotation, actor });
  return done({ kind: "incidentAnnotated", incident });
}

export function reportFaults(
  batch: Batch,
  { nodeId, faults, actor }: Command & { readonly kind: "reportFaults" },
): Decision {
  if (!batch.world.state.nodes.has(nodeId)) return refused({ code: "unknownNode", nodeId });
  batch.emit({ kind: "faultsReported", version: 1, atMs: batch.nowMs, nodeId, faults, actor });
  return done({ kind: "faultsReported", nodeId });
}
