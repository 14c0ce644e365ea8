/** Input files of commands, read in pieces, so that memory does not grow with the file. */
import { createReadStream } from "node:fs";
import path from "node:path";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { printable } from "../terminal.ts";

/** Bytes of a piece. */
const PIECE_BYTES = 1 << 20;

/** The pieces of the file, or of the standard input for `-`. */
export async function* fileChunks({ terminal }: CommandContext, file: string): AsyncGenerator<Uint8Array> {
  if (file === "-") {
    for await (const chunk of terminal.stdin)
      yield typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Uint8Array);
    return;
  }
  const stream = createReadStream(path.resolve(terminal.workingDirectory, file), { highWaterMark: PIECE_BYTES });
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch (cause) {
    throw new CliError(`${printable(file)}: ${whyUnreadable(cause)}`, exitCode.usage);
  } finally {
    stream.destroy();
  }
}

/** The whole text of a file; throws for one that is longer than `bytesMax`. */
export async function fileText(context: CommandContext, file: string, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of fileChunks(context, file)) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new CliError(`${printable(file)}: longer than ${bytesMax} bytes`, exitCode.usage);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function whyUnreadable(cause: unknown): string {
  const { code, message } = cause as { readonly code?: string; readonly message?: string };
  if (code === "ENOENT") return "there is no such file";
  return code === "EISDIR" ? "this is a directory" : `cannot be read (${code ?? message ?? "unknown error"})`;
}
