/** Lines of input files, of bounded length. */
import type { CommandContext } from "../command.ts";
import { fileChunks } from "./file-chunks.ts";

/** Bytes of a line that are kept; the rest of a longer one is dropped. */
const LINE_BYTES_MAX = 1 << 16;
const NEWLINE = 10;

export interface NumberedLine {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

/** The lines of each piece of the file, so that a reader waits once for each piece. */
export async function* fileLines(context: CommandContext, file: string): AsyncGenerator<readonly NumberedLine[]> {
  let kept: Buffer[] = [];
  let bytes = 0;
  let number = 0;
  const keep = (part: Buffer): void => {
    if (bytes < LINE_BYTES_MAX && part.length > 0) kept.push(Buffer.from(part.subarray(0, LINE_BYTES_MAX - bytes)));
    bytes += part.length;
  };
  const taken = (): NumberedLine => {
    const text = Buffer.concat(kept).toString("utf8").replace(/\r$/, "");
    kept = [];
    bytes = 0;
    number += 1;
    return { number, text };
  };
  for await (const chunk of fileChunks(context, file)) {
    const piece = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const lines: NumberedLine[] = [];
    let start = 0;
    for (;;) {
      const end = piece.indexOf(NEWLINE, start);
      keep(piece.subarray(start, end < 0 ? piece.length : end));
      if (end < 0) break;
      lines.push(taken());
      start = end + 1;
    }
    yield lines;
  }
  if (bytes > 0) yield [taken()];
}
