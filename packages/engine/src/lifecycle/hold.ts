import type { Batch } from "../batch/batch.ts";
import type { Command } from "../contract/inputs.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";

/** Holding a held workload, or releasing one that is not held, changes nothing and is no error. */
export function holdWorkload(
  batch: Batch,
  { kind, workloadId: id, actor }: Command & { readonly kind: "holdWorkload" | "releaseWorkload" },
): Decision {
  const workload = batch.world.state.workloads.get(id);
  if (workload === undefined) return refused({ code: "unknownWorkload", workloadId: id });
  if (workload.endedAtMs !== null) return refused({ code: "workloadEnded", workloadId: id, phase: workload.phase });
  const fact = { version: 1, atMs: batch.nowMs, workloadId: id, actor } as const;
  const isHold = kind === "holdWorkload";
  if (isHold !== (workload.held === true)) batch.emit({ kind: isHold ? "workloadHeld" : "workloadReleased", ...fact });
  return done({ kind: isHold ? "workloadHeld" : "workloadReleased", workloadId: id });
}
