/**
 * Checks that a plan evicts no more than needed (DESIGN §7.7): if one victim stayed, or if a shrunk gang kept one more
 * worker or slice, the preemptor would not fit. The check uses the state after the batch and the independent fit check.
 * It is skipped where the fit check is not exact: fabric placement, spreading, task groups, reserved topology, windows,
 * other terminating work.
 */
import { canDo, withAncestors } from "@headroom/engine/internals";
import type { Findings } from "@headroom/engine/internals";
import { rulesOf } from "@headroom/model";
import type { Attempt, AttemptId, Event, WorkloadSpec } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { specOf } from "./held-by-team.ts";
import { feasibility, requestOf } from "./recount.ts";
import { waivedInvariants } from "./waived-invariants.ts";

type Planned = Event & { readonly kind: "evictionPlanned" };

export function checkMinimal(findings: Findings, state: ReadonlyState, events: readonly Event[]): void {
  const [plan, ...others] = events.filter((event): event is Planned => event.kind === "evictionPlanned");
  if (plan === undefined || others.length > 0 || plan.reason === "migrated") return;
  const { teams, phases } = rulesOf(state.policy);
  if (waivedInvariants(state.policy).has(7) || phases.includes("rebalance") || teams.reservedTopology !== undefined)
    return;
  const taken = takenBy(plan, events);
  const preemptor = state.workloads.get(plan.workloadId);
  if (taken === null || preemptor === undefined || !canBeTold(state, plan, preemptor.spec)) return;
  for (const victim of plan.victims) {
    const without = beforePlan(state, { plan, taken, staying: victim.attemptId });
    if (without === null) continue;
    findings.expect(
      !feasibility(without).couldNow(requestOf(preemptor)),
      () => `${victim.attemptId} was taken for ${plan.workloadId}, which fits beside it`,
    );
  }
}

/**
 * Id of the attempt that the plan's preemptor started: the only start in the batch after the plan. `null` if there were
 * several starts, or the preemptor grew.
 */
function takenBy(plan: Planned, events: readonly Event[]): AttemptId | null {
  const given = events.slice(events.indexOf(plan)).flatMap((event) => {
    if (event.kind === "gangGrown") return [{ id: event.attemptId, of: null }];
    if (event.kind === "gangPlaced") return [{ id: event.attemptId, of: event.workloadId }];
    if (event.kind === "placementNominated")
      return [{ id: event.nomination.attemptId, of: event.nomination.growth ? null : event.nomination.workloadId }];
    return [];
  });
  const [only, second] = given;
  return only !== undefined && second === undefined && only.of === plan.workloadId ? only.id : null;
}

function canBeTold(state: ReadonlyState, { victims }: Planned, { team, fabric, spread, gang }: WorkloadSpec): boolean {
  if (fabric !== undefined || spread !== undefined || gang.taskGroups !== undefined || state.calendar.size > 0)
    return false;
  if ([...state.sites.values()].some(({ caps }) => caps !== undefined)) return false;
  // With borrowing, the fit also depends on the team shares.
  if (victims.some(({ ground }) => ground !== undefined)) return false;
  // If a victim belongs to the preemptor's team or to a team below it, Volcano's search may evict more than needed,
  // until no other team could reclaim the capacity.
  const isFewest = rulesOf(state.policy).eviction.search === "volcano";
  if (isFewest && victims.some((victim) => withAncestors(state, victim.team).includes(team))) return false;
  const planned = new Set(victims.map(({ attemptId }) => attemptId));
  return [...state.attempts.values()].every(
    ({ id, stop, terminating }) => planned.has(id) || (stop === null && terminating === undefined),
  );
}

interface Staying {
  readonly plan: Planned;
  readonly taken: AttemptId;
  readonly staying: AttemptId;
}

/**
 * The state before the preemptor started, in which one victim keeps more workers than under the plan. `null` if a
 * victim has ended.
 */
function beforePlan(state: ReadonlyState, { plan, taken, staying }: Staying): ReadonlyState | null {
  const attempts = new Map(state.attempts);
  attempts.delete(taken);
  for (const { attemptId, keeps } of plan.victims) {
    const attempt = attempts.get(attemptId);
    if (attempt === undefined || isInGroups(state, attempt)) return null;
    attempts.delete(attemptId);
    if (attemptId === staying) attempts.set(attemptId, withOneMore(state, attempt, keeps));
    else if (keeps > 0) attempts.set(attemptId, withoutTerminating(attempt));
  }
  const nominations = new Map(state.nominations);
  nominations.delete(taken);
  return Object.assign(Object.create(state) as ReadonlyState, { attempts, nominations });
}

const isInGroups = (state: ReadonlyState, attempt: Attempt): boolean =>
  specOf(state, attempt)?.gang.taskGroups !== undefined;

function withoutTerminating({ terminating: _terminating, ...attempt }: Attempt): Attempt {
  return attempt;
}

/**
 * The attempt of a victim with more workers than under the plan. A shrunk gang keeps one more worker or slice. An
 * evicted gang keeps its minimum if it could have shrunk, otherwise all workers.
 */
function withOneMore(state: ReadonlyState, attempt: Attempt, keeps: number): Attempt {
  const staying = withoutTerminating(attempt);
  const { fabric } = specOf(state, attempt) ?? {};
  const together = fabric?.slices?.[0]?.workers ?? 1;
  if (keeps > 0)
    return { ...staying, workers: [...attempt.workers, ...(attempt.terminating ?? []).slice(0, together)] };
  const workers = couldShrink(state, attempt)
    ? attempt.workers.slice(0, specOf(state, attempt)?.gang.minWorkers)
    : attempt.workers;
  return { ...staying, stop: null, workers };
}

/** Whether plans may evict single workers of the attempt, and the attempt's executor supports this. */
function couldShrink(state: ReadonlyState, { workers }: Attempt): boolean {
  const node = workers[0] === undefined ? undefined : state.nodes.get(workers[0].node);
  const executor = node === undefined ? undefined : state.pools.get(node.pool)?.executor;
  const { singleWorkers } = rulesOf(state.policy).eviction;
  return singleWorkers && executor !== undefined && canDo(state, executor, "resize");
}
