/** Reports the reading of each line of a batch script, for people and for programs. */
import type { IgnoredDirective, SbatchReading } from "@headroom/spec/slurm";
import { pairLines } from "../output/table.ts";
import { printable } from "../terminal.ts";
import type { Paint } from "../output/style.ts";
import type { BatchScriptFile } from "./batch-script.ts";
import type { CapturedEnvironment } from "./captured-environment.ts";

/** Lines that a user disabled on purpose need no remark. */
const isRemarkable = ({ reason }: IgnoredDirective): boolean => reason !== "is commented out";

/** Remarks at a submission: what is not honoured, and why. */
export const remarks = ({ file, reading }: BatchScriptFile): readonly string[] => [
  ...reading.ignored
    .filter(isRemarkable)
    .map(({ line, directive, reason }) => printable(`${file}:${line}: ${directive} is not honoured: ${reason}`)),
  ...reading.notes.map(printable),
];

/** The lists of `--dry-run`. */
export function readingLines({ file, reading }: BatchScriptFile, paint: Paint): readonly string[] {
  const { honoured, ignored, fromEnvironment } = reading;
  const row = (line: number, directive: string, text: string): [string, string] => [
    printable(`${line === 0 ? "" : `${line}: `}${directive}`),
    printable(text),
  ];
  const section = (title: string, rows: readonly [string, string][]): readonly string[] =>
    rows.length === 0 ? [] : [title, ...pairLines(rows, paint), ""];
  return [
    ...section(
      `${printable(file)}: honoured`,
      honoured.map(({ line, directive, becomes }) => row(line, directive, becomes)),
    ),
    ...section(
      `${printable(file)}: not honoured`,
      ignored.map(({ line, directive, reason }) => row(line, directive, reason)),
    ),
    ...section(
      "From variables",
      fromEnvironment.map((each) => row(0, each.directive, "becomes" in each ? each.becomes : each.reason)),
    ),
    ...reading.notes.map(printable),
  ];
}

/** The answer of `--dry-run --json`. */
export const readingJson = (
  { file, reading }: BatchScriptFile,
  document: Readonly<Record<string, unknown>>,
  { secrets, refused }: CapturedEnvironment,
): Readonly<Record<string, unknown>> => {
  const { honoured, ignored, fromEnvironment, problems, notes, isHeld }: SbatchReading = reading;
  return {
    file,
    honoured,
    ignored,
    fromEnvironment,
    problems,
    notes,
    held: isHeld,
    leftOut: { secrets, refused },
    document,
  };
};

/** The document as YAML, without the command and the variables, which are long. */
export async function documentLines(document: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  const { stringify } = await import("yaml");
  const { run: _run, env: _env, ...shown } = document;
  return stringify(shown).trimEnd().split("\n");
}
