/** Nodes that could hold waiting work and are used by work that Headroom does not run. */
import { acceleratorCount, takesWork } from "@headroom/model";
import type { WorkloadSpec } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { roomOn } from "./fleet-cause.ts";
import { grouped, plural } from "./plain-text.ts";

/** ` Work that Headroom does not run uses 12 of 16 accelerators on 2 nodes that could hold a worker.`; empty if there is none. */
export function foreignUseSentence({ nodes }: Pick<ReadonlyState, "nodes">, spec: WorkloadSpec): string {
  if (spec.gang.taskGroups !== undefined || spec.gang.profile !== undefined) return "";
  const used = [...nodes.values()].filter(
    (node) => node.foreignUse !== undefined && takesWork(node) && roomOn(node, spec) > 0,
  );
  if (used.length === 0) return "";
  const where = `on ${plural(used.length, "node")} that could hold a worker`;
  const foreign = used.reduce((sum, { foreignUse }) => sum + acceleratorCount(foreignUse?.accelerators ?? ""), 0);
  const total = used.reduce((sum, node) => sum + node.acceleratorCount, 0);
  return foreign === 0
    ? ` Work that Headroom does not run uses cores and memory ${where}.`
    : ` Work that Headroom does not run uses ${grouped(foreign)} of ${plural(total, "accelerator")} ${where}.`;
}
