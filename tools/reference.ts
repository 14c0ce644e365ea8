/**
 * `npm run reference`: generates docs/reference/ and the JSON Schema from the declarations in packages/spec, and the
 * page of commands from packages/cli. It also generates the tables of the pages on policies and on the API, with the
 * engine's defaults and the protocol's operations. With `--check` it writes nothing and fails if a file is outdated; `npm run
 * check` runs that.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { documentJsonSchema, referencePages } from "@headroom/spec";
import { knobTable } from "@headroom/views";
import { upSettingTable } from "../packages/cli/src/up/up-settings.ts";
import { executorPage } from "./executor-page.ts";
import { commandPage, operationTable, slurmPage } from "./reference-tables.ts";

const root = path.resolve(import.meta.dirname, "..");
const isCheck = process.argv.includes("--check");

const files = [
  ...referencePages().map(({ file, text }) => ({ file: `docs/reference/${file}`, text })),
  pageWithTable("docs/reference/policy.md", knobTable()),
  pageWithTable("docs/reference/api.md", operationTable()),
  pageWithTable("docs/reference/headroom-yaml.md", upSettingTable()),
  { file: "docs/reference/executors.md", text: executorPage() },
  { file: "docs/reference/commands.md", text: commandPage() },
  { file: "docs/reference/sbatch.md", text: slurmPage() },
  { file: "schemas/headroom.schema.json", text: `${JSON.stringify(documentJsonSchema(), null, 2)}\n` },
];

function contentOf(file: string): string | null {
  try {
    return readFileSync(path.join(root, file), "utf8");
  } catch {
    return null;
  }
}

function pageWithTable(file: string, table: readonly string[]): { readonly file: string; readonly text: string } {
  return { file, text: withTable(contentOf(file) ?? "", table) };
}

/** Replaces the table with the same head; a page without it counts as stale, because the table is appended. */
function withTable(page: string, [head = "", ...rows]: readonly string[]): string {
  const lines = page.split("\n");
  const found = lines.indexOf(head);
  const from = found < 0 ? lines.length : found;
  const length = lines.slice(from).findIndex((line) => !line.startsWith("|"));
  return [...lines.slice(0, from), head, ...rows, ...(length < 0 ? [] : lines.slice(from + length))].join("\n");
}

const stale = files.filter(({ file, text }) => contentOf(file) !== text);
if (isCheck) {
  for (const { file } of stale) process.stdout.write(`${file} is stale: run npm run reference\n`);
  process.exitCode = stale.length === 0 ? 0 : 1;
} else {
  mkdirSync(path.join(root, "docs/reference"), { recursive: true });
  for (const { file, text } of stale) {
    writeFileSync(path.join(root, file), text);
    process.stdout.write(`wrote ${file}\n`);
  }
}
