/**
 * Reads a batch script of Slurm (`sbatch`) as a workload document, and says for every `#SBATCH` line whether it is
 * honoured. Start here; `options.ts` has the table of options.
 */
import { optionsOfLine, optionsOfVariables, type GivenOption } from "./given-options.ts";
import { honours, type HonourContext, type NotHonoured } from "./honour.ts";
import { emptyJob, type SlurmExport, type SlurmJob } from "./job.ts";
import { workloadOfJob } from "./job-document.ts";
import { readScriptText, type DirectiveLine } from "./script-text.ts";

export interface SbatchInput extends HonourContext {
  /** Name of the script in messages. The name of the workload is made from it if no option states one. */
  readonly file: string;
  readonly text: string;
  /** Arguments of the script. */
  readonly args: readonly string[];
  /** Environment of the submitter. `SBATCH_*` variables override the script. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A directive that is honoured. */
export interface HonouredDirective {
  readonly directive: string;
  readonly line: number;
  readonly becomes: string;
}

export interface IgnoredDirective {
  readonly directive: string;
  readonly line: number;
  readonly reason: string;
  /** True: `sbatch` refuses the script for it, and so does `headroom run`. */
  readonly invalid?: true;
}

export interface SbatchReading {
  readonly honoured: readonly HonouredDirective[];
  readonly ignored: readonly IgnoredDirective[];
  /** Options that `SBATCH_*` variables set; `line` is 0. */
  readonly fromEnvironment: readonly (HonouredDirective | IgnoredDirective)[];
  /** Reasons why the script cannot be submitted. */
  readonly problems: readonly string[];
  readonly notes: readonly string[];
  /** The workload as a document of a workload file, without the submitter's environment. */
  readonly document: Readonly<Record<string, unknown>>;
  readonly isHeld: boolean;
  readonly exported: SlurmExport;
}

/** Slurm exports the whole environment if no option states otherwise. */
const EXPORT_ALL: SlurmExport = { mode: "all", names: [], values: {} };

export function readSbatchScript(input: SbatchInput): SbatchReading {
  const script = readScriptText(input.text);
  const end = script.directives.findIndex(isComponentMark);
  const own = end < 0 ? script.directives : script.directives.slice(0, end);
  const { honoured, ignored, fromEnvironment, job } = readDirectives(own, input);
  const later = end < 0 ? [] : componentsOf(script.directives.slice(end));
  const voids = script.voids.map(({ line, written, reason }) => ({ directive: written, line, reason }));
  const all = [...ignored, ...later, ...voids].toSorted((left, right) => left.line - right.line);
  const { document, notes } = workloadOfJob(job, script, input);
  return {
    honoured,
    ignored: all,
    fromEnvironment,
    problems: problemsOf(input, script, all),
    notes: [
      ...(script.hasDosLineEnds ? ["The line ends of DOS are converted; sbatch refuses such a script."] : []),
      ...notes,
    ],
    document,
    isHeld: job.isHeld,
    exported: job.exported ?? EXPORT_ALL,
  };
}

function problemsOf(
  { file, text }: SbatchInput,
  { interpreter }: ReturnType<typeof readScriptText>,
  ignored: readonly IgnoredDirective[],
): readonly string[] {
  const problems: string[] = [];
  if (text.trim() === "") problems.push(`${file} is empty`);
  else if (interpreter === null)
    problems.push(`${file}:1: the first line must name an interpreter, like #!/bin/bash; sbatch requires it, too`);
  // oxlint-disable-next-line no-control-regex -- the shell cannot take it.
  if (/\u0000/.test(text)) problems.push(`${file} contains a NUL character`);
  for (const { invalid, line, directive, reason } of ignored)
    if (invalid === true) problems.push(`${file}:${line}: ${directive} ${reason}`);
  return problems;
}

const isComponentMark = ({ words: [first] }: DirectiveLine): boolean => /^(?:het|pack)job$/.test(first?.value ?? "");

const ONE_COMPONENT =
  "belongs to a further component of a heterogeneous job; only the first is read. Declare task groups in a workload file instead";

function componentsOf(lines: readonly DirectiveLine[]): readonly IgnoredDirective[] {
  return lines.flatMap((line): IgnoredDirective[] => {
    if (isComponentMark(line))
      return [
        {
          directive: line.words.map(({ written }) => written).join(" "),
          line: line.line,
          reason: ONE_COMPONENT,
          invalid: true,
        },
      ];
    const { given, invalid } = optionsOfLine(line);
    return [...given, ...invalid].map(({ directive }) => ({ directive, line: line.line, reason: ONE_COMPONENT }));
  });
}

interface Directives extends Pick<SbatchReading, "honoured" | "ignored" | "fromEnvironment"> {
  readonly job: SlurmJob;
}

/** Options of which `sbatch` accepts one, and options that mean the same to Headroom. */
const sameSetting: readonly (readonly string[])[] = [
  ["mem", "mem-per-cpu", "mem-per-gpu"],
  ["requeue", "no-requeue"],
];

function readDirectives(lines: readonly DirectiveLine[], input: SbatchInput): Directives {
  const job = emptyJob();
  const honoured: HonouredDirective[] = [];
  const ignored: IgnoredDirective[] = [];
  const fromEnvironment: (HonouredDirective | IgnoredDirective)[] = [];
  const read = lines.map(optionsOfLine);
  for (const { isPlugin, ...each } of read.flatMap(({ invalid }) => invalid))
    ignored.push(isPlugin === true ? each : { ...each, invalid: true });
  const given = [...read.flatMap((line) => line.given), ...optionsOfVariables(input.environment)];
  for (const [at, option] of given.entries()) {
    const later = given.slice(at + 1).find((other) => isSame(other, option));
    const { becomes, faults } = later === undefined ? applied(option, job, input) : overridden(option, later);
    const { directive, line } = option;
    const isFromEnvironment = line === 0;
    if (becomes !== null) (isFromEnvironment ? fromEnvironment : honoured).push({ directive, line, becomes });
    for (const { reason, isInvalid } of faults) {
      const entry = { directive, line, reason, ...(isInvalid ? { invalid: true as const } : {}) };
      (isFromEnvironment ? fromEnvironment : ignored).push(entry);
    }
  }
  return { honoured, ignored, fromEnvironment, job };
}

const isSame = (one: GivenOption, other: GivenOption): boolean =>
  one.option === other.option ||
  sameSetting.some((names) => names.includes(one.option.long) && names.includes(other.option.long));

interface Applied {
  /** `null`: the option has no effect. */
  readonly becomes: string | null;
  readonly faults: readonly NotHonoured[];
}

function overridden({ option }: GivenOption, later: GivenOption): Applied {
  const place = later.line === 0 ? "in the environment" : `in line ${later.line}`;
  const isOther = option !== later.option && option.long.startsWith("mem");
  const reason = isOther
    ? `cannot stand beside ${later.directive} ${place}`
    : `is overridden by ${later.directive} ${place}`;
  return { becomes: null, faults: [{ reason, isInvalid: isOther && later.line !== 0, isPart: false }] };
}

/** Values that templates leave for their readers to fill in. */
const PLACEHOLDER =
  /^<.*>$|^<[^>]*$|<[A-Za-z][^<>]*>|^\[[A-Za-z][^\]]*\]$|^\{\{?.*\}\}?$|^(?:YOUR|your|MY|my)[_-][A-Za-z_-]+$|^x{3,}$/i;
