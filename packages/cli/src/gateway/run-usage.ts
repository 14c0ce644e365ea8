/** `headroom gateway usage`: settles the usage files of gateways. Each record counts once. */
import path from "node:path";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { csvLines } from "./usage-csv.ts";
import { sumsOf, usageLines, usdOf } from "./usage-text.ts";

export interface UsageOptions {
  readonly ledger?: string;
  readonly period?: string;
  readonly over?: boolean;
  readonly csv?: boolean;
  readonly json?: boolean;
}

const DEFAULT_STATE = ".headroom/gateway";

export async function runUsage(
  context: CommandContext,
  folder: string | undefined,
  options: UsageOptions,
): Promise<ExitCode> {
  const { emptyLedger, gatewaysIn, readLedger, settleInto, writeLedger } = await import("@headroom/gateway");
  const { period } = options;
  if (period !== undefined && !/^\d{4}(-\d{2}(-\d{2})?)?$/.test(period))
    throw new CliError("--period takes a UTC year, month or day: 2026, 2026-11 or 2026-11-23", exitCode.usage);
  const { workingDirectory, interrupted } = context.terminal;
  const state = path.resolve(workingDirectory, folder ?? DEFAULT_STATE);
  const file = options.ledger === undefined ? undefined : path.resolve(workingDirectory, options.ledger);
  const found = asked(() => gatewaysIn(state), `${state} cannot be read`);
  if (found.length === 0)
    throw new CliError(
      `${state} has no usage files. Give the folder that \`state\` in gateway.yaml names.`,
      exitCode.usage,
    );
  let ledger = file === undefined ? emptyLedger : asked(() => readLedger(file), "the ledger cannot be read");
  let settledCount = 0;
  for (;;) {
    const before = ledger;
    const step = asked(() => settleInto(before, state, { isOver: options.over === true }), "usage cannot be settled");
    settledCount += step.settledCount;
    ledger = step.ledger;
    const isChanged = JSON.stringify(before.gateways) !== JSON.stringify(ledger.gateways);
    if (file !== undefined && isChanged) asked(() => writeLedger(file, step.ledger), "the ledger cannot be written");
    if (!step.isComplete && !interrupted.aborted) continue;
    const totals = ledger.totals.filter(({ day }) => day.startsWith(period ?? ""));
    const sums = sumsOf(totals);
    const { openCount, missingCount } = step;
    if (options.json === true) {
      const gateways = found.map(({ id }) => id);
      context.print(JSON.stringify({ gateways, settledCount, openCount, missingCount, sums, days: totals }, null, 2));
    } else if (options.csv === true) context.print(...csvLines(totals, usdOf));
    else if (sums.length === 0) context.note("No usage.");
    else context.print(...usageLines(sums, context));
    const into = file === undefined ? "read" : `settled into ${options.ledger}`;
    context.note(`${settledCount} records of ${found.length} gateways ${into}; ${openCount} streams in progress.`);
    if (missingCount > 0)
      context.note(`${missingCount} records are missing: usage files were deleted before they were settled.`);
    return step.isComplete ? exitCode.ok : exitCode.failed;
  }
}

function asked<Value>(read: () => Value, what: string): Value {
  try {
    return read();
  } catch (error) {
    throw new CliError(`${what}: ${error instanceof Error ? error.message : String(error)}`, exitCode.failed);
  }
}
