/** Search over the output of attempts. */
import { count, instantMs, limits, names } from "@headroom/spec";
import { z } from "zod";
import { operation } from "./operation.ts";
import { pageQuery, queryBoolean, queryInteger, type PageAnswer } from "./page.ts";

const TEXT_CHARS_MAX = 200;
/** Lines before and after a match. */
const CONTEXT_MAX = 10;
const MATCHES_MAX = 200;

const line = z.string().meta({ description: "The line, cut to 1,000 characters." });

export const logMatch = z
  .object({
    workloadId: z.string(),
    name: z.string().meta({ description: "Name of the workload." }),
    team: z.string(),
    attemptId: z.string(),
    task: count,
    number: count.meta({ description: "Number of the attempt." }),
    worker: count.meta({ description: "Rank." }),
    stream: z.enum(["stdout", "stderr"]),
    atMs: instantMs.nullable().meta({ description: "Time at which the line was written; null: unknown." }),
    text: line,
    before: z.array(line),
    after: z.array(line),
  })
  .meta({ id: "LogMatch" });

const notSearched = z
  .object({
    attemptId: z.string(),
    workloadId: z.string(),
    name: z.string(),
    reason: z.string(),
  })
  .meta({ id: "LogNotSearched" });

export const logMatchPage = z
  .object({
    items: z.array(logMatch),
    nextCursor: z
      .string()
      .nullable()
      .meta({ description: "Where the search goes on; null: it has ended. A page without matches can have one." }),
    attempts: z.object({
      total: count.meta({ description: "Attempts that match the filters." }),
      done: count.meta({ description: "Those that are searched, earlier pages included." }),
    }),
    bytes: count.meta({ description: "Bytes that this page read." }),
    notSearched: z
      .array(notSearched)
      .meta({ description: "Attempts of this page whose output cannot be read, at most 100." }),
    notSearchedCount: count,
  })
  .meta({ id: "LogMatchPage" });

export const logSearchQuery = z.strictObject({
  text: z.string().min(1).max(TEXT_CHARS_MAX).meta({ description: "Text of the line, or a regular expression." }),
  regex: queryBoolean.optional().meta({ description: "`text` is a regular expression of JavaScript, with Unicode." }),
  ignoreCase: queryBoolean.optional(),
  team: names.teamName.optional().meta({ description: "Only workloads of this team and the teams below it." }),
  workload: names.opaqueId.optional().meta({ description: "Only attempts of the workload with this id." }),
  sinceMs: queryInteger(0, 999_999_999_999_999).optional().meta({ description: "Only lines written since then." }),
  context: queryInteger(0, CONTEXT_MAX).optional().meta({ description: "Lines before and after each match." }),
  cursor: pageQuery.shape.cursor,
  limit: queryInteger(1, Math.min(MATCHES_MAX, limits.PAGE_ITEMS_MAX)).optional(),
});

export const logSearchOperations = {
  searchLogs: operation(
    "GET /v1/logs/search",
    "Lines of the output of attempts, newest attempts first; each page reads for two seconds at most",
    logMatchPage,
    {
      permission: "workloads.read",
      subject: "teams",
      query: logSearchQuery,
      problems: ["unknownWorkload", "unknownTeam", "invalidCursor", "overloaded", "tookTooLong", "closing"],
    },
  ),
};

export type LogMatch = z.output<typeof logMatch>;
export type LogMatchPage = PageAnswer<z.output<typeof logMatchPage>>;
export type LogSearchQuery = z.output<typeof logSearchQuery>;
export type LogNotSearched = z.output<typeof notSearched>;
