/** The attempts whose output a search reads, newest first, and positions among them. */
import { setImmediate } from "node:timers/promises";
import type { ReadonlyState } from "@headroom/engine";
import type { AttemptId, WorkerAllocation, Workload, WorkloadId } from "@headroom/model";
import { refuse } from "@headroom/protocol";
import type { LogSearchQuery } from "@headroom/protocol";
import { withTeamsAbove } from "../auth/team-tree.ts";
import type { Driver } from "../driver/driver.ts";
import type { StreamPosition } from "./line-scanner.ts";

/** Workloads in one turn of the event loop: about a millisecond. */
const WORKLOADS_A_TURN = 1_000;
/** Attempts in one search. Output is kept of the newest 2,000 ended attempts by default. */
const ATTEMPTS_MAX = 20_000;

export interface SearchedAttempt {
  readonly id: AttemptId;
  readonly workloadId: WorkloadId;
  readonly name: string;
  readonly team: string;
  readonly task: number;
  readonly number: number;
  readonly startedAtMs: number;
  readonly workers: readonly WorkerAllocation[];
}

/** A place in the output of all attempts. `stream`: 0 is stdout, 1 stderr. */
export interface SearchPosition extends StreamPosition {
  readonly startedAtMs: number;
  readonly attemptId: string;
  readonly worker: number;
  readonly stream: number;
}

type Filters = Pick<LogSearchQuery, "team" | "workload" | "sinceMs">;

/** `readable`: teams whose work the reader may see; `null`: all. A workload of another team is unknown to the reader. */
export async function searchedAttempts(
  driver: Pick<Driver, "read">,
  filters: Filters,
  readableTeams: (state: ReadonlyState) => ReadonlySet<string> | null,
): Promise<readonly SearchedAttempt[]> {
  const { team, workload } = filters;
  const ids = await driver.read(({ state }) => {
    const readable = readableTeams(state);
    const isReadable = (name: string): boolean => readable === null || readable.has(name);
    if (team !== undefined && !(state.teams.has(team as never) && isReadable(team)))
      throw refuse("unknownTeam", `There is no team ${team}.`);
    if (workload === undefined) return [...state.workloads.keys()];
    const found = state.workloads.get(workload as WorkloadId);
    if (found === undefined || !isReadable(found.spec.team))
      throw refuse("unknownWorkload", `There is no workload ${workload}; it may have ended long ago.`);
    return [found.id];
  });
  const attempts: SearchedAttempt[] = [];
  for (let from = 0; from < ids.length; from += WORKLOADS_A_TURN) {
    const portion = ids.slice(from, from + WORKLOADS_A_TURN);
    await driver.read(({ state }) => {
      const readable = readableTeams(state);
      for (const id of portion) {
        const found = state.workloads.get(id);
        if (found === undefined || (readable !== null && !readable.has(found.spec.team))) continue;
        if (team === undefined || withTeamsAbove(state, found.spec.team).includes(team as never))
          attempts.push(...attemptsOf(state, found, filters.sinceMs));
      }
    });
    if (ids.length > WORKLOADS_A_TURN) await setImmediate();
  }
  return attempts.toSorted(compare).slice(0, ATTEMPTS_MAX);
}

function attemptsOf(
  { attempts }: ReadonlyState,
  { id: workloadId, spec, activeAttempts, endedAttempts }: Workload,
  sinceMs = 0,
): readonly SearchedAttempt[] {
  const active = activeAttempts.flatMap((id) => attempts.get(id) ?? []);
  const ended = endedAttempts.filter(({ endedAtMs }) => endedAtMs >= sinceMs);
  return [...active, ...ended].flatMap(({ id, task, number, startedAtMs, workers }) =>
    startedAtMs === null
      ? []
      : [{ id, workloadId, name: spec.name, team: spec.team, task, number, startedAtMs, workers }],
  );
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
