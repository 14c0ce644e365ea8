/**
 * Effect of a calendar window on the workloads on its nodes: accelerators used by the teams or users that the window is
 * reserved for, and attempts that are stopped for it.
 */
import { milliOf, shapeOf } from "@headroom/model";
import type { AttemptId, NodeId, WorkloadId, Attempt, WorkloadSpec } from "@headroom/model";
import { clockOf } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { worldOf, attemptsOn, workloadOf, latestEndMs } from "@headroom/engine/internals";

export interface WindowUse {
  readonly nodeCount: number;
  readonly acceleratorCount: number;
  /** Accelerators on the window's nodes held by the teams or users that the window is reserved for. */
  readonly heldFor: number;
  /** Attempts on the window's nodes that are, or will be, stopped before the window begins, ordered by stop time. */
  readonly drained: readonly DrainedAttempt[];
  /** Number of other attempts on the window's nodes whose walltimes end before the window begins. */
  readonly completionCount: number;
}

export interface DrainedAttempt {
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  /** Accelerators that the attempt holds on the window's nodes. */
  readonly accelerators: number;
  /** Time of the stop request: the start of the window minus the grace period and the time for a checkpoint. */
  readonly askedAtMs: number;
  readonly isStopping: boolean;
}

/** Usage of the window's nodes. `null` if no window has this name, or if the entry is a tariff. */
export function windowUse(engine: Engine, name: string): WindowUse | null {
  const world = worldOf(engine);
  const found = world.calendar.windows.find(({ window }) => window.name === name);
  if (found === undefined) return null;
  const { window, nodes } = found;
  let acceleratorCount = 0;
  for (const id of nodes) acceleratorCount += world.capacity.slot(id).totalCount;
  let heldFor = 0;
  let completionCount = 0;
  const drained: DrainedAttempt[] = [];
  for (const attempt of attemptsOn(world, nodes)) {
    const { spec, actor } = workloadOf(world, attempt.workloadId);
    const accelerators = acceleratorsOn(nodes, attempt, spec);
    if (world.calendar.isFor(window, { team: spec.team, actor })) {
      heldFor += accelerators;
      continue;
    }
    const { id: attemptId, workloadId, stop } = attempt;
    const leavesMs = latestEndMs(world.rules, attempt, { spec, startMs: window.startMs });
    if (stop === null && leavesMs === null) completionCount++;
    else {
      const askedAtMs = stop?.atMs ?? Math.max(clockOf(engine), leavesMs ?? 0);
      drained.push({ attemptId, workloadId, accelerators, askedAtMs, isStopping: stop !== null });
    }
  }
  // The sort is stable: attempts with equal stop times stay in the order of placement.
  drained.sort((left, right) => left.askedAtMs - right.askedAtMs);
  return { nodeCount: nodes.size, acceleratorCount, heldFor, drained, completionCount };
}

function acceleratorsOn(nodes: ReadonlySet<NodeId>, attempt: Attempt, { gang }: WorkloadSpec): number {
  let milli = 0;
  for (const worker of [...attempt.workers, ...(attempt.terminating ?? [])]) {
    if (!nodes.has(worker.node)) continue;
    const shape = shapeOf(gang, worker);
    milli += shape.accelerators * milliOf(shape);
  }
  return milli / 1000;
}
