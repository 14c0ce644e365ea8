/**
 * Checks that starts of requests behind the head of the queue do not delay the head's protected start (DESIGN §7.12):
 * without these starts, the head could start no earlier than it can now. Recomputed from the state after the batch, by
 * expected ends and the independent fit check, with later placements and nominations undone. Cases that the fit check
 * cannot judge, and batches with other kinds of placement, are skipped.
 */
import { rulesOf, taskOf } from "@headroom/model";
import type { Attempt, AttemptId, Event, Workload, WorkloadSpec } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Findings } from "@headroom/engine/internals";
import { specOf } from "./held-by-team.ts";
import { compareByPolicy, feasibility, requestOf } from "./recount.ts";
import { firstOfLine, reservesStarts } from "./rest.ts";

/** Kinds of event that make it unknown which requests could have started at the same time. */
const UNSETTLING: ReadonlySet<Event["kind"]> = new Set([
  "evictionPlanned",
  "gangGrown",
  "nominationWithdrawn",
  "hotSpareReleased",
  "workersReplaced",
]);

/** `known`: tasks that were already nominated before the batch. */
export function checkProtectedStarts(
  findings: Findings,
  state: ReadonlyState,
  { events, known, nowMs }: { events: readonly Event[]; known: ReadonlySet<AttemptId>; nowMs: number },
): void {
  if (!reservesStarts(state) || state.policy.whenHeadBlocked === "stop" || !canBeTold(state, events)) return;
  // A nominated request is no longer the head of the queue. So the starts before a nomination are judged by the state
  // just before this nomination.
  const since: PlacementRecord[] = [];
  let started: PlacementRecord[] = [];
  const judge = (): void => {
    if (started.length > 0) checkStarts(findings, withoutGiven(state, since, nowMs), { started, nowMs });
    since.push(...started);
    started = [];
  };
  for (const event of events.toReversed()) {
    if (event.kind === "gangPlaced" && !known.has(event.attemptId)) started.unshift(event);
    if (event.kind !== "placementNominated" || event.nomination.growth) continue;
    judge();
    since.push(event.nomination);
  }
  judge();
}

/** The placement or the nomination of a task. */
type PlacementRecord = Pick<Attempt, "workloadId" | "task"> & { readonly attemptId: AttemptId };

/** `started`: the starts to judge. The state contains no later starts or nominations. */
function checkStarts(
  findings: Findings,
  state: ReadonlyState,
  { started, nowMs }: { readonly started: readonly PlacementRecord[]; readonly nowMs: number },
): void {
  const head = firstOfLine(state, nowMs);
  if (head === null) return;
  const isBehind = ({ workloadId }: PlacementRecord): boolean => {
    const workload = state.workloads.get(workloadId);
    return workload !== undefined && workload.id !== head.id && compareByPolicy(state.policy, head, workload) < 0;
  };
  const behind = new Set(started.filter(isBehind).map(({ attemptId }) => attemptId));
  // These starts may have used up the limit of the head's team. The check applies only if the request is the head
  // without them too.
  const before = without(state, behind);
  if (behind.size === 0 || firstOfLine(before, nowMs) !== head) return;
  const alone = earliestStartMs(before, head, nowMs);
  if (alone === null) return;
  const now = earliestStartMs(state, head, nowMs);
  findings.expect(
    now !== null && now <= alone,
    () => `${[...behind].join(", ")} went past ${head.id} and delayed its start from ${alone} to ${now} ms`,
  );
}

function canBeTold({ policy, calendar, sites }: ReadonlyState, events: readonly Event[]): boolean {
  const { teams, phases } = rulesOf(policy);
  const isPlain = teams.reservedTopology === undefined && !phases.includes("rebalance") && calendar.size === 0;
  if ([...sites.values()].some(({ caps }) => caps !== undefined)) return false;
  return isPlain && !events.some(({ kind }) => UNSETTLING.has(kind));
}

/** Earliest start of the head in ms, or `null` if it does not fit even at the last expected end. */
function earliestStartMs(state: ReadonlyState, head: Workload, nowMs: number): number | null {
  const running = [...state.attempts.values()].map((attempt) => ({ attempt, endMs: endOf(state, attempt, nowMs) }));
  const instants = [...new Set([nowMs, ...running.map(({ endMs }) => endMs)])].toSorted((left, right) => left - right);
  for (const startMs of instants) {
    // Terminating work counts as ended from the next instant on.
    const there = running.filter(
      ({ attempt, endMs }) => endMs > startMs && (attempt.stop === null || startMs === nowMs),
    );
    const then = withAttempts(
      state,
      there.map(({ attempt }) => attempt),
    );
    if (feasibility(then).couldNow(requestOf(head))) return startMs;
  }
  return null;
}

/** The state in which these tasks are not placed but wait. */
function withoutGiven(state: ReadonlyState, given: readonly PlacementRecord[], nowMs: number): ReadonlyState {
  if (given.length === 0) return state;
  const ids = new Set(given.map(({ attemptId }) => attemptId));
  const workloads = new Map(state.workloads);
  for (const { workloadId, task } of given) {
    const workload = workloads.get(workloadId);
    if (workload === undefined) continue;
    const tasks = new Map(workload.tasks).set(task, { ...taskOf(workload, task), retryAtMs: nowMs });
    workloads.set(workloadId, { ...workload, tasks, waitingTasks: [...workload.waitingTasks, task] });
  }
  const nominations = new Map([...state.nominations].filter(([id]) => !ids.has(id)));
  return Object.assign(Object.create(without(state, ids)) as ReadonlyState, { workloads, nominations });
}

const without = (state: ReadonlyState, attempts: ReadonlySet<AttemptId>): ReadonlyState =>
  withAttempts(
    state,
    [...state.attempts.values()].filter(({ id }) => !attempts.has(id)),
  );

const withAttempts = (state: ReadonlyState, attempts: readonly Attempt[]): ReadonlyState =>
  Object.assign(Object.create(state) as ReadonlyState, { attempts: new Map(attempts.map((each) => [each.id, each])) });

/** Expected end of an attempt. It is after `nowMs`: work beyond its expected end may end at any moment. */
function endOf(state: ReadonlyState, attempt: Attempt, nowMs: number): number {
  const spec = specOf(state, attempt);
  return spec === undefined ? nowMs + 1 : Math.max(nowMs + 1, expectedEndMs(state, attempt, spec));
}

function expectedEndMs(
  { policy }: ReadonlyState,
  { stop, startedAtMs, placedAtMs, prediction, stagingMs = 0 }: Attempt,
  { walltimeMs, graceTimeoutMs }: WorkloadSpec,
): number {
  if (stop !== null) return (stop.checkpointUntilMs ?? stop.atMs) + graceTimeoutMs;
  const lastsMs = prediction?.durationMs ?? walltimeMs ?? rulesOf(policy).backfill.assumedWalltimeMs;
  return (startedAtMs ?? placedAtMs + stagingMs) + lastsMs;
}
