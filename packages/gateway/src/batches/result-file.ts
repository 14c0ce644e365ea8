/** The file with a batch's answers, one in each line, while the batch runs. */
import { open, truncate } from "node:fs/promises";
import { createInterface } from "node:readline";

/**
 * Custom ids of the lines in the file. If a kill cut off the last line, the line is removed and its request is sent
 * again.
 */
export async function answeredIn(file: string): Promise<readonly string[]> {
  const wholeBytes = await wholeLineBytes(file);
  if (wholeBytes === undefined) return [];
  await truncate(file, wholeBytes);
  const handle = await open(file, "r");
  const ids: string[] = [];
  for await (const text of createInterface({ input: handle.createReadStream() })) {
    const id = customIdOf(text);
    if (id !== undefined) ids.push(id);
  }
  return ids;
}

const BLOCK_BYTES = 262_144;

/** Number of bytes up to the last line feed, which is included. Undefined if there is no file. */
async function wholeLineBytes(file: string): Promise<number | undefined> {
  const handle = await open(file, "r").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (handle === undefined) return undefined;
  try {
    const block = Buffer.allocUnsafe(BLOCK_BYTES);
    let end = (await handle.stat()).size;
    while (end > 0) {
      const start = Math.max(0, end - BLOCK_BYTES);
      const { bytesRead } = await handle.read(block, 0, end - start, start);
      const feed = block.subarray(0, bytesRead).lastIndexOf(10);
      if (feed >= 0) return start + feed + 1;
      end = start;
    }
    return 0;
  } finally {
    await handle.close();
  }
}

function customIdOf(text: string): string | undefined {
  try {
    const row = JSON.parse(text) as { readonly custom_id?: unknown } | null;
    return typeof row?.custom_id === "string" ? row.custom_id : undefined;
  } catch {
    return undefined;
  }
}
