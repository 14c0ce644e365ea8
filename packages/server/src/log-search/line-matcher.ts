/**
 * Finds lines that match. Regular expressions run on a thread with a time limit: a line of a workload can make a simple expression take
 * years, and nothing else ends it.
 */
import { ThreadCalls } from "@headroom/platform";
import { refuse } from "@headroom/protocol";
import { messageOf } from "../executors/within.ts";

/** Longest time in ms for one batch of lines. A harmless expression takes some milliseconds. */
const BATCH_MS_MAX = 2_000;
const HEAP_MIB_MAX = 64;

export interface MatchThreadData {
  readonly source: string;
  readonly flags: string;
}

export interface LineMatcher {
  /** Resolves when `match` can be called. */
  ready(): Promise<void>;
  /** The column of the first match in each line; -1: none. */
  match(lines: readonly string[]): Promise<readonly number[]>;
  close(): Promise<void>;
}

interface MatchedText {
  readonly text: string;
  readonly isRegex: boolean;
  readonly ignoreCase: boolean;
}

/** Refuses an expression that is not valid. */
export function lineMatcher({ text, isRegex, ignoreCase }: MatchedText): LineMatcher {
  if (isRegex) return new RegexMatcher({ source: text, flags: ignoreCase ? "ui" : "u" });
  const wanted = ignoreCase ? text.toLowerCase() : text;
  const columnIn = (line: string): number => (ignoreCase ? line.toLowerCase() : line).indexOf(wanted);
  return { ready: async () => undefined, match: async (lines) => lines.map(columnIn), close: async () => undefined };
}

class RegexMatcher implements LineMatcher {
  readonly #thread: ThreadCalls<readonly string[], readonly number[]>;
  readonly #started: Promise<unknown>;

  constructor(data: MatchThreadData) {
    try {
      new RegExp(data.source, data.flags);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      throw refuse("invalidRequest", message, { errors: [{ pointer: "?text", message }] });
    }
    this.#thread = new ThreadCalls(new URL("./match-thread.ts", import.meta.url), data, HEAP_MIB_MAX);
    // The start of a thread takes long on a busy machine, and is no time of the expression.
    this.#started = this.#thread.first();
    this.#started.catch(() => undefined);
  }

  async ready(): Promise<void> {
    try {
      await this.#started;
    } catch (error) {
      throw refuse("overloaded", `The thread of the search did not start: ${messageOf(error)}`);
    }
  }

  async match(lines: readonly string[]): Promise<readonly number[]> {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      void this.#thread.terminate();
    }, BATCH_MS_MAX);
    try {
      return await this.#thread.call(lines);
    } catch (error) {
      const needs = isLate ? `more than ${BATCH_MS_MAX / 1_000} s` : `too much memory (${messageOf(error)})`;
      throw refuse(
        "tookTooLong",
        `The regular expression takes ${needs} for ${lines.length} lines. Simplify it: avoid repetitions inside repetitions.`,
      );
    } finally {
      clearTimeout(timer);
    }
  }

  close(): Promise<void> {
    return this.#thread.terminate();
  }
}
