/** Spares, counted again from the nodes alone: nothing lies on one, and a pool has as many as it states while so many are empty. */
import { SPARE_AHEAD_MS, covers } from "@headroom/engine/internals";
import type { Findings, Node, ReadonlyState } from "@headroom/engine/internals";
import { heldByNode } from "./recount.ts";

export function checkSpares(findings: Findings, state: ReadonlyState, nowMs: number): void {
  const nodes = [...state.nodes.values()];
  if (![...state.pools.values()].some(({ spares }) => spares !== undefined) && nodes.every(({ spare }) => !spare))
    return;
  const held = heldByNode(state);
  const isEmpty = ({ id }: Node): boolean => {
    const sum = held.get(id);
    return sum === undefined || (sum.workers === 0 && sum.ahead.workers === 0);
  };
  for (const node of nodes) {
    if (node.spare !== true) continue;
    findings.expect(isEmpty(node), () => `${node.id} is kept as a spare, and somebody has a place there`);
    findings.expect(couldBeSpare(state, node, nowMs), () => `${node.id} is kept as a spare and takes no work`);
  }
  for (const { name, spares: wanted = 0 } of state.pools.values()) {
    const own = nodes.filter(({ pool }) => pool === name);
    const kept = own.filter(({ spare }) => spare === true).length;
    findings.expect(kept <= wanted, () => `${kept} nodes of ${name} are kept as spares, it states ${wanted}`);
    const left = own.filter(
      (node) => node.spare !== true && isEmpty(node) && couldBeSpare(state, node, nowMs + SPARE_AHEAD_MS),
    );
    findings.expect(
      kept >= wanted || left.length === 0,
      () => `${kept} of ${wanted} spares of ${name} are kept, and ${left[0]?.id} is empty`,
    );
  }
}

/** Whether it takes work, and the calendar has it neither by then nor for somebody. */
function couldBeSpare(state: ReadonlyState, node: Node, byMs: number): boolean {
  if (node.health === "lost" || node.draining) return false;
  return ![...state.calendar.values()].some(
    (item) =>
      item.entry.kind !== "tariff" &&
      covers(item, node) &&
      (item.entry.kind === "reservation" || item.entry.startMs <= byMs),
  );
}
