/**
 * Checks groups before the newest snapshot. A start folds only the groups after the snapshot, but event streams, audits
 * and full replays read earlier groups too. The start checks these groups, so that damage is reported while a backup
 * can still have them intact.
 */
import { CHAIN_START, chainAfter } from "@headroom/model";
import { OperationalError } from "@headroom/platform";
import { damaged, journalError } from "./journal-error.ts";
import type { RestoreSource } from "./restore.ts";

/** Number of events before the snapshot that are checked. Reading and hashing them takes about a second. */
const CHECKED_EVENTS_MAX = 1_000_000;

export function checkHistory(
  { directory, reader }: Pick<RestoreSource, "directory" | "reader">,
  snapshotSequence: number,
  eventsMax = CHECKED_EVENTS_MAX,
): void {
  const from = Math.max(0, snapshotSequence - eventsMax);
  // If the check does not begin at the first event, the first group only provides the chain value to continue from.
  let before = from === 0 ? { sequence: 0, chain: CHAIN_START } : null;
  try {
    for (const { firstSequence, count, text, chain } of reader.groups(from, snapshotSequence)) {
      if (before !== null && firstSequence !== before.sequence + 1) {
        throw damaged(`event ${before.sequence + 1} is missing; the next one is ${firstSequence}`);
      }
      if (before !== null && chainAfter(before.chain, text) !== chain) {
        throw damaged(`the record of event ${firstSequence} is not the one that was written`);
      }
      before = { sequence: firstSequence + count - 1, chain };
    }
  } catch (error) {
    const { code, message } = journalError(error, "reading", directory);
    const extent = `The journal was readable up to event ${before?.sequence ?? from}; the snapshot at event ${snapshotSequence} is intact.`;
    throw new OperationalError(code, `${message} ${extent}`, { cause: error });
  }
}
