/** `headroom price check`: the defects of a feed, and the prices that can be trusted. */
import type { FeedVerdict } from "@headroom/usage";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { plural } from "../output/amounts.ts";
import { tableLines } from "../output/table.ts";
import { duration } from "../simulate/amount-options.ts";
import { readFeed } from "./read-feed.ts";

export interface PriceCheckOptions {
  readonly staleAfter?: string;
  readonly now?: string;
  readonly json?: true;
}

/** Prices of a feed that is read daily are a month old at most. */
const STALE_AFTER = "30d";

export async function checkedFeed(
  context: CommandContext,
  file: string,
  { staleAfter, now }: PriceCheckOptions,
): Promise<readonly FeedVerdict[]> {
  const { checkFeed } = await import("@headroom/usage");
  const nowMs = now === undefined ? null : Date.parse(now);
  if (Number.isNaN(nowMs))
    throw new CliError(`--now: expected an instant like 2026-11-01T00:00Z, got ${now}`, exitCode.usage);
  return checkFeed(await readFeed(context, file), {
    staleAfterMs: duration(staleAfter ?? STALE_AFTER, "--stale-after"),
    nowMs,
  });
}

export async function runPriceCheck(
  context: CommandContext,
  file: string,
  options: PriceCheckOptions,
): Promise<ExitCode> {
  const verdicts = await checkedFeed(context, file, options);
  const bad = verdicts.filter(({ defects }) => defects.length > 0);
  if (options.json === true) context.print(JSON.stringify(answerOf(verdicts), null, 2));
  else {
    context.print(`${plural(verdicts.length, "row")}, ${bad.length} with a defect. A price with a defect is unpriced.`);
    const columns = [
      { title: "LINE", align: "right" as const },
      { title: "OFFER", minWidth: 12 },
      { title: "DEFECT" },
      { title: "FIELDS" },
      { title: "FOUND", minWidth: 20 },
    ];
    const rows = bad.flatMap(({ row, defects }) =>
      defects.map((defect) => [
        String(row.line),
        [row.provider, row.instance, row.region].filter((part) => part !== "").join(" "),
        defect.class,
        defect.fields.join(", "),
        defect.detail,
      ]),
    );
    if (rows.length > 0) context.print("", ...tableLines(columns, rows, context.terminal.stdout, context.paint));
  }
  return bad.length === 0 ? exitCode.ok : exitCode.unsatisfied;
}

function answerOf(verdicts: readonly FeedVerdict[]): object {
  const classes: Record<string, number> = {};
  for (const { defects } of verdicts) for (const { class: kind } of defects) classes[kind] = (classes[kind] ?? 0) + 1;
  const rows = verdicts.map(({ row, onDemand, spot, defects }) => ({
    line: row.line,
    provider: row.provider,
    instance: row.instance,
    region: row.region,
    accelerator: row.accelerator,
    status: defects.length === 0 ? "priced" : onDemand === null && spot === null ? "unpriced" : "partly-priced",
    on_demand_usd_per_accelerator_hour: onDemand ?? "unpriced",
    spot_usd_per_accelerator_hour: spot ?? "unpriced",
    defects,
  }));
  const defective = rows.filter(({ defects }) => defects.length > 0).map(({ line }) => line);
  return { row_count: rows.length, defective_row_count: defective.length, defective_lines: defective, classes, rows };
}
