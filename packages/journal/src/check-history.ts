/**
 * A start folds what lies after the newest snapshot. What lies before it is read by event streams, audits and whoever folds from
 * the beginning: damage there is told at the start too, while a backup may still hold it whole.
 */
import { CHAIN_START, chainAfter } from "@headroom/engine";
import { OperationalError } from "@headroom/platform";
import { damaged, journalError } from "./journal-error.ts";
import type { RestoreSource } from "./restore.ts";

/** The newest so many events before the snapshot: reading and hashing them takes about a second. */
const CHECKED_EVENTS_MAX = 1_000_000;

export function checkHistory(
  { directory, reader }: Pick<RestoreSource, "directory" | "reader">,
  snapshotSequence: number,
  eventsMax = CHECKED_EVENTS_MAX,
): void {
  const from = Math.max(0, snapshotSequence - eventsMax);
  // Where the check does not begin at the first event, the first group that it sees only gives the chain to go on from.
  let before = from === 0 ? { sequence: 0, chain: CHAIN_START } : null;
  try {
    for (const { firstSequence, count, text, chain } of reader.groups(from, snapshotSequence)) {
      if (before !== null && firstSequence !== before.sequence + 1) {
        throw damaged(`event ${before.sequence + 1} is missing, the next one is ${firstSequence}`);
      }
      if (before !== null && chainAfter(before.chain, text) !== chain) {
        throw damaged(`what is recorded at event ${firstSequence} is not what was written there`);
      }
      before = { sequence: firstSequence + count - 1, chain };
    }
  } catch (error) {
    const { code, message } = journalError(error, "reading", directory);
    const extent = `It was readable up to event ${before?.sequence ?? from}; the snapshot at event ${snapshotSequence} is whole.`;
    throw new OperationalError(code, `${message} ${extent}`, { cause: error });
  }
}
