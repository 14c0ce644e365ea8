/** Past work of an executor's cluster: imported from its accounting, and what was taken in. */
import { z } from "zod";
import { count, instantMs, names, PAST_RUNS_MAX, PAST_USES_MAX } from "@headroom/spec";
import { queryBoolean } from "./page.ts";

/** A name as the cluster has it. */
const foreignName = z.string().min(1).max(256);

const foreign = {
  account: foreignName.meta({ description: "Account of Slurm, or namespace of Kubernetes." }),
  user: foreignName.meta({ description: "User of the cluster." }),
};

/** Accelerators that one user can have held at a time. */
const ACCELERATORS_MAX = 1_000_000;

const importedUse = z
  .strictObject({ ...foreign, fromMs: instantMs, toMs: instantMs, acceleratorMs: count })
  .refine(({ fromMs, toMs }) => fromMs < toMs, { message: "must end after it begins" })
  .refine(({ fromMs, toMs, acceleratorMs }) => acceleratorMs <= ACCELERATORS_MAX * (toMs - fromMs), {
    message: `must be at most ${ACCELERATORS_MAX} accelerators`,
  });

const pastRun = z.strictObject({
  ...foreign,
  name: foreignName,
  kind: z.enum(["train", "batch"]),
  accelerators: count,
  submittedAtMs: instantMs,
  tookMs: count.min(1),
  walltimeMs: count.min(1).nullable(),
});

const figures = {
  source: z.string().min(1).max(256).meta({ description: "Name of the file, for people." }),
  fromMs: instantMs.meta({ description: "First submission." }),
  toMs: instantMs.meta({ description: "Last end." }),
  jobCount: count.meta({ description: "Jobs that count." }),
  leftOutCount: count.meta({ description: "Jobs that do not: without accelerators, not ended, or without a team." }),
  unreadCount: count.meta({ description: "Lines that could not be read." }),
};

export const historyRequest = z
  .strictObject({
    ...figures,
    uses: z.array(importedUse).max(PAST_USES_MAX).meta({ description: "Accelerators that users held in periods." }),
    runs: z.array(pastRun).max(PAST_RUNS_MAX).meta({ description: "The newest jobs that ran to their end." }),
  })
  .meta({ id: "ImportedHistoryRequest" });

export const historyQuery = z.strictObject({
  dryRun: queryBoolean.optional().meta({ description: "Nothing is recorded; the answer is the same." }),
});

/** Rows of accounts without a team are shown up to this number. */
export const UNMAPPED_ACCOUNTS_MAX = 100;

export const importedTeam = z.object({
  team: z.string(),
  isDeclared: z.boolean().meta({ description: "False: no team has this name yet, so its use counts for nothing." }),
  acceleratorHours: z.number(),
  runCount: count.meta({ description: "Runs that are kept for predictions and forecasts." }),
});

export const importedHistory = z
  .object({
    executor: z.string(),
    ...figures,
    digest: z.string().meta({ description: "SHA-256 of the content." }),
    importedAtMs: instantMs.nullable().meta({ description: "null: a dry run." }),
    actor: z.string(),
    teams: z.array(importedTeam),
  })
  .meta({ id: "ImportedHistory" });

export const historyImport = z
  .object({
    action: z.enum(["imported", "replaced", "unchanged"]),
    dryRun: z.boolean(),
    history: importedHistory,
    unmapped: z
      .array(z.object({ account: z.string(), acceleratorHours: z.number() }))
      .max(UNMAPPED_ACCOUNTS_MAX)
      .meta({ description: "Accounts for which the rules of the executor name no team. Their work is left out." }),
  })
  .meta({ id: "HistoryImport" });

/** The figures of the event. Readers of some teams do not get the event. */
export const historyEvent = z.object({
  executor: names.executorId,
  source: z.string(),
  digest: z.string(),
  fromMs: instantMs,
  toMs: instantMs,
  jobCount: count,
  leftOutCount: count,
  unreadCount: count,
});

export type HistoryRequestInput = z.input<typeof historyRequest>;
export type HistoryRequest = z.output<typeof historyRequest>;
export type ImportedHistoryView = z.output<typeof importedHistory>;
export type HistoryImport = z.output<typeof historyImport>;
