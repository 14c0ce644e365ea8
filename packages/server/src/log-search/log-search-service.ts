/**
 * Searches the output of attempts. A request reads for a bounded time and a bounded number of bytes, and answers with a cursor to go on,
 * so that a search of a whole history is many short requests. The output is read as `headroom logs` reads it, from the executors.
 */
import { executorOf } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import type { Executor } from "@headroom/executors";
import type { ExecutorId } from "@headroom/model";
import { refuse } from "@headroom/protocol";
import type { LogMatch, LogMatchPage, LogNotSearched, LogSearchQuery } from "@headroom/protocol";
import type { Driver } from "../driver/driver.ts";
import { messageOf } from "../executors/within.ts";
import { lineMatcher } from "./line-matcher.ts";
import { SearchPage } from "./search-page.ts";
import { cursorOf, indexAt, positionOf, searchedAttempts } from "./searched-attempts.ts";
import type { SearchedAttempt, SearchPosition } from "./searched-attempts.ts";
import { searchStream } from "./search-stream.ts";

/** Searches at the same time. Each keeps some buffers, and those with regular expressions a thread. */
const SEARCHES_MAX = 4;
const MATCHES_DEFAULT = 50;
const NOT_SEARCHED_SHOWN = 100;
const REASON_CHARS_MAX = 200;
const streams = ["stdout", "stderr"] as const;

interface LogSearchOptions {
  readonly driver: Pick<Driver, "read">;
  readonly executors: ReadonlyMap<ExecutorId, Executor>;
}

export interface LogSearch {
  readonly query: LogSearchQuery;
  /** Teams whose work the reader may see; `null`: all. */
  readableTeams(state: ReadonlyState): ReadonlySet<string> | null;
  /** Aborts when the reader has gone. */
  readonly gone: AbortSignal;
}

export class LogSearchService {
  readonly #options: LogSearchOptions;
  #count = 0;

  constructor(options: LogSearchOptions) {
    this.#options = options;
  }

  /** Rejects with the problems of the operation `searchLogs`. */
  async search({ query, readableTeams, gone }: LogSearch): Promise<LogMatchPage> {
    if (this.#count >= SEARCHES_MAX)
      throw refuse("overloaded", `${SEARCHES_MAX} searches are running; try again in a moment.`);
    this.#count++;
    const { text, regex: isRegex = false, ignoreCase = false, limit = MATCHES_DEFAULT, context = 0 } = query;
    try {
      const from = query.cursor === undefined ? null : positionOf(query.cursor);
      const matcher = lineMatcher({ text, isRegex, ignoreCase });
      try {
        const attempts = await searchedAttempts(this.#options.driver, query, readableTeams);
        const page = new SearchPage({ matcher, limit, context });
        return await this.#read(attempts, { page, from, sinceMs: query.sinceMs, gone });
      } finally {
        await matcher.close();
      }
    } finally {
      this.#count--;
    }
  }

  async #read(attempts: readonly SearchedAttempt[], reading: Reading): Promise<LogMatchPage> {
    const { page, from, gone } = reading;
    const items: LogMatch[] = [];
    const notSearched: LogNotSearched[] = [];
    let notSearchedCount = 0;
    let end: SearchPosition | null = null;
    let index = from === null ? 0 : indexAt(attempts, from);
    for (; index < attempts.length && end === null && !gone.aborted; index++) {
      const attempt = attempts[index]!;
      if (page.isSpent) {
        end = startOf(attempt);
        break;
      }
      try {
        end = await this.#searchAttempt(attempt, reading);
        items.push(...page.take().map((found) => ({ ...placeOf(attempt), ...found })));
        if (end !== null) break;
      } catch (error) {
        if (!isUnreadable(error)) throw error;
        items.push(...page.take().map((found) => ({ ...placeOf(attempt), ...found })));
        notSearchedCount++;
        const reason = reasonOf(error);
        const { id: attemptId, workloadId, name } = attempt;
        if (notSearched.length < NOT_SEARCHED_SHOWN) notSearched.push({ attemptId, workloadId, name, reason });
      }
    }
    return {
      items,
      nextCursor: end === null ? null : cursorOf(end),
      attempts: { total: attempts.length, done: index },
      bytes: page.bytes,
      notSearched,
      notSearchedCount,
    };
  }

  /** Where the search goes on within the attempt; `null`: the whole attempt is searched. */
  async #searchAttempt(
    attempt: SearchedAttempt,
    { page, from, sinceMs, gone }: Reading,
  ): Promise<SearchPosition | null> {
    const { driver, executors } = this.#options;
    const executorId = await driver.read(({ state }) => executorOf(state, attempt));
    const executor = executorId === null ? undefined : executors.get(executorId);
    if (executor === undefined) throw new Unreadable("its executor is not open");
    if (!executor.capabilities.logs) throw new Unreadable("its executor keeps no output that can be read here");
    const start = from !== null && from.attemptId === attempt.id ? from : startOf(attempt);
    for (let worker = start.worker; worker < attempt.workers.length; worker++) {
      for (const [stream, name] of streams.entries()) {
        const isFirst = worker === start.worker;
        if (isFirst && stream < start.stream) continue;
        const place = { ...startOf(attempt), worker, stream };
        if (page.isSpent) return place;
        const at =
          isFirst && stream === start.stream ? { byte: start.byte, lines: start.lines } : { byte: 0, lines: 0 };
        const left = await searchStream(
          { executor, attemptId: attempt.id, worker, stream: name, at, sinceMs },
          page,
          gone,
        );
        if (left !== null) return { ...place, ...left };
      }
    }
    return null;
  }
}

interface Reading {
  readonly page: SearchPage;
  readonly from: SearchPosition | null;
  readonly sinceMs: number | undefined;
  readonly gone: AbortSignal;
}

/** An attempt whose output cannot be read, and why. */
class Unreadable extends Error {}

const startOf = ({ startedAtMs, id: attemptId }: SearchedAttempt): SearchPosition => ({
  startedAtMs,
  attemptId,
  worker: 0,
  stream: 0,
  byte: 0,
  lines: 0,
});

const placeOf = ({ workloadId, name, team, id: attemptId, task, number }: SearchedAttempt) => ({
  workloadId,
  name,
  team,
  attemptId,
  task,
  number,
});

/** Refusals end the search; failures of an executor concern one attempt. */
const isUnreadable = (error: unknown): boolean => !(error instanceof Error && "problem" in error);

function reasonOf(error: unknown): string {
  if ((error as { code?: unknown }).code === "unknownAttempt") return "its output was removed";
  return messageOf(error).slice(0, REASON_CHARS_MAX);
}
