/** Folds neighbours in the queue that wait for the same reason into one row. */
import type { QueueEntry } from "@headroom/protocol";

export interface QueueRow {
  readonly entry: QueueEntry;
  /** Position of the entry in the unfiltered list. */
  readonly index: number;
  /** Number of entries right behind this one with the same team, size and reason. */
  readonly alike: readonly QueueEntry[];
}

/** Minimum number of entries folded into one row, because folding two rows saves nothing. */
const FOLDED_MIN = 3;

export function foldedRows(
  entries: readonly { readonly entry: QueueEntry; readonly index: number }[],
  opened: ReadonlySet<string>,
): readonly QueueRow[] {
  const rows: QueueRow[] = [];
  for (let at = 0; at < entries.length;) {
    const first = entries[at];
    if (first === undefined) break;
    let end = at + 1;
    for (let next = entries[end]; next !== undefined && isAlike(first.entry, next.entry); next = entries[end]) end++;
    const isFolded = end - at >= FOLDED_MIN && !opened.has(first.entry.workload.id);
    const run = entries.slice(at, end);
    if (isFolded) rows.push({ ...first, alike: run.slice(1).map(({ entry }) => entry) });
    else rows.push(...run.map((each) => ({ ...each, alike: [] })));
    at = end;
  }
  return rows;
}

function isAlike(left: QueueEntry, right: QueueEntry): boolean {
  return (
    left.workload.team === right.workload.team &&
    left.workload.actor === right.workload.actor &&
    left.reason?.kind === right.reason?.kind &&
    left.reason?.sentence === right.reason?.sentence &&
    JSON.stringify(left.workload.gang) === JSON.stringify(right.workload.gang)
  );
}
