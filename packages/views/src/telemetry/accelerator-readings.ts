/**
 * The newest readings of all nodes, their pages, and what the readings show about the attempts that hold the
 * accelerators.
 */
import { acceleratorsIn, forEachRange, partsOf, shapeOf } from "@headroom/model";
import type { Attempt, AttemptId, GangSpec, NodeId, UtilizationReport } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import { nodeUse } from "@headroom/explain";
import { PAGE_ITEMS_DEFAULT } from "@headroom/protocol";
import type { AcceleratorReading, NodeReadings, Page, PageRequest } from "@headroom/protocol";
import { cursorOrdinal } from "../page-cursor.ts";

/** Utilization below which an accelerator counts as idle, the same as for reports of jobs. */
const BUSY_MILLI_MIN = 50;
/** Time in ms for which readings count as present. After it, three readings are missing. */
export const READINGS_FRESH_MS = 60_000;

export class AcceleratorReadings {
  readonly #byNode = new Map<string, NodeReadings>();

  /** Replaces the previous readings. Nodes that are not in the fleet are left out. */
  record(read: readonly NodeReadings[], { state }: Pick<Engine, "state">): void {
    for (const each of read) if (state.nodes.has(each.node as NodeId)) this.#byNode.set(each.node, each);
    for (const node of this.#byNode.keys()) if (!state.nodes.has(node as NodeId)) this.#byNode.delete(node);
  }

  /** A node without readings, because its accelerators were never read. */
  of(node: string): NodeReadings {
    return this.#byNode.get(node) ?? { node, source: null, atMs: null, problem: null, accelerators: [] };
  }

  get all(): readonly NodeReadings[] {
    return [...this.#byNode.values()];
  }

  /** Nodes in the order in which they joined. */
  page({ state }: Pick<Engine, "state">, { cursor, limit = PAGE_ITEMS_DEFAULT }: PageRequest): Page<NodeReadings> {
    const after = cursorOrdinal(cursor, { first: 0, last: state.joinedNodeCount - 1 }) ?? -1;
    const items: NodeReadings[] = [];
    let last = after;
    for (const { id, ordinal } of state.nodes.values()) {
      if (ordinal <= after) continue;
      if (items.length === limit) return { items, nextCursor: String(last) };
      items.push(this.of(id));
      last = ordinal;
    }
    return { items, nextCursor: null };
  }

  /** Recent values of the accelerators that a worker holds; `null`: nothing is known of at least one of them. */
  heldBy(node: string, accelerators: string, nowMs: number): readonly AcceleratorReading[] | null {
    const read = this.#byNode.get(node);
    if (read === undefined || read.atMs === null || nowMs - read.atMs > READINGS_FRESH_MS) return null;
    const held: AcceleratorReading[] = [];
    let isComplete = true;
    forEachRange(accelerators, (first, last) => {
      for (let index = first; index <= last; index++) {
        const reading = read.accelerators.find((each) => each.index === index);
        if (reading === undefined) isComplete = false;
        else held.push(reading);
      }
    });
    return isComplete ? held : null;
  }
}

export interface MeasuredAttempt {
  readonly attemptId: AttemptId;
  readonly report: UtilizationReport;
}

/** The nodes whose attempts are measured. */
export interface MeasuredNodes {
  readonly readings: AcceleratorReadings;
  readonly nodes: readonly string[];
  readonly nowMs: number;
  /** Whether this attempt is left out, because it was looked at a moment ago. Called once for each of its nodes. */
  isRecent(attemptId: AttemptId): boolean;
}

/**
 * Utilization of the running attempts on some nodes, measured on all their accelerators. An attempt is left out if the utilization
 * of one of its accelerators is unknown, or if it holds a part of an accelerator: the reading of a card does not distinguish its
 * users.
 */
export function measuredAttempts(
  engine: Engine,
  { readings, nodes, nowMs, isRecent }: MeasuredNodes,
): readonly MeasuredAttempt[] {
  const { state } = engine;
  const measured = new Map<AttemptId, MeasuredAttempt>();
  for (const node of nodes) {
    if (readings.of(node).accelerators.length === 0) continue;
    for (const attemptId of nodeUse(engine, node as NodeId).attempts) {
      if (measured.has(attemptId) || isRecent(attemptId)) continue;
      const attempt = state.attempts.get(attemptId);
      const gang = attempt === undefined ? undefined : state.workloads.get(attempt.workloadId)?.spec.gang;
      if (attempt === undefined || gang === undefined) continue;
      const report = reportOf(attempt, gang, { readings, nowMs });
      if (report !== null) measured.set(attemptId, { attemptId, report });
    }
  }
  return [...measured.values()];
}

interface Known {
  readonly readings: AcceleratorReadings;
  readonly nowMs: number;
}

function reportOf(
  { startedAtMs, stop, workers }: Attempt,
  gang: GangSpec,
  { readings, nowMs }: Known,
): UtilizationReport | null {
  if (startedAtMs === null || stop !== null || acceleratorsIn(partsOf(gang, workers)) === 0) return null;
  const held: AcceleratorReading[] = [];
  for (const worker of workers) {
    const { shareMilli, profile } = shapeOf(gang, worker);
    if (worker.accelerators === "") continue;
    if (shareMilli !== undefined || profile !== undefined) return null;
    const read = readings.heldBy(worker.node, worker.accelerators, nowMs);
    if (read === null) return null;
    held.push(...read);
  }
  const busy = held.flatMap(({ busyMilli }) => busyMilli ?? []);
  if (held.length === 0 || busy.length < held.length) return null;
  return {
    accelerators: held.length,
    busyAccelerators: busy.filter((milli) => milli >= BUSY_MILLI_MIN).length,
    busyMilli: Math.round(busy.reduce((sum, milli) => sum + milli, 0) / busy.length),
    peakMemoryMib: extreme(
      held.flatMap(({ memoryUsedMib }) => memoryUsedMib ?? []),
      Math.max,
    ),
    capacityMib: extreme(
      held.flatMap(({ memoryTotalMib }) => memoryTotalMib ?? []),
      Math.min,
    ),
  };
}

const extreme = (values: readonly number[], of: (left: number, right: number) => number): number | null =>
  values.length === 0 ? null : Math.round(values.reduce((found, value) => of(found, value)));
