/** Idle resources with names and sentences. */
import { acceleratorsIn, partsOf } from "@headroom/model";
import type { WorkloadId } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import type { Waste, WasteList } from "@headroom/protocol";
import { findWaste } from "./idle-resources.ts";
import type { TelemetryOf, Waste as Finding } from "./idle-resources.ts";
import { isReadable, type ReadableTeams } from "./readable-teams.ts";
import { acceleratorTimeText, durationText, grouped, memoryText, plural } from "./plain-text.ts";

const ITEMS_MAX = 500;

/** `workloadId`: only the resources of this workload. */
export function wasteView(
  engine: Engine,
  workload: string | null,
  { telemetryOf, readable = null }: { readonly telemetryOf?: TelemetryOf; readonly readable?: ReadableTeams } = {},
): WasteList {
  const { state } = engine;
  const isShown = (id: WorkloadId): boolean => isReadable(readable, state.workloads.get(id)?.spec.team ?? "");
  const found = findWaste(engine, workload as WorkloadId | null, telemetryOf).filter((each) =>
    isShown(each.workloadId),
  );
  const wastedAcceleratorMs = found.reduce((sum, each) => sum + (each.wastedAcceleratorMs ?? 0), 0);
  let toldCount = 0;
  let runningCount = 0;
  for (const { id, workloadId, startedAtMs, workers, utilization, idleSinceMs } of state.attempts.values()) {
    const gang = state.workloads.get(workloadId)?.spec.gang;
    const isOther = (workload !== null && workloadId !== workload) || !isShown(workloadId);
    if (gang === undefined || isOther || startedAtMs === null || acceleratorsIn(partsOf(gang, workers)) === 0) continue;
    runningCount++;
    const isTold = (telemetryOf?.(id)?.utilization ?? null) !== null;
    if (isTold || utilization !== undefined || idleSinceMs !== undefined) toldCount++;
  }
  return {
    items: found.slice(0, ITEMS_MAX).map((each) => wasteItem(engine, each)),
    wastedAcceleratorMs,
    toldCount,
    runningCount,
    sentence: `${plural(found.length, "finding")}, ${acceleratorTimeText(wastedAcceleratorMs)} idle. ${grouped(toldCount)} of ${plural(runningCount, "running attempt")} with accelerators report utilization; the others are not judged.`,
  };
}

function wasteItem({ state }: Engine, found: Finding): Waste {
  const workload = state.workloads.get(found.workloadId);
  return {
    ...found,
    name: workload?.spec.name ?? found.workloadId,
    team: workload?.spec.team ?? "",
    actor: workload?.actor ?? "",
    sentence: wasteSentence(found),
  };
}

function wasteSentence(found: Finding): string {
  switch (found.kind) {
    case "unusedAccelerators":
      return `It holds ${plural(found.heldCount, "accelerator")}; at most ${grouped(found.mostBusyCount)} were busy in ${durationText(found.forMs)}.`;
    case "idle":
      return `None of the ${plural(found.heldCount, "accelerator")} that it holds has been busy for ${durationText(found.forMs)}.`;
    case "noProgress":
      return `It has reported no progress for ${durationText(found.forMs)}, and holds ${plural(found.heldCount, "accelerator")}.`;
    case "memoryTooLarge":
      return `It used at most ${memoryText(found.peakMib)} of an accelerator's ${memoryText(found.capacityMib)}: a smaller accelerator would be enough.`;
    default:
      return `It requests a walltime of ${durationText(found.walltimeMs)}; ${plural(found.runCount, "run")} of similar work took at most ${durationText(found.longestMs)}. With a shorter walltime it may start earlier.`;
  }
}
