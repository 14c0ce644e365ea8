/**
 * Parts of a gang whose nodes each have a supervisor. A part has the directories of an attempt, with the name of the attempt and
 * its number; its workers count from 0 there. The attempt's own records hold what concerns the whole gang.
 */
import type { WorkerExit } from "@headroom/model";
import type { WorkerUsage } from "../executor.ts";
import type { AttemptKey } from "./attempt-files.ts";
import type { ExitRecord, GangPart, LaunchRecord } from "./attempt-records.ts";
import { AttemptFiles } from "./attempt-files.ts";

/** The records of a part. They have the secret of the attempt; a comma is in no attempt's name (`attempt-names.ts`). */
export const partFiles = (key: AttemptKey, part: number): AttemptFiles =>
  new AttemptFiles({ ...key, name: `${key.name},${part}` });

export const partsOf = ({ parts, environments }: LaunchRecord): readonly GangPart[] =>
  parts ?? [{ node: "", ranks: environments.map((_, rank) => rank) }];

/** The usage of a part's workers, by rank of the gang. */
export const usageByRank = ({ ranks }: GangPart, usage: readonly WorkerUsage[]): readonly WorkerUsage[] =>
  usage.flatMap((each) => {
    const rank = ranks[each.worker];
    return rank === undefined ? [] : [{ ...each, worker: rank }];
  });

/**
 * The end of a gang from the ends of its parts. The part whose worker failed first comes first, then the parts in the order of
 * their ends. `null` as an end: the supervisor of the part left no record.
 */
export function gangEnd(
  launch: LaunchRecord,
  ends: readonly (ExitRecord | null)[],
  failedPart: number | null,
): ExitRecord {
  const parts = partsOf(launch);
  const exited: { readonly part: number; readonly end: Extract<ExitRecord, { kind: "exited" }> }[] = [];
  for (const [part, { node }] of parts.entries()) {
    const end = ends[part] ?? null;
    if (end === null) return lostEnd(`The supervisor on node ${node} left no record of the end of its workers.`);
    if (end.kind === "lost") return end;
    exited.push({ part, end });
  }
  const order = exited.toSorted(
    (a, b) => Number(b.part === failedPart) - Number(a.part === failedPart) || a.end.endedAtMs - b.end.endedAtMs,
  );
  return {
    kind: "exited",
    startedAtMs: Math.min(...exited.map(({ end }) => end.startedAtMs)),
    endedAtMs: Math.max(...exited.map(({ end }) => end.endedAtMs)),
    exits: order.flatMap(({ part, end }) => exitsByRank(parts[part], end.exits)),
    usage: exited
      .flatMap(({ part, end }) => usageByRank(parts[part] ?? { node: "", ranks: [] }, end.usage))
      .toSorted((a, b) => a.worker - b.worker),
  };
}

const exitsByRank = (part: GangPart | undefined, exits: readonly WorkerExit[]): readonly WorkerExit[] =>
  exits.flatMap((exit) => {
    const rank = part?.ranks[exit.worker];
    return rank === undefined ? [] : [{ ...exit, worker: rank }];
  });

export const lostEnd = (detail: string): ExitRecord => ({ kind: "lost", endedAtMs: Date.now(), detail });
