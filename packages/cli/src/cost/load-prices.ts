/** Price documents of files and directories. */
import path from "node:path";
import { existsSync } from "node:fs";
import type { PriceBook, PriceDocument } from "@headroom/usage";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";

/** Place of the price documents of a state directory. */
const PRICES = "prices";

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
