/** Writes the bytes of a store into a file, in the event loop. */
import type { FileHandle } from "node:fs/promises";
import { changedObject } from "./object-store.ts";
import type { ByteRange } from "./object-store.ts";

/** Writes batches of pieces to the positions of the range, and yields how many bytes each had. More than the range has is refused. */
export async function* writtenPieces(
  batches: AsyncIterable<readonly Uint8Array[]>,
  { uri, from, to }: ByteRange & { readonly uri: string },
  file: FileHandle,
): AsyncGenerator<number> {
  let at = from;
  for await (const pieces of batches) {
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
    if (at + bytes > to) throw changedObject(uri);
    await writeAll(file, pieces, at);
    at += bytes;
    yield bytes;
  }
}

async function writeAll(file: FileHandle, pieces: readonly Uint8Array[], from: number): Promise<void> {
  let at = from;
  for (let left = [...pieces]; left.length > 0;) {
    const { bytesWritten } = await file.writev(left, at);
    at += bytesWritten;
    left = after(left, bytesWritten);
  }
}

/** The pieces without their first bytes: a write may take fewer than it was given. */
function after(pieces: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let skip = bytes;
  const left: Uint8Array[] = [];
  for (const piece of pieces) {
    if (skip < piece.length) left.push(piece.subarray(skip));
    skip = Math.max(0, skip - piece.length);
  }
  return left;
}