/** Options whose values are paths or texts, in which a dollar sign or a bracket can be meant. */
const literal: ReadonlySet<string> = new Set([
  "output",
  "error",
  "input",
  "chdir",
  "comment",
  "wrap",
  "export",
  "constraint",
  "job-name",
]);

function applied({ option, value }: GivenOption, job: SlurmJob, input: SbatchInput): Applied {
  const { long, becomes, ignored = "is not honoured" } = option;
  const reason = ignored.replaceAll("`", "");
  if (becomes === undefined) return { becomes: null, faults: [{ reason, isInvalid: false, isPart: false }] };
  if (value !== null && PLACEHOLDER.test(value) && !(literal.has(long) && !/^<.*>$/.test(value)))
    return refusal("is a placeholder; write a value");
  if (value !== null && /\$[A-Za-z_{(]/.test(value) && !literal.has(long))
    return refusal("has a variable, which sbatch does not expand in #SBATCH lines");
  const honour = honours[long];
  if (honour === undefined) return refusal(reason);
  const faults = honour(value ?? "", job, input);
  return { becomes: faults.some(({ isPart }) => !isPart) ? null : becomes.replaceAll("`", ""), faults };
}

const refusal = (reason: string): Applied => ({ becomes: null, faults: [{ reason, isInvalid: false, isPart: false }] });
