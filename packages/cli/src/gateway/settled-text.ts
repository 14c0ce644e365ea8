/**
 * Interval in ms between two reads of a changing file. An editor can write a file in parts, and the first part of a
 * configuration can be valid.
 */
const SETTLE_MS = 200;
/** Number of reads after which a file that still changes is used as it is. */
const READS_MAX = 50;

/** The text of the file, once two reads in a row agree. */
export async function settledText(read: () => Promise<string>, waitMs: number = SETTLE_MS): Promise<string> {
  let text = await read();
  for (let count = 1; count < READS_MAX; count++) {
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    const next = await read();
    if (next === text) return text;
    text = next;
  }
  return text;
}
