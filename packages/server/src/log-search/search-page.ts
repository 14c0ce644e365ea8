/** The matches of one page, and the bounds on what it reads. */
import type { LogMatch } from "@headroom/protocol";
import type { LineMatcher } from "./line-matcher.ts";

/** Time in ms and bytes that one page reads. */
const PAGE_MS_MAX = 2_000;
const PAGE_BYTES_MAX = 64 * 1024 * 1024;
/** Characters of matches and their context. */
const PAGE_CHARS_MAX = 1_000_000;
const LINE_CHARS_SHOWN = 1_000;
/** Characters shown before the match in a line that is cut. */
const BEFORE_MATCH_CHARS = 200;

export type FoundLine = Pick<LogMatch, "worker" | "stream" | "atMs" | "text" | "before" | "after">;

interface PageOptions {
  readonly matcher: LineMatcher;
  readonly limit: number;
  readonly context: number;
}

export class SearchPage {
  readonly options: PageOptions;
  readonly #endsAtMs = performance.now() + PAGE_MS_MAX;
  #found: FoundLine[] = [];
  #count = 0;
  #chars = 0;
  bytes = 0;

  constructor(options: PageOptions) {
    this.options = options;
  }

  get isFull(): boolean {
    return this.#count >= this.options.limit || this.#chars >= PAGE_CHARS_MAX;
  }

  /** Whether nothing more is to be read. */
  get isSpent(): boolean {
    return this.isFull || this.bytes >= PAGE_BYTES_MAX || performance.now() >= this.#endsAtMs;
  }

  add(found: FoundLine): void {
    this.#found.push(found);
    this.#count++;
    // The context after the line is not there yet, and at most as long as the one before.
    this.#chars += found.text.length + 2 * found.before.reduce((sum, { length }) => sum + length, 0);
  }

  /** The matches since the last call. */
  take(): readonly FoundLine[] {
    const taken = this.#found;
    this.#found = [];
    return taken;
  }
}

/** `column`: where the match begins. */
export function shownLine(text: string, column = 0): string {
  if (text.length <= LINE_CHARS_SHOWN) return text;
  const from = Math.max(0, Math.min(column - BEFORE_MATCH_CHARS, text.length - LINE_CHARS_SHOWN));
  return text.slice(from, from + LINE_CHARS_SHOWN).toWellFormed();
}
