/** Prints worker output line by line, so that the rank prefix stays correct when several workers write at once. */
import type { LogChunk } from "@headroom/protocol";
import type { Terminal } from "../terminal.ts";

interface LogStyle {
  /** Prefixes every line with the rank. */
  readonly isTagged: boolean;
  readonly json: boolean;
}

/** A longer line is printed in pieces, so that output without line ends cannot fill the memory. */
const LINE_CHARS_MAX = 65_536;

/** Resolves with the number of chunks when the stream ends. */
export async function writeLogs(
  terminal: Terminal,
  chunks: AsyncIterable<LogChunk>,
  { isTagged, json }: LogStyle,
): Promise<number> {
  let count = 0;
  const pending = new Map<string, OpenLine>();
  for await (const chunk of chunks) {
    count += 1;
    const sink = json ? terminal.stdout : sinkOf(terminal, chunk.stream);
    sink.write(json ? `${JSON.stringify(chunk)}\n` : isTagged ? tagged(chunk, pending) : chunk.text);
    await sink.drained();
  }
  for (const { prefix, stream, text } of pending.values()) {
    if (text !== "") sinkOf(terminal, stream).write(`${prefix}${text}\n`);
  }
  return count;
}

interface OpenLine {
  readonly prefix: string;
  readonly stream: LogChunk["stream"];
  text: string;
}

/** The lines that the chunk completes, each with its rank; an incomplete line stays in `pending`. */
function tagged(chunk: LogChunk, pending: Map<string, OpenLine>): string {
  const key = `${chunk.attemptId} ${chunk.worker} ${chunk.stream}`;
  const line = pending.get(key) ?? { prefix: `[${chunk.worker}] `, stream: chunk.stream, text: "" };
  pending.set(key, line);
  const lines = (line.text + chunk.text).split("\n");
  line.text = lines.pop() ?? "";
  if (line.text.length > LINE_CHARS_MAX) {
    lines.push(line.text);
    line.text = "";
  }
  return lines.map((each) => `${line.prefix}${each}\n`).join("");
}

function sinkOf(terminal: Terminal, stream: LogChunk["stream"]): Terminal["stdout"] {
  return stream === "stderr" ? terminal.stderr : terminal.stdout;
}
