/** Lists of workloads: filtered, in submission order, in pages whose cursors stay valid while workloads change. */
import type { Engine, ReadonlyState } from "@headroom/engine";
import type { TeamName, Workload } from "@headroom/model";
import { PAGE_ITEMS_DEFAULT } from "@headroom/protocol";
import type { Page, WorkloadQuery, WorkloadSummary } from "@headroom/protocol";
import { cursorOrdinal } from "./page-cursor.ts";
import { isReadable, type ReadableTeams } from "./readable-teams.ts";
import { submissionOrder } from "./submission-order.ts";
import { workloadSummary } from "./workload-view.ts";
import type { Reports } from "./workload-view.ts";

/**
 * Maximum number of workloads that one page examines. Matches that are rare are found over several short pages instead
 * of one long pause.
 */
const SCAN_MAX = 10_000;

type Matches = (workload: Workload) => boolean;

/** The cursor is the ordinal of the last workload read, so that newer workloads cannot shift the rest. */
export function workloadList(
  engine: Engine,
  query: WorkloadQuery,
  { reports, readable = null }: { readonly reports?: Reports; readonly readable?: ReadableTeams } = {},
): Page<WorkloadSummary> {
  const { state } = engine;
  const newestFirst = query.order !== "oldest";
  const limit = query.limit ?? PAGE_ITEMS_DEFAULT;
  const start =
    cursorOrdinal(query.cursor, { first: 1, last: state.submittedCount }) ??
    (newestFirst ? state.submittedCount + 1 : 0);
  const matches = matcher(state, query, readable);
  const items: WorkloadSummary[] = [];
  let lookedAt = 0;
  let last = start;
  for (const workload of submissionOrder(engine).beside(start, newestFirst ? "older" : "newer")) {
    if (items.length >= limit || lookedAt >= SCAN_MAX) return { items, nextCursor: String(last) };
    lookedAt++;
    last = workload.ordinal;
    if (matches(workload)) items.push(workloadSummary(state, workload, reports));
  }
  return { items, nextCursor: null };
}

/** Whether a workload matches the filter. */
export function matcher(state: ReadonlyState, query: WorkloadQuery, readable: ReadableTeams = null): Matches {
  const { phase, team, kind, name, search, actor, node, submittedFromMs, endedFromMs } = query;
  const tests: Matches[] = [];
  if (readable !== null) tests.push(({ spec }) => isReadable(readable, spec.team));
  if (actor !== undefined) tests.push((workload) => workload.actor === actor);
  if (submittedFromMs !== undefined) tests.push((workload) => workload.submittedAtMs >= submittedFromMs);
  if (node !== undefined) tests.push((workload) => wasOn(state, workload, node));
  if (phase !== undefined) {
    const phases = new Set(typeof phase === "string" ? [phase] : phase);
    tests.push((workload) => phases.has(workload.phase));
  }
  if (endedFromMs !== undefined) tests.push(({ endedAtMs }) => endedAtMs !== null && endedAtMs >= endedFromMs);
  if (kind !== undefined) tests.push((workload) => workload.spec.kind === kind);
  if (name !== undefined) tests.push((workload) => workload.spec.name === name);
  if (team !== undefined) {
    const teams = teamAndBelow(state, team);
    tests.push((workload) => teams.has(workload.spec.team));
  }
  if (search !== undefined) {
    const text = search.toLowerCase();
    tests.push(
      (workload) => workload.spec.name.toLowerCase().includes(text) || workload.id.toLowerCase().includes(text),
    );
  }
  return (workload) => tests.every((test) => test(workload));
}

function wasOn(state: ReadonlyState, { activeAttempts, endedAttempts }: Workload, node: string): boolean {
  const isThere = ({ workers }: { readonly workers: readonly { readonly node: string }[] }): boolean =>
    workers.some((worker) => worker.node === node);
  return endedAttempts.some(isThere) || activeAttempts.some((id) => isThere(state.attempts.get(id) ?? { workers: [] }));
}

function teamAndBelow(state: ReadonlyState, name: string): ReadonlySet<string> {
  const inside = new Map<string, boolean>();
  const isInside = (team: TeamName): boolean => {
    const known = inside.get(team);
    if (known !== undefined) return known;
    const parent = state.teams.get(team)?.parent ?? null;
    const answer = team === name || (parent !== null && isInside(parent));
    inside.set(team, answer);
    return answer;
  };
  return new Set([...state.teams.keys()].filter(isInside));
}
