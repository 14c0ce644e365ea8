/** An editor may write a file in parts, and the first part of a configuration can be valid. */
const SETTLE_MS = 200;
/** A file that changes for longer is read as it is then. */
const READS_MAX = 50;

/** The text once two reads in a row agree. */
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
