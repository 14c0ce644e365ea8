/** `headroom cost tco`, `cost compare` and `cost components`. */
import type { OwnedOption, TcoDocument } from "@headroom/usage";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { bookOf, priceDocuments } from "./load-prices.ts";

interface CostOutputOptions {
  readonly json?: true;
}

const usd = (amount: number): string => `$${amount.toFixed(2)}`;
const percent = (part: number): string => `${(part * 100).toFixed(1)}%`;

async function tcoOf({ terminal }: CommandContext, file: string): Promise<TcoDocument> {
  const [{ sourcesOf }, { parseYaml }, { tcoDocument }] = await Promise.all([
    import("../documents/sources.ts"),
    import("../documents/yaml-source.ts"),
    import("@headroom/usage"),
  ]);
  const [source] = await sourcesOf(file, terminal);
  const { documents, problems } = parseYaml(source?.text ?? "");
  const [problem] = problems;
  if (problem !== undefined)
    throw new CliError(`${file}:${problem.line}:${problem.column}: ${problem.message}`, exitCode.usage);
  const [document] = documents;
  if (document === undefined) throw new CliError(`${file} is empty`, exitCode.usage);
  const read = tcoDocument.safeParse(document.value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const at = (issue?.path ?? []).filter((part) => typeof part !== "symbol");
  const { line, column } = document.placeOf(at, false);
  throw new CliError(`${file}:${line}:${column}: ${at.join(".")}: ${issue?.message ?? "is invalid"}`, exitCode.usage);
}

/** One option in detail: yearly costs by part, and what a tenth of each assumption changes. */
export async function runTco(context: CommandContext, file: string, options: CostOutputOptions): Promise<ExitCode> {
  const { costOf, sensitivities } = await import("@headroom/usage");
  const { options: all, utilisation, goodput } = await tcoOf(context, file);
  const answers = all.map((option) => ({
    ...costOf(option, utilisation, goodput),
    sensitivity: option.source === "owned" ? sensitivities(option satisfies OwnedOption, utilisation) : [],
  }));
  if (options.json === true) {
    context.print(JSON.stringify({ currency: "USD", utilisation, goodput, options: answers }, null, 2));
    return exitCode.ok;
  }
  for (const { name, source, yearly, usdPerYear, usdPerHour, usdPerUsefulHour, sensitivity } of answers) {
    const parts = Object.entries(yearly).filter(([, amount]) => amount > 0);
    context.print(
      `${name} (${source}), at ${percent(utilisation)} utilisation`,
      ...pairLines(
        [
          ...parts.map(([part, amount]) => [`${part} a year`, usd(amount)] as const),
          ["total a year", usd(usdPerYear)],
          ["per accelerator-hour of use", usd(usdPerHour)],
          ["per useful accelerator-hour", usd(usdPerUsefulHour)],
          ...sensitivity.map(
            ({ field, low, high }) => [`${field} ±10%`, `${usd(low)} to ${usd(high)} per hour`] as const,
          ),
        ],
        context.paint,
      ),
      "",
    );
  }
  return exitCode.ok;
}

/** All options side by side, and the utilisation at which paid capacity meets each rented one. */
export async function runCompare(context: CommandContext, file: string, options: CostOutputOptions): Promise<ExitCode> {
  const { breakEven, costOf } = await import("@headroom/usage");
  const { options: all, utilisation, goodput } = await tcoOf(context, file);
  const answers = all
    .map((option) => costOf(option, utilisation, goodput))
    .toSorted((left, right) => left.usdPerUsefulHour - right.usdPerUsefulHour);
  const rented = all.filter(({ source }) => source === "rented");
  const pairs = all
    .filter(({ source }) => source !== "rented")
    .flatMap((paid) =>
      rented.map((other) => ({ option: paid.name, against: other.name, utilisation: breakEven(paid, other) })),
    );
  if (options.json === true) {
    context.print(
      JSON.stringify({ currency: "USD", utilisation, goodput, options: answers, breakEven: pairs }, null, 2),
    );
    return exitCode.ok;
  }
  const columns = [
    { title: "OPTION", minWidth: 8 },
    { title: "SOURCE" },
    { title: "$/YEAR", align: "right" as const },
    { title: "$/HOUR OF USE", align: "right" as const },
    { title: "$/USEFUL HOUR", align: "right" as const },
  ];
  const rows = answers.map(({ name, source, usdPerYear, usdPerHour, usdPerUsefulHour }) => [
    name,
    source,
    usdPerYear.toFixed(2),
    usdPerHour.toFixed(2),
    usdPerUsefulHour.toFixed(2),
  ]);
  context.print(...tableLines(columns, rows, context.terminal.stdout, context.paint));
  for (const { option, against, utilisation: at } of pairs)
    context.print(
      at > 1
        ? `${option} is never cheaper than ${against}: it would need ${percent(at)} utilisation.`
        : `${option} is cheaper than ${against} above ${percent(at)} utilisation.`,
    );
  return exitCode.ok;
}

export interface ComponentsOptions extends CostOutputOptions {
  readonly prices?: readonly string[];
  readonly month?: string;
}

/** The cost of a month by component, from price documents alone. */
export async function runComponents(
  context: CommandContext,
  { prices, month, json }: ComponentsOptions,
): Promise<ExitCode> {
  if (prices === undefined || month === undefined || !/^\d{4}-(?:0[1-9]|1[0-2])$/.test(month))
    throw new CliError(
      "name the prices and the month: headroom cost components --prices FILE --month 2026-10",
      exitCode.usage,
    );
  const { monthCosts } = await import("@headroom/usage");
  const book = await bookOf(await priceDocuments(context, prices));
  const monthMs = Date.parse(`${month}-01T00:00:00Z`);
  const items = [...book.byPool.values()].flat().flatMap((price) => {
    if ("prices" in price) return [];
    const costs = monthCosts(price, monthMs);
    return price.components.map(({ name }, index) => ({
      price: price.name,
      component: name,
      microUsd: costs[index] ?? 0,
    }));
  });
  const total = items.reduce((sum, { microUsd }) => sum + microUsd, 0);
  if (json === true) {
    const rows = items.map(({ microUsd, ...item }) => ({ ...item, usd: microUsd / 1_000_000 }));
    context.print(JSON.stringify({ currency: "USD", month, items: rows, totalUsd: total / 1_000_000 }, null, 2));
    return exitCode.ok;
  }
  const columns = [
    { title: "PRICE", minWidth: 8 },
    { title: "COMPONENT", minWidth: 8 },
    { title: "USD", align: "right" as const },
  ];
  const rows = items.map(({ price, component, microUsd }) => [price, component, (microUsd / 1_000_000).toFixed(2)]);
  context.print(
    ...tableLines(
      columns,
      [...rows, ["total", "", (total / 1_000_000).toFixed(2)]],
      context.terminal.stdout,
      context.paint,
    ),
  );
  return exitCode.ok;
}
