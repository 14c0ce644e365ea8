/**
 * Settles the usage files of gateways into one ledger file. The file holds the totals together with the position up to
 * which each gateway is settled, and it is always replaced as a whole. A reader that is killed leaves either the old
 * file or the new one, and the next run continues from there, so every record counts once.
 */
import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { makeDirectory } from "@headroom/platform";
import { z } from "zod";
import { settleUsage, usageStart, type SettleOptions, type UsageCursor } from "./reader.ts";
import type { UsageRecord } from "./record.ts";

/** Sums for one UTC day, team, key and model. Money is in nano-dollars (10⁻⁹ USD). */
export interface UsageTotal {
  readonly day: string;
  readonly team: string;
  readonly key: string;
  readonly model: string;
  readonly requests: number;
  /** Number of requests, included in `requests`, that were aborted or failed. */
  readonly aborted: number;
  readonly failed: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly nanoUsd: number;
}

export interface BillingLedger {
  readonly version: 1;
  /** Position in the usage files of each gateway, by its id. */
  readonly gateways: Readonly<Record<string, UsageCursor>>;
  readonly totals: readonly UsageTotal[];
}

/** Maximum number of records in one step. It limits memory, and the work that is repeated after a kill. */
const STEP_RECORDS_MAX = 100_000;

export interface SettleReport {
  readonly ledger: BillingLedger;
  /** False if there are more records. Then settle again with this report's ledger. */
  readonly isComplete: boolean;
  /** Number of records that this step added. */
  readonly settledCount: number;
  /** Number of streams in progress, which are settled when they end. */
  readonly openCount: number;
  /**
   * Number of sequence numbers that are missing from the files, over all gateways and runs. They were in usage files
   * that were deleted before they were settled.
   */
  readonly missingCount: number;
}

const count = z.number().int().nonnegative().safe();
const recordSchema = z.object({
  seq: count,
  id: z.string(),
  atMs: z.number(),
  team: z.string(),
  key: z.string(),
  model: z.string(),
  pool: z.string(),
  operation: z.string(),
  outcome: z.enum(["completed", "aborted", "failed", "open"]),
  status: z.number(),
  promptTokens: count,
  completionTokens: count,
  cachedTokens: count,
  isPromptEstimated: z.boolean(),
  nanoUsd: count,
});
const ledgerSchema = z.object({
  version: z.literal(1),
  gateways: z.record(
    z.string(),
    z.object({
      segment: z.string(),
      offset: count,
      seq: count,
      missingCount: count,
      open: z.record(z.string(), recordSchema),
    }),
  ),
  totals: z.array(
    z.object({
      day: z.string(),
      team: z.string(),
      key: z.string(),
      model: z.string(),
      requests: count,
      aborted: count,
      failed: count,
      promptTokens: count,
      completionTokens: count,
      cachedTokens: count,
      nanoUsd: count,
    }),
  ),
});

export const emptyLedger: BillingLedger = { version: 1, gateways: {}, totals: [] };

/** Reads the ledger file. A missing file is an empty ledger. Throws if the file is not a ledger. */
export function readLedger(file: string): BillingLedger {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return emptyLedger;
    throw error;
  }
  const parsed = ledgerSchema.safeParse(jsonOf(text));
  if (!parsed.success) throw new Error(`${file} is not a usage ledger. Move it away or name another file.`);
  return parsed.data;
}

/** Replaces the file as a whole: the new file is written and synced beside it and then renamed. */
export function writeLedger(file: string, ledger: BillingLedger): void {
  const directory = path.dirname(path.resolve(file));
  makeDirectory(directory);
  const temporary = `${path.resolve(file)}.${process.pid}.tmp`;
  const fd = openSync(temporary, "w", 0o600);
  try {
    const bytes = Buffer.from(`${JSON.stringify(ledger)}\n`);
    for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
    fsyncSync(fd);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, path.resolve(file));
  const folder = openSync(directory, "r");
  fsyncSync(folder);
  closeSync(folder);
}

/** Gateways with usage files in a state folder, by the name of their folder. */
export function gatewaysIn(stateDirectory: string): readonly { readonly id: string; readonly directory: string }[] {
  return readdirSync(stateDirectory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ id: name, directory: path.join(stateDirectory, name, "usage") }))
    .filter(({ directory }) => statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** Settles one step: adds the records after the ledger's positions, for each gateway at most `options.recordsMax`. */
export function settleInto(ledger: BillingLedger, stateDirectory: string, options: SettleOptions = {}): SettleReport {
  const totals = new Map<string, Total>(ledger.totals.map((total) => [keyOf(total), { ...total }]));
  const gateways: Record<string, UsageCursor> = { ...ledger.gateways };
  let settledCount = 0;
  let isComplete = true;
  for (const { id, directory } of gatewaysIn(stateDirectory)) {
    const before = ledger.gateways[id] ?? usageStart;
    const settled = settleUsage(directory, before, { recordsMax: STEP_RECORDS_MAX, ...options });
    const { records } = settled;
    gateways[id] = settled.cursor;
    isComplete &&= settled.isComplete;
    settledCount += records.length;
    for (const record of records) add(totals, record);
  }
  const cursors = Object.values(gateways);
  return {
    ledger: {
      version: 1,
      gateways,
      totals: [...totals].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, total]) => total),
    },
    isComplete,
    settledCount,
    openCount: cursors.reduce((sum, { open }) => sum + Object.keys(open).length, 0),
    missingCount: cursors.reduce((sum, { missingCount }) => sum + missingCount, 0),
  };
}

type Total = { -readonly [Field in keyof UsageTotal]: UsageTotal[Field] };

function keyOf({ day, team, key, model }: Pick<UsageTotal, "day" | "team" | "key" | "model">): string {
  return JSON.stringify([day, team, key, model]);
}

function add(totals: Map<string, Total>, record: UsageRecord): void {
  const { team, key, model } = record;
  const day = new Date(record.atMs).toISOString().slice(0, 10);
  const at = keyOf({ day, team, key, model });
  let total = totals.get(at);
  if (total === undefined) {
    total = {
      day,
      team,
      key,
      model,
      requests: 0,
      aborted: 0,
      failed: 0,
      promptTokens: 0,
      completionTokens: 0,
      cachedTokens: 0,
      nanoUsd: 0,
    };
    totals.set(at, total);
  }
  total.requests++;
  if (record.outcome === "aborted") total.aborted++;
  if (record.outcome === "failed") total.failed++;
  total.promptTokens += record.promptTokens;
  total.completionTokens += record.completionTokens;
  total.cachedTokens += record.cachedTokens;
  total.nanoUsd += record.nanoUsd;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
