/**
 * Searches the output of attempts. A request reads for a bounded time and a bounded number of bytes, and answers with a cursor to go on,
 * so that a search of a whole history is many short requests. The output is read as `headroom logs` reads it, from the executors.
 */
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
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
import type { SearchedAttempt, SearchedAttempts, SearchPosition } from "./searched-attempts.ts";
import { searchStream } from "./search-stream.ts";

/** Searches at the same time, of all and of one user. Each keeps some buffers, and those with regular expressions a thread. */
const SEARCHES_MAX = 4;
const OF_ONE_USER_MAX = 2;
/** Time in ms for which a search waits until another one has ended. */
const WAITS_MS_MAX = 2_000;
const WAIT_MS = 50;
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
  readonly actor: string;
  /** Teams whose work the reader may see; `null`: all. */
  readableTeams(state: ReadonlyState): ReadonlySet<string> | null;
  /** Aborts when the reader has gone. */
  readonly gone: AbortSignal;
}

export class LogSearchService {
  readonly #options: LogSearchOptions;
  /** Users of the searches that run, one entry for each search. */
  readonly #running: string[] = [];

  constructor(options: LogSearchOptions) {
    this.#options = options;
  }

  /** Rejects with the problems of the operation `searchLogs`. */
  async search({ query, actor, readableTeams, gone }: LogSearch): Promise<LogMatchPage> {
    await this.#turnOf(actor, gone);
    const { text, regex: isRegex = false, ignoreCase = false, limit = MATCHES_DEFAULT, context = 0 } = query;
    try {
      const from = query.cursor === undefined ? null : positionOf(query.cursor);
      const matcher = lineMatcher({ text, isRegex, ignoreCase });
      try {
        const searched = await searchedAttempts(this.#options, query, readableTeams);
        await matcher.ready();
        const page = new SearchPage({ matcher, limit, context });
        return await this.#read(searched, { page, from, sinceMs: query.sinceMs, gone });
      } finally {
        await matcher.close();
      }
    } finally {
      this.#running.splice(this.#running.indexOf(actor), 1);
    }
  }

  /** Waits for a place among the searches, and takes it. */
  async #turnOf(actor: string, gone: AbortSignal): Promise<void> {
    const isFull = (): boolean =>
      this.#running.length >= SEARCHES_MAX || this.#running.filter((each) => each === actor).length >= OF_ONE_USER_MAX;
    for (let waitedMs = 0; isFull(); waitedMs += WAIT_MS) {
      if (gone.aborted || waitedMs >= WAITS_MS_MAX)
        throw refuse("overloaded", `${this.#running.length} searches are running; try again in a moment.`);
      await sleep(WAIT_MS);
    }
    this.#running.push(actor);
  }

  async #read({ attempts, removed, removedCount }: SearchedAttempts, reading: Reading): Promise<LogMatchPage> {
    const { page, from, gone } = reading;
    const items: LogMatch[] = [];
    // The first page names what is not there any more.
    const notSearched: LogNotSearched[] =
      from === null ? removed.map((each) => unsearched(each, "its output was removed")) : [];
    let notSearchedCount = from === null ? removedCount : 0;
    let end: SearchPosition | null = null;
    let index = from === null ? 0 : indexAt(attempts, from);
    for (; index < attempts.length && !gone.aborted; index++) {
      const attempt = attempts[index]!;
      try {
        end = page.isSpent ? startOf(attempt) : await this.#searchAttempt(attempt, reading);
      } catch (error) {
        if (!isUnreadable(error)) throw error;
        notSearchedCount++;
        if (notSearched.length < NOT_SEARCHED_SHOWN) notSearched.push(unsearched(attempt, reasonOf(error)));
      }
      items.push(...page.take().map((found) => ({ ...placeOf(attempt), ...found })));
      if (end !== null) break;
      // Attempts without output are read from memory, and must not keep the event loop.
      await setImmediate();
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
    const { id: attemptId, executor, workers } = attempt;
    if (executor === null) throw new Unreadable("its executor is not open");
    if (!executor.capabilities.logs) throw new Unreadable("its executor keeps no output that can be read here");
    const start = from !== null && from.attemptId === attemptId ? from : startOf(attempt);
    for (let worker = start.worker; worker < workers.length; worker++) {
      for (const [stream, name] of streams.entries()) {
        const isFirst = worker === start.worker;
        if (isFirst && stream < start.stream) continue;
        const place = { ...startOf(attempt), worker, stream };
        if (page.isSpent) return place;
        const at =
          isFirst && stream === start.stream ? { byte: start.byte, lines: start.lines } : { byte: 0, lines: 0 };
        const left = await searchStream({ executor, attemptId, worker, stream: name, at, sinceMs }, page, gone);
        if (left !== null) return { ...place, ...left };
        await setImmediate();
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

const unsearched = ({ id: attemptId, workloadId, name }: SearchedAttempt, reason: string): LogNotSearched => ({
  attemptId,
  workloadId,
  name,
  reason,
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
