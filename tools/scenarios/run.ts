/**
 * `npm run scenarios -- FILE... [--dialect NAME] [--only ID] [--json] [--verbose]`: plays external scheduling scenarios on this engine, each dialect
 * as a preset, counts them by dialect and explains each failure. Ends with 1 if any case fails, with 2 if a file has none or
 * cannot be read.
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { dialects } from "./dialects/dialects.ts";
import { playVector } from "./fair-share-vectors.ts";
import type { Outcome, Scenario, ScenarioFile } from "./scenario-file.ts";

const { values: options, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "boolean", default: false },
    verbose: { type: "boolean", default: false },
    dialect: { type: "string" },
    only: { type: "string" },
  },
});

function play(scenario: Scenario): Outcome {
  const { id, dialect, name } = scenario;
  const player = dialects.get(dialect);
  if (player === undefined) return { id, dialect, name, differences: [`no preset plays the dialect ${dialect}`] };
  try {
    return { id, dialect, name, differences: player(scenario) };
  } catch (error) {
    const text =
      error instanceof Error ? ((options.verbose ? error.stack : undefined) ?? error.message) : String(error);
    return { id, dialect, name, differences: [`cannot be played: ${text}`] };
  }
}

class UnusableFile extends Error {}

function read(file: string): ScenarioFile {
  let content: ScenarioFile;
  try {
    content = JSON.parse(readFileSync(file, "utf8")) as ScenarioFile;
  } catch (error) {
    throw new UnusableFile(`${file} cannot be read: ${(error as Error).message}`);
  }
  const { scenarios = [], fairShareVectors = [] } = content;
  if (scenarios.length + fairShareVectors.length === 0)
    throw new UnusableFile(`${file} has neither \`scenarios\` nor \`fairShareVectors\``);
  return content;
}

function outcomesOf({ scenarios = [], fairShareVectors = [] }: ScenarioFile): readonly Outcome[] {
  const isWanted = ({ id, dialect }: { readonly id: string; readonly dialect: string }): boolean =>
    (options.dialect === undefined || dialect === options.dialect) &&
    (options.only === undefined || id === options.only);
  return [
    ...scenarios.filter(isWanted).map(play),
    ...fairShareVectors.filter(({ id }) => isWanted({ id, dialect: "fair-share" })).map(playVector),
  ];
}

function report(outcomes: readonly Outcome[]): string {
  const lines: string[] = [];
  for (const { id, name, differences } of outcomes) {
    if (differences.length === 0) continue;
    lines.push(`${id}  ${name}`, ...differences.map((text) => `    ${text}`));
  }
  const byDialect = Map.groupBy(outcomes, ({ dialect }) => dialect);
  const count = (list: readonly Outcome[]): string =>
    `${list.filter(({ differences }) => differences.length === 0).length} of ${list.length} pass`;
  for (const [dialect, list] of byDialect) lines.push(`${dialect.padEnd(28)} ${count(list)}`);
  lines.push(`${"all".padEnd(28)} ${count(outcomes)}`);
  return lines.join("\n");
}

if (files.length === 0) {
  process.stderr.write("usage: npm run scenarios -- FILE... [--dialect NAME] [--only ID] [--json] [--verbose]\n");
  process.exitCode = 2;
} else {
  try {
    const outcomes = files.map(read).flatMap(outcomesOf);
    process.stdout.write(`${options.json ? JSON.stringify(outcomes, null, 1) : report(outcomes)}\n`);
    if (outcomes.some(({ differences }) => differences.length > 0)) process.exitCode = 1;
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
  }
}
