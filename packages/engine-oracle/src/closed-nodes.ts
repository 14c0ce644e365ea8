/** The state from the view of one workload: without the nodes that the calendar closes to it. */
import { windowBroken } from "@headroom/engine/internals";
import type { ReadonlyState } from "@headroom/engine";
import type { Workload } from "@headroom/model";

/**
 * The same state, in which the nodes that the calendar closes to the workload are drained. Running work is unchanged.
 */
export function withoutClosedNodes(state: ReadonlyState, workload: Workload, nowMs: number): ReadonlyState {
  if (state.calendar.size === 0) return state;
  const nodes = new Map(
    [...state.nodes].map(([id, node]) => {
      const isOpen = windowBroken(state, workload, node, nowMs) === null;
      return [id, isOpen ? node : { ...node, draining: true }];
    }),
  );
  return Object.assign(Object.create(state) as ReadonlyState, { nodes });
}
