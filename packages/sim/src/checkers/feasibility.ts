/**
 * Where a gang could go, by brute force. Every worker of a gang needs the same, so a gang fits on a type exactly when the
 * workers that each node could take add up to the gang; no search and no index is needed to be sure.
 */
import { acceleratorCount, type NodeId, type ReadonlyState, type Workload } from "@headroom/engine";
import { teamUse, withAncestors } from "./team-limits.ts";

interface Free {
  readonly acceleratorType: string;
  readonly acceleratorCount: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
}

/** What is free on nodes in use, from the attempts alone; with `empty`, as if nothing ran. */
function freeByNode(state: ReadonlyState, load: "empty" | "current"): Free[] {
  const taken = new Map<NodeId, { accelerators: number; coresMilli: number; memoryMib: number }>();
  for (const attempt of load === "current" ? state.attempts.values() : []) {
    const { gang } = state.workloads.get(attempt.workloadId)!.spec;
    for (const worker of attempt.workers) {
      const sum = taken.get(worker.node) ?? { accelerators: 0, coresMilli: 0, memoryMib: 0 };
      sum.accelerators += acceleratorCount(worker.accelerators);
      sum.coresMilli += gang.coresMilli;
      sum.memoryMib += gang.memoryMib;
      taken.set(worker.node, sum);
    }
  }
  return [...state.nodes.values()]
    .filter((node) => node.health === "up" && !node.draining)
    .map((node) => {
      const sum = taken.get(node.id);
      return {
        acceleratorType: node.acceleratorType,
        acceleratorCount: node.acceleratorCount - (sum?.accelerators ?? 0),
        coresMilli: node.coresMilli - (sum?.coresMilli ?? 0),
        memoryMib: node.memoryMib - (sum?.memoryMib ?? 0),
      };
    });
}

/** Types on which the whole gang fits. */
function typesThatFit(nodes: readonly Free[], { spec }: Workload): string[] {
  const { gang, acceleratorTypes } = spec;
  const workersByType = new Map<string, number>();
  for (const node of nodes) {
    if (acceleratorTypes.length > 0 && !acceleratorTypes.includes(node.acceleratorType)) continue;
    const bounds = [gang.workers];
    if (gang.accelerators > 0) bounds.push(Math.floor(node.acceleratorCount / gang.accelerators));
    if (gang.coresMilli > 0) bounds.push(Math.floor(node.coresMilli / gang.coresMilli));
    if (gang.memoryMib > 0) bounds.push(Math.floor(node.memoryMib / gang.memoryMib));
    const before = workersByType.get(node.acceleratorType) ?? 0;
    workersByType.set(node.acceleratorType, before + Math.max(0, Math.min(...bounds)));
  }
  return [...workersByType].filter(([, workers]) => workers >= gang.workers).map(([type]) => type);
}

export interface Feasibility {
  /** Whether the usable fleet could hold the gang if nothing else ran. */
  couldEver(workload: Workload): boolean;
  /** Whether it may hold up those behind it: the empty fleet could hold it within the limits above its team. */
  mayBlock(workload: Workload): boolean;
  /** Whether it could start now: free capacity and every team's limit considered. */
  couldNow(workload: Workload): boolean;
}

export function feasibility(state: ReadonlyState): Feasibility {
  const empty = freeByNode(state, "empty");
  const current = freeByNode(state, "current");
  const withinLimits = (workload: Workload, type: string): boolean => {
    const { gang, team } = workload.spec;
    const count = gang.workers * gang.accelerators;
    return withAncestors(state, team).every((at) => {
      const limit = state.teams.get(at)?.limit[type];
      return limit === undefined || count === 0 || teamUse(state, at, type) + count <= limit;
    });
  };
  return {
    couldEver: (workload) => typesThatFit(empty, workload).length > 0,
    mayBlock: (workload) => typesThatFit(empty, workload).some((type) => withinLimits(workload, type)),
    couldNow: (workload) => typesThatFit(current, workload).some((type) => withinLimits(workload, type)),
  };
}
