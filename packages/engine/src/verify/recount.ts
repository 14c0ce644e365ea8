/**
 * What is held and what would fit, counted from the attempts and nodes alone. No index and no scheduling code is used: this
 * is the second opinion that the checks in this folder compare the engine with.
 */
import { acceleratorCount, acceleratorIndices } from "../model/accelerator-set.ts";
import type { AttemptId, NodeId, TeamName } from "../model/ids.ts";
import type { Node } from "../model/fleet.ts";
import type { Attempt, GangSpec, Workload } from "../model/workload.ts";
import { taskCountOf } from "../model/workload.ts";
import type { Policy } from "../policy/policy.ts";
import type { ReadonlyState } from "../state/state.ts";

/** What a waiting gang asks for; a placement class and a workload's spec both are one. */
export interface GangRequest {
  readonly team: TeamName;
  readonly gang: GangSpec;
  readonly acceleratorTypes: readonly string[];
}

/** What the active attempts hold of one node. */
export interface Held {
  /** How often each accelerator is held: more than once is over-commitment. */
  readonly accelerators: Map<number, number>;
  coresMilli: number;
  memoryMib: number;
  readonly attempts: Set<AttemptId>;
}

const nothing = (): Held => ({ accelerators: new Map(), coresMilli: 0, memoryMib: 0, attempts: new Set() });

export const specOf = (state: ReadonlyState, attempt: Attempt): Workload["spec"] | undefined =>
  state.workloads.get(attempt.workloadId)?.spec;

/** What is held of every node, attempts without a workload left out (they are a finding of their own). */
export function heldByNode(state: ReadonlyState): ReadonlyMap<NodeId, Held> {
  const held = new Map<NodeId, Held>();
  for (const id of state.nodes.keys()) held.set(id, nothing());
  for (const attempt of state.attempts.values()) {
    const spec = specOf(state, attempt);
    if (spec === undefined) continue;
    for (const worker of attempt.workers) {
      const sum = held.get(worker.node) ?? nothing();
      held.set(worker.node, sum);
      for (const index of acceleratorIndices(worker.accelerators))
        sum.accelerators.set(index, (sum.accelerators.get(index) ?? 0) + 1);
      sum.coresMilli += spec.gang.coresMilli;
      sum.memoryMib += spec.gang.memoryMib;
      sum.attempts.add(attempt.id);
    }
  }
  return held;
}

/** The team and every team above it; ends at a team that does not exist and never goes round a circle. */
function withAncestors(state: ReadonlyState, team: TeamName): readonly TeamName[] {
  const line: TeamName[] = [];
  for (let at: TeamName | null = team; at !== null && !line.includes(at); at = state.teams.get(at)?.parent ?? null)
    line.push(at);
  return line;
}

/** Accelerators that each team and everything below it holds, by type. */
export function heldByTeam(state: ReadonlyState): ReadonlyMap<TeamName, ReadonlyMap<string, number>> {
  const held = new Map<TeamName, Map<string, number>>();
  for (const attempt of state.attempts.values()) {
    const spec = specOf(state, attempt);
    if (spec === undefined) continue;
    let count = 0;
    for (const worker of attempt.workers) count += acceleratorCount(worker.accelerators);
    if (count === 0) continue;
    for (const team of withAncestors(state, spec.team)) {
      const types = held.get(team) ?? new Map<string, number>();
      held.set(team, types);
      types.set(attempt.acceleratorType, (types.get(attempt.acceleratorType) ?? 0) + count);
    }
  }
  return held;
}

/** Whether the team and every team above it would hold no more than its limit of a type with `count` more. */
export function keepsLimits(
  state: ReadonlyState,
  held: ReadonlyMap<TeamName, ReadonlyMap<string, number>>,
  { team, type, count }: { readonly team: TeamName; readonly type: string; readonly count: number },
): boolean {
  return withAncestors(state, team).every((at) => {
    const limit = state.teams.get(at)?.limit[type];
    return limit === undefined || (held.get(at)?.get(type) ?? 0) + count <= limit;
  });
}

export const isUsable = (node: Node): boolean => node.health === "up" && !node.draining;

type Amounts = Pick<Node, "acceleratorType" | "acceleratorCount" | "coresMilli" | "memoryMib">;

/** What is left of the usable nodes. */
function freeAmounts(state: ReadonlyState, held: ReadonlyMap<NodeId, Held>): readonly Amounts[] {
  return [...state.nodes.values()].filter(isUsable).map((node) => {
    const sum = held.get(node.id) ?? nothing();
    return {
      acceleratorType: node.acceleratorType,
      acceleratorCount: node.acceleratorCount - sum.accelerators.size,
      coresMilli: node.coresMilli - sum.coresMilli,
      memoryMib: node.memoryMib - sum.memoryMib,
    };
  });
}

/**
 * Types on which the whole gang fits. All workers of a gang ask for the same, so it fits exactly when the workers that each
 * node could take add up to the gang: no search is needed to be sure.
 */
function typesThatFit(nodes: readonly Amounts[], { gang, acceleratorTypes }: GangRequest): readonly string[] {
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
  /** Whether the usable fleet could hold the gang if nothing ran. */
  couldEver(request: GangRequest): boolean;
  /** Whether it may hold up those behind it: the empty fleet could hold it within the limits above its team. */
  mayBlock(request: GangRequest): boolean;
  /** Whether it could start now: free capacity and every limit above its team considered. */
  couldNow(request: GangRequest): boolean;
}

export function feasibility(state: ReadonlyState): Feasibility {
  const empty = freeAmounts(state, new Map());
  const current = freeAmounts(state, heldByNode(state));
  const held = heldByTeam(state);
  const mayTake = ({ team, gang }: GangRequest, type: string): boolean => {
    const count = gang.workers * gang.accelerators;
    return count === 0 || keepsLimits(state, held, { team, type, count });
  };
  return {
    couldEver: (request) => typesThatFit(empty, request).length > 0,
    mayBlock: (request) => typesThatFit(empty, request).some((type) => mayTake(request, type)),
    couldNow: (request) => typesThatFit(current, request).some((type) => mayTake(request, type)),
  };
}

/** Whether one of the workload's tasks may start at this instant, capacity aside. */
export function hasReadyTask(workload: Workload, nowMs: number): boolean {
  if (workload.endedAtMs !== null || workload.stopRequested) return false;
  return workload.nextTask < taskCountOf(workload.spec) || workload.retries.some((retry) => retry.notBeforeMs <= nowMs);
}

/** The policy's order, written down a second time. */
export function compareByPolicy(policy: Policy, left: Workload, right: Workload): number {
  for (const key of policy.order) {
    if (key === "submitted") break;
    const [first, second] =
      key === "priority"
        ? [right.spec.priority, left.spec.priority]
        : [left.spec.walltimeMs ?? Number.MAX_VALUE, right.spec.walltimeMs ?? Number.MAX_VALUE];
    if (first !== second) return first < second ? -1 : 1;
  }
  return left.ordinal - right.ordinal;
}
