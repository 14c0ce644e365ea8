/** `headroom review`: the review of a quarter from the journal, the stored plan and the last review. */
import { existsSync } from "node:fs";
import { access, constants, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Quarter, Review, ReviewCost } from "@headroom/usage";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { costSource } from "../cost/cost-source.ts";
import { journalRows } from "../usage/read-journal.ts";
import { reviewLines } from "./review-text.ts";

export interface ReviewOptions {
  readonly quarter?: string;
  readonly state?: string;
  readonly prices?: readonly string[];
  readonly plan?: string;
  readonly last?: string;
  readonly json?: true;
  readonly html?: string;
}

export async function runReview(context: CommandContext, options: ReviewOptions): Promise<ExitCode> {
  const { terminal } = context;
  const usage = await import("@headroom/usage");
  const quarter = usage.quarterOf(options.quarter ?? "");
  if (quarter === null)
    throw new CliError(`--quarter: expected a quarter like 2026Q3, got ${options.quarter ?? "none"}`, exitCode.usage);
  const resolved = (file: string): string => path.resolve(terminal.workingDirectory, file);
  const home = options.state === undefined ? context.home : resolved(options.state);
  if (options.html !== undefined) await checkFolder(resolved(options.html), options.html);
  const fold = new usage.QuarterFold(quarter);
  const { rows, fold: usageFold } = await journalRows(home, 0, (event) => fold.event(event));
  for (const row of rows) fold.row(row);
  const untilMs = Math.min(quarter.toMs, usageFold.atMs);
  const { forecast } = await import("@headroom/plan");
  const review = usage.reviewQuarter({
    quarter,
    facts: fold.end(untilMs),
    cost: await costOf(context, { quarter, untilMs, options }),
    plan: await planOf(
      options.plan === undefined ? path.join(home, "plan.json") : resolved(options.plan),
      options.plan,
    ),
    forecast: (values, horizon) => forecast(values, horizon, DAY_MS),
    last: options.last === undefined ? null : await lastReview(resolved(options.last), options.last),
  });
  if (options.html !== undefined) {
    const { reviewPage } = await import("./review-page.ts");
    await writeFile(resolved(options.html), reviewPage(review));
    if (options.json !== true) context.note(`review: ${options.html}`);
  }
  if (options.json === true) context.print(JSON.stringify(review, null, 2));
  else context.print(...reviewLines(review, context));
  return exitCode.ok;
}

const DAY_MS = 86_400_000;

async function checkFolder(file: string, shown: string): Promise<void> {
  try {
    await access(path.dirname(file), constants.W_OK);
  } catch {
    throw new CliError(`--html: ${shown} cannot be written: its folder is not there or not writable`, exitCode.usage);
  }
}

interface CostQuestion {
  readonly quarter: Quarter;
  readonly untilMs: number;
  readonly options: ReviewOptions;
}

async function costOf(
  context: CommandContext,
  { quarter, untilMs, options: { state, prices } }: CostQuestion,
): Promise<ReviewCost> {
  const usage = await import("@headroom/usage");
  const source = await costSource(context, {
    ...(state === undefined ? {} : { state }),
    ...(prices === undefined ? {} : { prices }),
    rowsUntilMs: untilMs,
  });
  const range = { fromMs: quarter.fromMs, toMs: Math.max(quarter.fromMs, Math.ceil(untilMs / HOUR_MS) * HOUR_MS) };
  const byMonth = new usage.CostReport("month", []);
  const byCause = new usage.CostReport("all", ["state", "cause"]);
  const unpriced = new Map<string, bigint>();
  for (const charge of usage.billedCharges({ ...source, range }, unpriced)) {
    byMonth.add(charge);
    byCause.add(charge);
  }
  return {
    whole: byMonth.whole,
    byMonth: byMonth.totals(),
    byCause: byCause.totals(),
    unpricedPools: [...unpriced.keys()].toSorted(),
  };
}

const HOUR_MS = 3_600_000;

/** The solved plan of a file as the control plane keeps it; `null`: there is none, and none was named. */
async function planOf(file: string, named: string | undefined) {
  if (named === undefined && !existsSync(file)) return null;
  const { storedPlan } = await import("@headroom/protocol");
  const read = storedPlan.safeParse(await jsonOf(file, named ?? file));
  if (!read.success)
    throw new CliError(
      `${named ?? file} is no stored plan: expected the file plan.json of a state directory`,
      exitCode.usage,
    );
  return read.data.solved;
}

async function lastReview(file: string, shown: string): Promise<Review> {
  const value = (await jsonOf(file, shown)) as Partial<Review> | null;
  if (value?.kind !== "review" || value.version !== 1 || !Array.isArray(value.decisions))
    throw new CliError(`${shown} is no review: expected the output of headroom review --json`, exitCode.usage);
  return value as Review;
}

async function jsonOf(file: string, shown: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    const reason = error instanceof SyntaxError ? "it is no JSON" : "it cannot be read";
    throw new CliError(`${shown}: ${reason}`, exitCode.usage);
  }
}
