/** Searches one stream of one worker. */
import { setImmediate } from "node:timers/promises";
import type { Executor, LogStream } from "@headroom/executors";
import type { AttemptId } from "@headroom/model";
import { LineScanner } from "./line-scanner.ts";
import type { ScannedLine, StreamPosition } from "./line-scanner.ts";
import { shownLine } from "./search-page.ts";
import type { FoundLine, SearchPage } from "./search-page.ts";

/** Lines and characters that are matched together. */
const BATCH_LINES = 2_000;
const BATCH_CHARS = 256 * 1024;

interface SearchedStream {
  readonly executor: Pick<Executor, "logs">;
  readonly attemptId: AttemptId;
  readonly worker: number;
  readonly stream: LogStream;
  readonly at: StreamPosition;
  readonly sinceMs: number | undefined;
}

/** Where the page ended in the stream; `null`: the stream is searched to its end. */
export async function searchStream(
  source: SearchedStream,
  page: SearchPage,
  gone: AbortSignal,
): Promise<StreamPosition | null> {
  const { worker, stream } = source;
  const { matcher, context } = page.options;
  const before: string[] = [];
  /** Matches that lack lines after them. */
  let open: (FoundLine & { readonly after: string[] })[] = [];
  let end: StreamPosition | null = null;
  for await (const lines of batches(source, page, gone)) {
    const columns = end === null ? await matcher.match(lines.map(({ text }) => text)) : [];
    for (const [index, { text, atMs, next }] of lines.entries()) {
      for (const each of open) each.after.push(shownLine(text));
      open = open.filter(({ after }) => after.length < context);
      const column = columns[index] ?? -1;
      if (column >= 0 && end === null) {
        const found = { worker, stream, atMs, text: shownLine(text, column), before: [...before], after: [] };
        page.add(found);
        if (context > 0) open.push(found);
        if (page.isFull) end = next;
      }
      if (end !== null && open.length === 0) return end;
      if (context > 0 && before.push(shownLine(text)) > context) before.shift();
    }
    const last = lines.at(-1);
    // Matches at the end of a page get the lines after them, which the next page would not show.
    if (end === null && last !== undefined && page.isSpent) end = last.next;
    if (end !== null && open.length === 0) return end;
  }
  return end;
}

async function* batches(
  { executor, attemptId, worker, stream, at, sinceMs }: SearchedStream,
  page: SearchPage,
  gone: AbortSignal,
): AsyncGenerator<readonly ScannedLine[]> {
  const scanner = new LineScanner(at);
  const start = { kind: "byte", offset: at.byte } as const;
  let lines: ScannedLine[] = [];
  let chars = 0;
  for await (const chunk of executor.logs(attemptId, { worker, stream, start, sinceMs, follow: false }, gone)) {
    page.bytes += chunk.toByte - chunk.fromByte;
    lines.push(...scanner.push(chunk));
    chars += chunk.text.length;
    if (lines.length < BATCH_LINES && chars < BATCH_CHARS) continue;
    yield lines;
    lines = [];
    chars = 0;
    await setImmediate();
  }
  lines.push(...scanner.end());
  if (lines.length > 0) yield lines;
}
