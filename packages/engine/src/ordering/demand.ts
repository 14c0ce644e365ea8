/**
 * Demand of each team, without the teams below it: usage plus waiting requests. A decision of the scheduler does not
 * change demand: evicted work keeps counting while it terminates, and tentative bookings do not count. So fair shares
 * change only when work is submitted or ends, and not by the decisions that are based on them.
 */
import { groupAt, isOfTypes, leastParts, partsOf, typesOfGroup, wholeParts } from "@headroom/model";
import type { GangPart, AttemptId, WorkloadId, GangSpec, WorkerAllocation, Workload } from "@headroom/model";
import { canDo } from "../state/executors.ts";
import { workloadOf } from "../cluster/entities.ts";
import { canResize, countsForTeam } from "../cluster/holdings.ts";
import { demandedTaskCount } from "../state/ready-task.ts";
import { COMPARED, amountAt } from "../cluster/team-node.ts";
import type { TeamNode } from "../cluster/team-node.ts";
import type { World } from "../cluster/world.ts";

/**
 * The demand of each team by resource position, and the resource position of each compared accelerator type by its
 * name.
 */
interface Demands {
  readonly byTeam: ReadonlyMap<TeamNode, number[]>;
  readonly typesAt: ReadonlyMap<string, number>;
}

/**
 * Demand of each team in `nodes`, in the same order, by resource position. Work counts as demand for every accelerator
 * type that it accepts, even while it runs on one of these types.
 */
export function ownDemands(world: World, nodes: readonly TeamNode[]): readonly (readonly number[])[] {
  const { compared, resources } = world.teamUse;
  const types = compared.slice(COMPARED.length);
  const ofNode = (node: TeamNode): number[] => {
    const demand: number[] = [];
    for (const position of COMPARED) demand[position] = held(node, position);
    for (const position of types) demand[position] = 0;
    return demand;
  };
  const demands: Demands = {
    byTeam: new Map(nodes.map((node) => [node, ofNode(node)])),
    typesAt: new Map(types.map((position) => [resources[position] as string, position])),
  };
  if (types.length > 0) countHeldByType(world, demands);
  countWaiting(world, demands);
  countGrowing(world, demands);
  countTerminating(world, demands);
  return nodes.map((node) => demands.byTeam.get(node) as number[]);
}

/**
 * Amount that the team's own work uses or is nominated for, without the teams below it and without tentative bookings.
 */
const held = (node: TeamNode, position: number): number =>
  node.children.reduce((rest, child) => rest - (child.used[position] ?? 0), node.used[position] ?? 0) -
  (node.tentative[position] ?? 0);

function add(world: World, demands: Demands, workload: Workload, parts: readonly GangPart[], gangs: number): void {
  const { teamUse } = world;
  const demand = demands.byTeam.get(teamUse.node(workload.spec.team)) as number[];
  const all = gangs === 1 ? parts : parts.map((part) => ({ ...part, workers: part.workers * gangs }));
  const amount = teamUse.amountOfParts(all, () => "");
  for (const position of COMPARED) demand[position] = (demand[position] as number) + amountAt(amount, position);
  addByType(world, demands, workload, all);
}

function addByType(
  { capacity, teamUse }: World,
  { byTeam, typesAt }: Demands,
  { spec }: Workload,
  parts: readonly GangPart[],
): void {
  if (typesAt.size === 0) return;
  const demand = byTeam.get(teamUse.node(spec.team)) as number[];
  for (const part of parts) {
    const { group } = part;
    const { acceleratorsMilli } = teamUse.amountOfParts([part], () => "");
    const accepted = group === undefined ? spec.acceleratorTypes : typesOfGroup(spec, groupAt(spec.gang, group));
    // A family of accelerator types counts once, even if the work accepts several of its types.
    const names = capacity
      .acceptable(accepted)
      .flatMap(({ type, family }) => (family === undefined ? type : [type, family]));
    for (const name of capacity.hasFamilies ? new Set(names) : names) {
      const position = typesAt.get(name);
      if (position !== undefined) demand[position] = (demand[position] as number) + acceleratorsMilli;
    }
  }
}

