/** Reads one document of a plan from a YAML or JSON file, with the line of each problem. */
import type { PlanDocumentProblem } from "@headroom/plan";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { fieldText, problemList } from "../documents/load-documents.ts";
import { sourcesOf } from "../documents/sources.ts";
import { parseYaml } from "../documents/yaml-source.ts";

type Reading<Document> =
  | { readonly kind: "read"; readonly document: Document }
  | { readonly kind: "refused"; readonly problems: readonly PlanDocumentProblem[] };

export async function readPlanFile<Document>(
  { terminal }: CommandContext,
  target: string,
  read: (value: unknown) => Reading<Document>,
): Promise<Document> {
  const [source, ...more] = await sourcesOf(target, terminal);
  if (source === undefined || more.length > 0) throw new CliError(`${target}: expected a single file`, exitCode.usage);
  const { documents, problems } = parseYaml(source.text);
  if (problems.length > 0) {
    const lines = problems.map(({ line, column, message }) => `${source.file}:${line}:${column}: ${message}`);
    throw new CliError(problemList(lines), exitCode.usage);
  }
  const [document] = documents;
  if (document === undefined || documents.length > 1)
    throw new CliError(`${source.file}: expected one document, found ${documents.length}`, exitCode.usage);
  const reading = read(document.value);
  if (reading.kind === "read") return reading.document;
  const lines = reading.problems.map(({ path, message }) => {
    const { line, column } = document.placeOf(path, false);
    return `${source.file}:${line}:${column}: ${fieldText(path)}${message}`;
  });
  throw new CliError(problemList(lines), exitCode.usage);
}
