/** Price documents of files and directories, and the prices that pools declare where no document covers them. */
import path from "node:path";
import { existsSync } from "node:fs";
import type { PriceBook, PriceDocument, UsageFold } from "@headroom/usage";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";

/** Place of the price documents of a state directory. */
const PRICES = "prices";
const HOUR_MS = 3_600_000;

export async function priceDocuments(
  { terminal }: CommandContext,
  targets: readonly string[],
): Promise<PriceDocument[]> {
  const [{ sourcesOf }, { parseYaml }, { priceDocument }] = await Promise.all([
    import("../documents/sources.ts"),
    import("../documents/yaml-source.ts"),
    import("@headroom/usage"),
  ]);
  const documents: PriceDocument[] = [];
  for (const target of targets)
    for (const { file, text } of await sourcesOf(target, terminal)) {
      const { documents: parsed, problems } = parseYaml(text);
      const [problem] = problems;
      if (problem !== undefined)
        throw new CliError(`${file}:${problem.line}:${problem.column}: ${problem.message}`, exitCode.usage);
      for (const each of parsed) {
        const read = priceDocument.safeParse(each.value);
        if (read.success) documents.push(read.data);
        else {
          const [issue] = read.error.issues;
          const at = (issue?.path ?? []).filter((part) => typeof part !== "symbol");
          const { line, column } = each.placeOf(at, false);
          throw new CliError(
            `${file}:${line}:${column}: ${at.join(".")}: ${issue?.message ?? "is invalid"}`,
            exitCode.usage,
          );
        }
      }
    }
  return documents;
}

/** `--prices`, else the folder `prices` of the state directory, else nothing. */
export function priceTargets(home: string, named: readonly string[] | undefined): readonly string[] {
  if (named !== undefined) return named;
  const folder = path.join(home, PRICES);
  return existsSync(folder) ? [folder] : [];
}

export async function bookOf(documents: readonly PriceDocument[]): Promise<PriceBook> {
  const { priceBook } = await import("@headroom/usage");
  const book = priceBook(documents);
  if ("problem" in book) throw new CliError(`prices: ${book.problem}`, exitCode.usage);
  return book;
}

/** Pools without a document have the prices that they declare, from the hour of the declaration on. */
export function withDeclaredPrices(documents: readonly PriceDocument[], fold: UsageFold): readonly PriceDocument[] {
  const covered = new Set(documents.flatMap((each) => ("pool" in each ? [each.pool] : [])));
  const declared = [...fold.pools].flatMap(([pool, { site, prices }]): PriceDocument[] => {
    const [first] = prices;
    if (covered.has(pool) || first === undefined || prices.every(([, price]) => price === 0)) return [];
    const from = hourText(first[0]);
    const steps = new Map(prices.map(([atMs, price]) => [hourText(atMs), price / 1_000_000]));
    const price: PriceDocument = {
      kind: "price",
      name: `declared-${pool}`,
      pool,
      provider: "Declared by the pool",
      region: site,
      source: "onDemand",
      from,
      prices: [...steps].map(([at, perHour]) => ({ from: at, perHour })),
    };
    return [price];
  });
  return [...documents, ...declared];
}

const hourText = (atMs: number): string =>
  `${new Date(Math.floor(atMs / HOUR_MS) * HOUR_MS).toISOString().slice(0, 13)}:00Z`;