/** Adds placed and nominated work to the demand for each accelerator type that the work accepts. */
function countHeldByType(world: World, demands: Demands): void {
  const { state } = world;
  const count = (id: WorkloadId, workers: readonly WorkerAllocation[]): void => {
    const workload = workloadOf(world, id);
    addByType(world, demands, workload, partsOf(workload.spec.gang, workers));
  };
  for (const attempt of state.attempts.values()) if (countsForTeam(attempt)) count(attempt.workloadId, attempt.workers);
  for (const { workloadId, workers } of state.nominations.values()) count(workloadId, workers);
}

/**
 * The workers that count as demand of a gang: its maximum, or its minimum if gangs cannot grow under the policy, or at
 * the executor of any pool that has an accepted accelerator type.
 */
function fullSize({ rules, state }: World): (gang: GangSpec, types: readonly string[]) => readonly GangPart[] {
  const growing = [...state.pools.values()].filter(({ executor }) => canDo(state, executor, "resize"));
  const isEvery = growing.length === state.pools.size;
  const mayGrow = (types: readonly string[]): boolean =>
    rules.elastic.grow !== "never" && (isEvery || growing.some((pool) => isOfTypes(types, pool)));
  return (gang, types) => (mayGrow(types) ? wholeParts : leastParts)(gang);
}

function countWaiting(world: World, demands: Demands): void {
  const size = fullSize(world);
  for (const { waiting, waitingArrays, request } of world.queue.waitingClasses()) {
    const first = waiting.first();
    if (first === undefined) continue;
    const parts = size(request.gang, request.spec.acceleratorTypes);
    add(world, demands, first, parts, waiting.length - waitingArrays.size);
    for (const workload of waitingArrays) add(world, demands, workload, parts, demandedTaskCount(workload));
  }
}

/**
 * Adds the workers that running gangs lack to reach their maximum. This covers gangs that request growth and gangs that
 * are nominated for some of the missing workers.
 */
function countGrowing(world: World, demands: Demands): void {
  const { queue, state } = world;
  for (const { request } of queue.growthClasses())
    if (request.grows !== null) countLacking(world, demands, request.grows, []);
  for (const { growth, attemptId, workers } of state.nominations.values())
    if (growth) countLacking(world, demands, attemptId, workers);
}

function countLacking(world: World, demands: Demands, id: AttemptId, nominated: readonly WorkerAllocation[]): void {
  const { state, rules } = world;
  const attempt = state.attempts.get(id);
  if (rules.elastic.grow === "never" || attempt === undefined || attempt.joinFailure !== undefined) return;
  if (!canResize(state, attempt)) return;
  const workload = workloadOf(world, attempt.workloadId);
  const { gang } = workload.spec;
  const has = partsOf(gang, [...attempt.workers, ...nominated]);
  const parts = wholeParts(gang).map((part, at) => ({ ...part, workers: part.workers - (has[at]?.workers ?? 0) }));
  if (!workload.stopRequested) add(world, demands, workload, parts, 1);
}

/**
 * Adds evicted work that still terminates, because the usage of its team no longer includes it. Evicted work waits
 * again when it has ended, unless it migrates. A shrunk gang will request growth, so its missing workers are added.
 */
function countTerminating(world: World, demands: Demands): void {
  const { terminating, state } = world;
  if (terminating.size === 0) return;
  const nominations = [...state.nominations.values()];
  const migrating = new Set(nominations.flatMap(({ afterAttempt }) => afterAttempt ?? []));
  const size = fullSize(world);
  for (const { id, workloadId, stop } of terminating) {
    const workload = workloadOf(world, workloadId);
    if (stop === null && !state.nominations.has(id)) countLacking(world, demands, id, []);
    if (stop !== null && !workload.stopRequested && !migrating.has(id))
      add(world, demands, workload, size(workload.spec.gang, workload.spec.acceleratorTypes), 1);
  }
}
