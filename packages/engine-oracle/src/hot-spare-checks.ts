/**
 * Checks hot spares from the nodes alone. No work may run on a hot spare. A pool must have its declared number of hot
 * spares, as long as enough nodes are empty.
 */
import { HOT_SPARE_AHEAD_MS } from "@headroom/model";
import type { Node } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { covers } from "@headroom/engine/internals";
import type { Findings } from "@headroom/engine/internals";
import { heldByNode, takesWork } from "./recount.ts";

export function checkHotSpares(findings: Findings, state: ReadonlyState, nowMs: number): void {
  const nodes = [...state.nodes.values()];
  if (
    ![...state.pools.values()].some(({ hotSpares }) => hotSpares !== undefined) &&
    nodes.every(({ hotSpare }) => !hotSpare)
  )
    return;
  const held = heldByNode(state);
  const isEmpty = ({ id }: Node): boolean => {
    const sum = held.get(id);
    return sum === undefined || (sum.workers === 0 && sum.ahead.workers === 0);
  };
  for (const node of nodes) {
    if (node.hotSpare !== true) continue;
    findings.expect(isEmpty(node), () => `${node.id} is kept as a spare, and somebody has a place there`);
    findings.expect(couldBeHotSpare(state, node, nowMs), () => `${node.id} is kept as a spare and takes no work`);
  }
  for (const { name, hotSpares: wanted = 0 } of state.pools.values()) {
    const own = nodes.filter(({ pool }) => pool === name);
    const kept = own.filter(({ hotSpare }) => hotSpare === true).length;
    findings.expect(kept <= wanted, () => `${kept} nodes of ${name} are kept as spares, it states ${wanted}`);
    const left = own.filter(
      (node) => node.hotSpare !== true && isEmpty(node) && couldBeHotSpare(state, node, nowMs + HOT_SPARE_AHEAD_MS),
    );
    findings.expect(
      kept >= wanted || left.length === 0,
      () => `${kept} of ${wanted} spares of ${name} are kept, and ${left[0]?.id} is empty`,
    );
  }
}

/** Whether the node takes work and has no foreign work, and no calendar window closes or reserves it before `byMs`. */
function couldBeHotSpare(state: ReadonlyState, node: Node, byMs: number): boolean {
  if (!takesWork(node) || node.foreignUse !== undefined) return false;
  return ![...state.calendar.values()].some(
    (item) =>
      item.entry.kind !== "tariff" &&
      covers(item, node) &&
      (item.entry.kind === "reservation" || item.entry.startMs <= byMs),
  );
}
