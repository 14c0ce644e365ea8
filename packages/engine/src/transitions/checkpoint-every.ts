/** The interval between checkpoints that the workers of an attempt get at their start. */
import { Slot } from "../cluster/scratch.ts";
import type { World } from "../cluster/world.ts";
import type { Attempt, WorkloadSpec } from "../model/workload.ts";
import { checkpointIntervalOn, distinctNodes, nodeFailures } from "../usage/checkpoint-interval.ts";
import type { NodeFailures } from "../usage/checkpoint-interval.ts";

/** The record is scanned once for each instant, however many gangs start then. */
const scanned = new Slot<{ readonly atMs: number; readonly failures: NodeFailures } | null>(() => null, {
  survivesUndo: false,
});

/** The interval in ms for the workers of an attempt; absent: the workload states none. */
export function checkpointEveryMs(
  { state, scratch }: World,
  { spec }: { readonly spec: WorkloadSpec },
  { workers }: Pick<Attempt, "workers">,
): number | undefined {
  if (spec.checkpointEvery !== "auto") return spec.checkpointEvery;
  let known = scratch.get(scanned);
  if (known?.atMs !== state.nowMs) {
    known = { atMs: state.nowMs, failures: nodeFailures(state) };
    scratch.set(scanned, known);
  }
  return checkpointIntervalOn(known.failures, spec, distinctNodes(workers)).everyMs;
}
