/**
 * Output of workers on the terminal. If each line starts with a rank or a time, only complete lines are printed, so
 * that lines of several workers are not mixed.
 */
import type { LogChunk } from "@headroom/protocol";
import type { Terminal } from "../terminal.ts";
import { TerminalText } from "./terminal-text.ts";

export interface LogStyle {
  /** Whether every line starts with the rank of its worker. */
  readonly isTagged: boolean;
  readonly json: boolean;
  /** Whether every line starts with the time at which it began (RFC 3339, UTC). */
  readonly timestamps?: boolean;
  /** Pattern of the lines to print; `null` or absent: all lines. */
  readonly grep?: RegExp | null;
  /** Whether escape sequences are printed as the workload wrote them. */
  readonly raw?: boolean;
}

/**
 * Maximum length of a line. A longer line is printed in pieces, so that a worker without line ends cannot use up
 * memory.
 */
const LINE_CHARS_MAX = 65_536;

/** Returns the number of chunks when the stream ends. */
export async function writeLogs(terminal: Terminal, chunks: AsyncIterable<LogChunk>, style: LogStyle): Promise<number> {
  let count = 0;
  const streams = new Map<string, WorkerLines>();
  for await (const chunk of chunks) {
    count += 1;
    const sink = style.json ? terminal.stdout : sinkOf(terminal, chunk.stream);
    if (style.json) sink.write(`${JSON.stringify(chunk)}\n`);
    else {
      const key = `${chunk.attemptId} ${chunk.worker} ${chunk.stream}`;
      const lines = streams.get(key) ?? new WorkerLines(chunk, style, sink.isTerminal);
      streams.set(key, lines);
      sink.write(lines.take(chunk));
    }
    await sink.drained();
  }
  for (const lines of streams.values()) sinkOf(terminal, lines.stream).write(lines.end());
  return count;
}

/** The lines that one worker wrote to one stream. */
class WorkerLines {
  readonly stream: LogChunk["stream"];
  readonly #style: LogStyle;
  readonly #rank: string;
  readonly #cleaner: TerminalText | null;
  #open = "";
  /** Time at which the incomplete line began; `null`: there is none. */
  #openAtMs: number | null = null;

  constructor({ worker, stream }: LogChunk, style: LogStyle, isTerminal: boolean) {
    this.stream = stream;
    this.#style = style;
    this.#rank = style.isTagged ? `[${worker}] ` : "";
    this.#cleaner = style.raw === true ? null : new TerminalText(isTerminal);
  }

  /** The lines that the chunk completes. If lines get no prefix, the text as it arrives. */
  take({ atMs, text }: LogChunk): string {
    const cleaned = this.#cleaner === null ? text : this.#cleaner.clean(text);
    const { isTagged, timestamps, grep } = this.#style;
    if (!isTagged && timestamps !== true && (grep ?? null) === null) return cleaned;
    if (this.#open === "") this.#openAtMs = atMs;
    const lines = (this.#open + cleaned).split("\n");
    this.#open = lines.pop() ?? "";
    if (this.#open.length > LINE_CHARS_MAX) {
      lines.push(this.#open);
      this.#open = "";
    }
    const [first, ...others] = lines;
    if (first === undefined) return "";
    const begun = this.#line(first, this.#openAtMs);
    this.#openAtMs = atMs;
    return begun + others.map((line) => this.#line(line, atMs)).join("");
  }

  /** The incomplete line at the end of the stream. */
  end(): string {
    return this.#open === "" ? "" : this.#line(this.#open, this.#openAtMs);
  }

  #line(line: string, atMs: number | null): string {
    const { timestamps, grep } = this.#style;
    if (grep !== undefined && grep !== null && !grep.test(line)) return "";
    const time = timestamps === true ? `${atMs === null ? "-".repeat(24) : new Date(atMs).toISOString()} ` : "";
    return `${time}${this.#rank}${line}\n`;
  }
}

function sinkOf(terminal: Terminal, stream: LogChunk["stream"]): Terminal["stdout"] {
  return stream === "stderr" ? terminal.stderr : terminal.stdout;
}
