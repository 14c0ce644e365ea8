/**
 * `npm run scenarios -- FILE... [--dialect NAME] [--only ID] [--json] [--verbose]`: plays scheduling scenarios of other
 * systems with the preset of each dialect, counts results by dialect and explains each failure. Exit code 1: a case
 * failed. Exit code 2: a file cannot be read or contains no case, or `--only` selects none.
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { dialects } from "./dialects/dialects.ts";
import { playVector } from "./fair-share-vectors.ts";
import type { Outcome, Scenario, ScenarioFile } from "./scenario-file.ts";

const USAGE = "usage: npm run scenarios -- FILE... [--dialect NAME] [--only ID] [--json] [--verbose]";

class UnusableRequest extends Error {}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        json: { type: "boolean", default: false },
        verbose: { type: "boolean", default: false },
        dialect: { type: "string" },
        only: { type: "string" },
      },
    });
  } catch (error) {
    throw new UnusableRequest(`${(error as Error).message}\n${USAGE}`);
  }
}

type Options = ReturnType<typeof readArguments>["values"];

function play(scenario: Scenario, options: Options): Outcome {
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

function read(file: string): ScenarioFile {
  let content: ScenarioFile;
  try {
    content = JSON.parse(readFileSync(file, "utf8")) as ScenarioFile;
  } catch (error) {
    throw new UnusableRequest(`${file} cannot be read: ${(error as Error).message}`);
  }
  const { scenarios = [], fairShareVectors = [] } = content;
  if (scenarios.length + fairShareVectors.length === 0)
    throw new UnusableRequest(`${file} has neither \`scenarios\` nor \`fairShareVectors\``);
  return content;
}

function outcomesOf({ scenarios = [], fairShareVectors = [] }: ScenarioFile, options: Options): readonly Outcome[] {
  const isWanted = ({ id, dialect }: { readonly id: string; readonly dialect: string }): boolean =>
    (options.dialect === undefined || dialect === options.dialect) &&
    (options.only === undefined || id === options.only);
  return [
    ...scenarios.filter(isWanted).map((scenario) => play(scenario, options)),
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

function main(): number {
  const { values: options, positionals: files } = readArguments();
  if (files.length === 0) throw new UnusableRequest(USAGE);
  const outcomes = files.map(read).flatMap((file) => outcomesOf(file, options));
  if (outcomes.length === 0) throw new UnusableRequest("no case of the files is of that --dialect and that --only");
  process.stdout.write(`${options.json ? JSON.stringify(outcomes, null, 1) : report(outcomes)}\n`);
  return outcomes.some(({ differences }) => differences.length > 0) ? 1 : 0;
}

try {
  process.exitCode = main();
} catch (error) {
  if (!(error instanceof UnusableRequest)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
