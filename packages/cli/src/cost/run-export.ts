/** `headroom cost export` and `headroom cost evaluate`. */
import type { MeteredLine } from "@headroom/usage";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { tableLines } from "../output/table.ts";
import { costSource, type CostSourceOptions } from "./cost-source.ts";
import { readFocusFile, writeFocusFiles } from "./focus-files.ts";

export interface ExportOptions extends CostSourceOptions {
  readonly focus?: string;
  readonly json?: true;
}

export async function runExport(context: CommandContext, options: ExportOptions): Promise<ExitCode> {
  if (options.focus === undefined)
    throw new CliError("name the folder for the files: headroom cost export --focus DIR", exitCode.usage);
  const folder = path.resolve(context.terminal.workingDirectory, options.focus);
  const source = await costSource(context, options);
  const { billedCharges, focusRows, meteredFocusRows } = await import("@headroom/usage");
  const unpriced = new Map<string, bigint>();
  mkdirSync(folder, { recursive: true });
  const rows = function* () {
    yield* focusRows(billedCharges(source, unpriced), source.book, source.range, source.meter);
    yield* meteredFocusRows(source.metered, source.book);
  };
  const written = await writeFocusFiles(rows(), folder);
  const isUnpriced = ({ service, price }: MeteredLine): boolean => service === "storage" && price === "";
  const unpricedStores = [...new Set(source.metered.filter(isUnpriced).map(({ place }) => place))].toSorted();
  for (const store of unpricedStores) context.note(`warning: store ${store} has no price; its storage is not exported`);
  for (const pool of unpriced.keys())
    context.note(`warning: pool ${pool} has hours without a price; they are not exported`);
  if (options.json === true)
    context.print(JSON.stringify({ ...written, unpricedPools: [...unpriced.keys()], unpricedStores }, null, 2));
  else context.print(`${written.csv} and ${written.parquet} have ${written.rowCount} rows of FOCUS 1.2.`);
  return exitCode.ok;
}

export async function runEvaluate(
  context: CommandContext,
  file: string,
  options: { readonly json?: true },
): Promise<ExitCode> {
  const { FocusEvaluation } = await import("@headroom/usage");
  const place = path.resolve(context.terminal.workingDirectory, file);
  let evaluation: InstanceType<typeof FocusEvaluation> | undefined;
  for await (const row of readFocusFile(place)) {
    evaluation ??= new FocusEvaluation(Object.keys(row));
    evaluation.add(row);
  }
  if (evaluation === undefined) throw new CliError(`${file} has no rows`, exitCode.usage);
  const violations = evaluation.violations();
  if (options.json === true) context.print(JSON.stringify({ rowCount: evaluation.rowCount, violations }, null, 2));
  else if (violations.length === 0) context.print(`${evaluation.rowCount} rows, no violation of FOCUS 1.2.`);
  else {
    const columns = [
      { title: "COLUMN" },
      { title: "RULE", minWidth: 20 },
      { title: "ROWS", align: "right" as const },
      { title: "FIRST", align: "right" as const },
    ];
    const rows = violations.map(({ column, rule, count, firstRow }) => [
      column,
      rule,
      String(count),
      firstRow === null ? "–" : String(firstRow),
    ]);
    context.print(...tableLines(columns, rows, context.terminal.stdout, context.paint));
  }
  return violations.length === 0 ? exitCode.ok : exitCode.unsatisfied;
}
