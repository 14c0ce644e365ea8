/** Usage and queue at one moment of a timeline. */
import { milliIn, partsOf, takesWork } from "@headroom/model";
import type { Node, TeamName } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import { nodeUse, teamHolds, waitingSummary } from "@headroom/explain";

export interface HeldSample {
  readonly atMs: number;
  /**
   * Accelerators in use on nodes that are up. Capacity of a lost node does not count, even if the end of its work is
   * not known yet.
   */
  readonly heldAccelerators: number;
  /** Accelerators on nodes that take work, plus those in use on other nodes that are up. */
  readonly usableAccelerators: number;
  readonly waitingWorkloads: number;
  readonly waitingTasks: number;
  readonly waitingAccelerators: number;
  /** Accelerators in use by team, subteams included. */
  readonly heldByTeam: Readonly<Record<string, number>>;
}

export function heldSample(engine: Engine, atMs: number): HeldSample {
  const { nodes, teams } = engine.state;
  const goneMilli = new Map<TeamName, number>();
  let usable = 0;
  for (const node of nodes.values()) {
    if (node.health === "lost") addGone(engine, node, goneMilli);
    else if (takesWork(node) && node.hotSpare !== true) usable += node.acceleratorCount;
    else usable += node.acceleratorCount - nodeUse(engine, node.id).freeCount;
  }
  const heldByTeam: Record<string, number> = {};
  let held = 0;
  for (const { name, parent } of teams.values()) {
    let sum = 0;
    for (const count of teamHolds(engine, name).values()) sum += count;
    heldByTeam[name] = sum - (goneMilli.get(name) ?? 0) / 1000;
    if (parent === null) held += heldByTeam[name];
  }
  const { workloads, tasks, accelerators } = waitingSummary(engine);
  return {
    atMs,
    heldAccelerators: held,
    usableAccelerators: usable,
    waitingWorkloads: workloads,
    waitingTasks: tasks,
    waitingAccelerators: accelerators,
    heldByTeam,
  };
}

/**
 * Adds up the usage on a lost node, for each gang's team and all teams above it. The state still lists this usage until
 * the gang's other workers have ended.
 */
function addGone(engine: Engine, { id }: Node, goneMilli: Map<TeamName, number>): void {
  const { attempts, workloads, teams } = engine.state;
  for (const attemptId of nodeUse(engine, id).attempts) {
    const attempt = attempts.get(attemptId);
    const spec = attempt === undefined ? undefined : workloads.get(attempt.workloadId)?.spec;
    if (attempt === undefined || spec === undefined) continue;
    const there = [...attempt.workers, ...(attempt.terminating ?? [])].filter(({ node }) => node === id);
    const milli = milliIn(partsOf(spec.gang, there));
    for (let team: TeamName | null = spec.team; team !== null; team = teams.get(team)?.parent ?? null)
      goneMilli.set(team, (goneMilli.get(team) ?? 0) + milli);
  }
}
