/** Work that Headroom does not run, as executors report it. Only nodes whose use has changed leave an event. */
import { acceleratorIndices } from "@headroom/model";
import type { ExecutorId, ForeignUse, ForeignUseReport, Node, Observation } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { acceleratorSetOf } from "../cluster/node-slot.ts";
import type { NodeSlot } from "../cluster/node-slot.ts";

export function seeForeignUse(
  batch: Batch,
  { executor, uses }: Observation & { readonly kind: "foreignUseSeen" },
): void {
  const reports = new Map(uses.map((use) => [use.nodeId, use]));
  for (const node of nodesOf(batch, executor)) {
    const use = useOf(batch.world.capacity.slot(node.id), reports.get(node.id));
    if (isSame(node.foreignUse, use)) continue;
    batch.emit({ kind: "foreignUseChanged", version: 1, atMs: batch.nowMs, nodeId: node.id, use });
  }
}

const nodesOf = ({ world: { state } }: Batch, executor: ExecutorId): readonly Node[] =>
  [...state.nodes.values()].filter(({ pool }) => state.pools.get(pool)?.executor === executor);

/** `null`: nothing of the node is used. Amounts beyond those of the node are not counted. */
function useOf(slot: NodeSlot, report: ForeignUseReport | undefined): ForeignUse | null {
  if (report === undefined) return null;
  const { node } = slot;
  const accelerators = acceleratorSetOf(chosen(slot, Math.min(report.accelerators, node.acceleratorCount)));
  const coresMilli = Math.min(report.coresMilli, node.coresMilli);
  const memoryMib = Math.min(report.memoryMib, node.memoryMib);
  if (accelerators === "" && coresMilli <= 0 && memoryMib <= 0) return null;
  return { accelerators, coresMilli: Math.max(0, coresMilli), memoryMib: Math.max(0, memoryMib) };
}

/**
 * The accelerators that count as used: those that already do, then free ones, the highest first because work of Headroom
 * gets the lowest, then nominated ones. Those that an attempt holds are left out: reports of the two can differ in time.
 */
function chosen(slot: NodeSlot, count: number): readonly number[] {
  const known = acceleratorIndices(slot.node.foreignUse?.accelerators ?? "");
  const others = Array.from({ length: slot.totalCount }, (_, at) => slot.totalCount - 1 - at);
  const free = others.filter((index) => slot.isWhole(index, "idle"));
  const order = [...new Set([...known, ...free, ...others])].filter((index) => slot.held[index] === 0);
  return order.slice(0, count).toSorted((left, right) => left - right);
}

const isSame = (known: ForeignUse | undefined, use: ForeignUse | null): boolean =>
  known === undefined || use === null
    ? known === undefined && use === null
    : known.accelerators === use.accelerators &&
      known.coresMilli === use.coresMilli &&
      known.memoryMib === use.memoryMib;
