/** The attempts whose output a search reads, newest first, and positions among them. */
import { setImmediate } from "node:timers/promises";
import { executorOf } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import type { Executor } from "@headroom/executors";
import type { AttemptId, ExecutorId, TeamName, WorkerAllocation, Workload, WorkloadId } from "@headroom/model";
import { refuse } from "@headroom/protocol";
import type { LogSearchQuery } from "@headroom/protocol";
import { withTeamsAbove } from "../auth/team-tree.ts";
import type { Driver } from "../driver/driver.ts";
import type { StreamPosition } from "./line-scanner.ts";

/** Workloads in one turn of the event loop, each with up to 16 ended attempts: about a millisecond. */
const WORKLOADS_A_TURN = 100;
/** Attempts without output that are named. */
const REMOVED_SHOWN = 100;

export interface SearchedAttempt {
  readonly id: AttemptId;
  readonly workloadId: WorkloadId;
  readonly name: string;
  readonly team: string;
  readonly task: number;
  readonly number: number;
  readonly startedAtMs: number;
  readonly workers: readonly WorkerAllocation[];
  /** `null`: this control plane does not run the executor. */
  readonly executor: SearchedExecutor | null;
}

export type SearchedExecutor = Pick<Executor, "capabilities" | "keepsOutput" | "logs">;

/** Attempts in the order of the search. */
export interface SearchedAttempts {
  readonly attempts: readonly SearchedAttempt[];
  /** Ended attempts whose output was removed: the first ones, and their number. */
  readonly removed: readonly SearchedAttempt[];
  readonly removedCount: number;
}

/** A place in the output of all attempts. `stream`: 0 is stdout, 1 stderr. */
export interface SearchPosition extends StreamPosition {
  readonly startedAtMs: number;
  readonly attemptId: string;
  readonly worker: number;
  readonly stream: number;
}

type Executors = ReadonlyMap<ExecutorId, SearchedExecutor>;
type Filters = Pick<LogSearchQuery, "team" | "workload" | "sinceMs">;

/**
 * Running attempts, and the ended ones whose output is kept, which the rules of retention bound. A workload of a team that the reader
 * may not see is unknown to the reader.
 */
export async function searchedAttempts(
  { driver, executors }: { readonly driver: Pick<Driver, "read">; readonly executors: Executors },
  filters: Filters,
  readableTeams: (state: ReadonlyState) => ReadonlySet<string> | null,
): Promise<SearchedAttempts> {
  const { team } = filters;
  const ids = await driver.read(({ state }) => chosenWorkloads(state, filters, readableTeams(state)));
  const attempts: SearchedAttempt[] = [];
  const removed: SearchedAttempt[] = [];
  let removedCount = 0;
  for (let from = 0; from < ids.length; from += WORKLOADS_A_TURN) {
    await driver.read(({ state }) => {
      const readable = readableTeams(state);
      for (const id of ids.slice(from, from + WORKLOADS_A_TURN)) {
        const found = state.workloads.get(id);
        if (found === undefined || (readable !== null && !readable.has(found.spec.team))) continue;
        if (team !== undefined && !withTeamsAbove(state, found.spec.team).includes(team as TeamName)) continue;
        for (const each of attemptsOf(state, found, { executors, sinceMs: filters.sinceMs ?? 0 })) {
          if (state.attempts.has(each.id) || each.executor?.keepsOutput?.(each.id) !== false) attempts.push(each);
          else if (++removedCount <= REMOVED_SHOWN) removed.push(each);
        }
      }
    });
    await setImmediate();
  }
  return { attempts: attempts.toSorted(compare), removed, removedCount };
}

function chosenWorkloads(
  { teams, workloads }: ReadonlyState,
  { team, workload }: Filters,
  readable: ReadonlySet<string> | null,
): readonly WorkloadId[] {
  const isReadable = (name: string): boolean => readable === null || readable.has(name);
  if (team !== undefined && !(teams.has(team as TeamName) && isReadable(team)))
    throw refuse("unknownTeam", `There is no team ${team}.`);
  if (workload === undefined) return [...workloads.keys()];
  const found = workloads.get(workload as WorkloadId);
  if (found === undefined || !isReadable(found.spec.team))
    throw refuse("unknownWorkload", `There is no workload ${workload}; it may have ended long ago.`);
  return [found.id];
}

function attemptsOf(
  state: ReadonlyState,
  { id: workloadId, spec, activeAttempts, endedAttempts }: Workload,
  { executors, sinceMs }: { readonly executors: Executors; readonly sinceMs: number },
): readonly SearchedAttempt[] {
  const active = activeAttempts.flatMap((id) => state.attempts.get(id) ?? []);
  const ended = endedAttempts.filter(({ endedAtMs }) => endedAtMs >= sinceMs);
  const { name, team } = spec;
  return [...active, ...ended].flatMap(({ id, task, number, startedAtMs, workers }) => {
    if (startedAtMs === null) return [];
    const executorId = executorOf(state, { workers });
    const executor = executorId === null ? null : (executors.get(executorId) ?? null);
    return [{ id, workloadId, name, team, task, number, startedAtMs, workers, executor }];
  });
}

type Order = Pick<SearchedAttempt, "startedAtMs" | "id">;

const compare = (left: Order, right: Order): number =>
  right.startedAtMs - left.startedAtMs || (left.id < right.id ? -1 : left.id > right.id ? 1 : 0);

/** Index of the attempt at which a position lies, or of the next one if that attempt is there no more. */
export function indexAt(attempts: readonly Order[], { startedAtMs, attemptId }: SearchPosition): number {
  const index = attempts.findIndex((each) => compare(each, { startedAtMs, id: attemptId as AttemptId }) >= 0);
  return index === -1 ? attempts.length : index;
}

const KEYS = ["startedAtMs", "attemptId", "worker", "stream", "byte", "lines"] as const;

export function cursorOf(position: SearchPosition): string {
  return Buffer.from(JSON.stringify(KEYS.map((key) => position[key]))).toString("base64url");
}

/** Refuses a text that no search has made. */
export function positionOf(cursor: string): SearchPosition {
  let values: unknown = null;
  try {
    values = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch {
    // Not a cursor.
  }
  if (Array.isArray(values) && values.length === KEYS.length) {
    const [startedAtMs, attemptId, worker, stream, byte, lines] = values as unknown[];
    if (
      typeof attemptId === "string" &&
      [startedAtMs, worker, stream, byte, lines].every((value) => Number.isSafeInteger(value) && Number(value) >= 0)
    )
      return {
        attemptId,
        startedAtMs: Number(startedAtMs),
        worker: Number(worker),
        stream: Number(stream),
        byte: Number(byte),
        lines: Number(lines),
      };
  }
  throw refuse("invalidCursor", "The cursor is not the nextCursor of a search.");
}
