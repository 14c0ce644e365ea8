/** `headroom logs search`: pages of matches until the limit is reached. */
import { setTimeout as sleep } from "node:timers/promises";
import type { LogMatch, LogMatchPage, LogNotSearched } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { isProblemError } from "../describe-error.ts";
import { limitOf, sinceOf } from "../listing-options.ts";
import { resolveWorkload } from "../resolve-workload.ts";
import { printable } from "../terminal.ts";
import { instant, plural } from "./amounts.ts";
import { csvLines } from "./csv.ts";

export interface LogSearchOptions {
  readonly regex?: boolean;
  readonly ignoreCase?: boolean;
  readonly team?: string;
  readonly workload?: string;
  readonly since?: string;
  readonly context?: string;
  readonly limit?: string;
  readonly cursor?: string;
  readonly json?: boolean;
  readonly csv?: boolean;
}

const SINCE_DEFAULT = "24h";
const CONTEXT_MAX = 10;
const PAGE_MATCHES_MAX = 200;
const NOTED_EVERY_MS = 2_000;
const NOT_SEARCHED_SHOWN = 5;
const REPEATED_MAX = 10;
const REPEATED_AFTER_MS = 1_000;

interface Searched {
  readonly items: LogMatch[];
  readonly notSearched: LogNotSearched[];
  notSearchedCount: number;
  bytes: number;
  attempts: LogMatchPage["attempts"];
  nextCursor: string | null;
}

export async function searchLogs(context: CommandContext, text: string, options: LogSearchOptions): Promise<ExitCode> {
  if (options.json === true && options.csv === true)
    throw new CliError("--json and --csv exclude each other", exitCode.usage);
  if (text.length === 0 || text.length > 200)
    throw new CliError("the text to search must have 1 to 200 characters", exitCode.usage);
  const limit = limitOf(options.limit);
  const lines = contextOf(options.context);
  const sinceMs = await sinceOf(options.since ?? SINCE_DEFAULT);
  const client = await context.connect();
  const workload = options.workload === undefined ? undefined : (await resolveWorkload(client, options.workload)).id;
  const { regex, ignoreCase, team } = options;
  const query = { text, regex, ignoreCase, team, workload, sinceMs, context: lines };
  const isText = options.json !== true && options.csv !== true;
  const found: Searched = {
    items: [],
    notSearched: [],
    notSearchedCount: 0,
    bytes: 0,
    attempts: { total: 0, done: 0 },
    nextCursor: options.cursor ?? null,
  };
  let failure: Error | null = null;
  let notedAtMs = Date.now();
  do {
    const rest = {
      cursor: found.nextCursor ?? undefined,
      limit: Math.min(limit - found.items.length, PAGE_MATCHES_MAX),
    };
    let page: LogMatchPage;
    try {
      page = await searchPage(context, () => client.searchLogs({ ...query, ...rest }));
    } catch (error) {
      // Matches of earlier requests are printed, with the cursor to go on.
      failure = error instanceof Error ? error : new Error(String(error));
      if (found.attempts.total === 0) throw failure;
      break;
    }
    if (isText) for (const match of page.items) context.print(...matchLines(match, context, lines));
    found.items.push(...page.items);
    found.notSearched.push(...page.notSearched);
    found.notSearchedCount += page.notSearchedCount;
    found.bytes += page.bytes;
    found.attempts = page.attempts;
    found.nextCursor = page.nextCursor;
    if (found.nextCursor !== null && Date.now() - notedAtMs > NOTED_EVERY_MS) {
      notedAtMs = Date.now();
      context.note(`Searched ${page.attempts.done} of ${plural(page.attempts.total, "attempt")} ...`);
    }
  } while (found.nextCursor !== null && found.items.length < limit && !context.terminal.interrupted.aborted);
  if (options.json === true) context.print(JSON.stringify(found, null, 2));
  if (options.csv === true) context.print(...csvLines(csvTitles, found.items.map(csvRow)));
  if (options.json !== true) for (const note of summary(found)) context.note(note);
  if (failure !== null) throw failure;
  return exitCode.ok;
}

/** Repeats a request that is refused because other searches run. */
async function searchPage({ terminal }: CommandContext, request: () => Promise<LogMatchPage>): Promise<LogMatchPage> {
  for (let left = REPEATED_MAX; ; left--) {
    try {
      return await request();
    } catch (error) {
      const isPassing = isProblemError(error) && error.problem.code === "overloaded";
      if (!isPassing || left === 0 || terminal.interrupted.aborted) throw error;
      await sleep(REPEATED_AFTER_MS);
    }
  }
}

function contextOf(text: string | undefined): number {
  const lines = /^\d{1,2}$/.test(text ?? "0") ? Number(text ?? "0") : -1;
  if (lines < 0 || lines > CONTEXT_MAX)
    throw new CliError(`--context must be a whole number from 0 to ${CONTEXT_MAX}, got ${text}`, exitCode.usage);
  return lines;
}

function matchLines(match: LogMatch, { paint }: CommandContext, context: number): readonly string[] {
  const { name, team, task, number, worker, stream, atMs, before, text, after } = match;
  const time = atMs === null ? "-" : instant(atMs);
  const place = `${time}  ${team}/${name} task ${task}, attempt ${number}, worker ${worker}, ${stream}`;
  const line = (each: string): string => `    ${printable(each)}`;
  const shown = context === 0 ? line(text) : `  > ${printable(text)}`;
  return [paint("dim", place), ...before.map(line), shown, ...after.map(line)];
}

const csvTitles = ["time", "team", "workload", "attempt", "task", "worker", "stream", "line"];

const csvRow = ({
  atMs,
  team,
  name,
  attemptId,
  task,
  worker,
  stream,
  text,
}: LogMatch): readonly (string | number)[] => {
  const time = atMs === null ? "" : new Date(atMs).toISOString();
  return [time, team, name, attemptId, task, worker, stream, text];
};

function summary({ items, attempts, bytes, notSearched, notSearchedCount, nextCursor }: Searched): readonly string[] {
  const mib = (bytes / 2 ** 20).toFixed(1);
  const left = notSearchedCount - Math.min(notSearched.length, NOT_SEARCHED_SHOWN);
  return [
    `${items.length === 1 ? "1 match" : `${items.length} matches`}; ${attempts.done} of ${plural(attempts.total, "attempt")} searched, ${mib} MiB read.`,
    ...notSearched
      .slice(0, NOT_SEARCHED_SHOWN)
      .map(({ name, attemptId, reason }) => `Not searched: ${name}, attempt ${attemptId}: ${printable(reason)}`),
    ...(left > 0 ? [`Not searched: ${left} more; --json names them.`] : []),
    ...(nextCursor === null ? [] : [`The search goes on with --cursor ${nextCursor}`]),
  ];
}
