/** Effect of a calendar window on the work on its nodes: usage by its holder, and drained work. */
import { milliOf } from "../../model/device-part.ts";
import { clockOf, worldOf } from "../../engine/engine.ts";
import { shapeOf } from "../../model/gang.ts";
import type { AttemptId, NodeId, WorkloadId } from "../../model/ids.ts";
import type { Attempt, WorkloadSpec } from "../../model/workload.ts";
import type { Engine } from "../../engine/ready.ts";
import { workloadOf } from "../../cluster/entities.ts";
import { latestEndMs } from "../../cluster/latest-end.ts";

export interface WindowUse {
  readonly nodeCount: number;
  readonly acceleratorCount: number;
  /** Accelerators on its nodes that are held by work for which it is kept. */
  readonly heldFor: number;
  /** Work that is or will be stopped for it, the next first. */
  readonly drained: readonly DrainedAttempt[];
  /** How many other attempts on its nodes are over before it begins, by their walltimes. */
  readonly completionCount: number;
}

export interface DrainedAttempt {
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  /** Accelerators that it holds on the window's nodes. */
  readonly accelerators: number;
  /** When it is stopped: its grace period and checkpoint time before the window begins. */
  readonly askedAtMs: number;
  readonly isStopping: boolean;
}

/** `null`: there is no such window, or it is a tariff. */
export function windowUse(engine: Engine, name: string): WindowUse | null {
  const world = worldOf(engine);
  const found = world.calendar.windows.find(({ window }) => window.name === name);
  if (found === undefined) return null;
  const { window, nodes } = found;
  let acceleratorCount = 0;
  const ids = new Set<AttemptId>();
  for (const id of nodes) {
    const slot = world.capacity.slot(id);
    acceleratorCount += slot.totalCount;
    for (const attemptId of slot.attempts.keys()) ids.add(attemptId);
  }
  const attempts = [...ids].flatMap((id) => world.state.attempts.get(id) ?? []);
  let heldFor = 0;
  let completionCount = 0;
  const drained: DrainedAttempt[] = [];
  attempts.sort((left, right) => left.placedSequence - right.placedSequence);
  for (const attempt of attempts) {
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
  // The sort is stable: those of one instant stay in the order of placing.
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
