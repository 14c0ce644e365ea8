/** `headroom health slow`: names the slow nodes in recorded step times. */
import type { SlowNode, SlowNodes, StepTime } from "@headroom/health";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { jsonValues } from "../input/json-values.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";

export interface HealthSlowOptions {
  readonly json?: true;
}

const NODES_OF_STEP_MAX = 100_000;
const SETS_MAX = 10_000;

interface Row extends StepTime {
  readonly set: string;
  readonly step: number;
}

interface SlowNodeOfSet extends SlowNode {
  readonly set: string;
}

/** The present step of a set of nodes that do the same work. */
interface OpenStep {
  readonly test: SlowNodes;
  step: number;
  times: StepTime[];
}

export async function runHealthSlow(
  context: CommandContext,
  file: string,
  options: HealthSlowOptions,
): Promise<ExitCode> {
  const { SlowNodes } = await import("@headroom/health");
  const sets = new OpenSteps(() => new SlowNodes());
  const shown = printable(file);
  for await (const values of jsonValues(context, file)) {
    for (const found of values) {
      const where = `${shown}:${found.line}`;
      if ("problem" in found) refuse(`${where}: ${found.problem}`);
      sets.add(readRow(found.value, where), where);
    }
    if (context.terminal.interrupted.aborted) return exitCode.interrupted;
  }
  const { found, count } = sets.finish();
  if (count === 0) refuse(`${shown}: there are no step times in it`);
  if (options.json === true) context.print(JSON.stringify(found, null, 2));
  else printFound(context, found, count);
  return exitCode.ok;
}

function refuse(message: string): never {
  throw new CliError(message, exitCode.usage);
}

/** Collects the rows of a step before its nodes are compared. */
class OpenSteps {
  readonly #sets = new Map<string, OpenStep>();
  readonly #found: SlowNodeOfSet[] = [];
  readonly #newTest: () => SlowNodes;
  #count = 0;

  constructor(newTest: () => SlowNodes) {
    this.#newTest = newTest;
  }

  add({ set, step, ...time }: Row, where: string): void {
    this.#count++;
    const own = this.#open(set, step, where);
    if (step < own.step) refuse(`${where}: step ${step} after step ${own.step}: sort the rows of a set by step`);
    if (step > own.step) {
      this.#compare(set, own);
      own.step = step;
      own.times = [];
    }
    if (own.times.length >= NODES_OF_STEP_MAX) refuse(`${where}: more than ${NODES_OF_STEP_MAX} nodes in a step`);
    own.times.push(time);
  }

  finish(): { readonly found: readonly SlowNodeOfSet[]; readonly count: number } {
    for (const [set, own] of this.#sets) this.#compare(set, own);
    return { found: this.#found, count: this.#count };
  }

  #open(set: string, step: number, where: string): OpenStep {
    const known = this.#sets.get(set);
    if (known !== undefined) return known;
    if (this.#sets.size >= SETS_MAX) refuse(`${where}: more than ${SETS_MAX} sets`);
    const own: OpenStep = { test: this.#newTest(), step, times: [] };
    this.#sets.set(set, own);
    return own;
  }

  #compare(set: string, { test, step, times }: OpenStep): void {
    for (const slow of test.observe(step, times)) this.#found.push({ set, ...slow });
  }
}

function readRow(value: unknown, where: string): Row {
  const fields = typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  const { set = "", step, node, seconds, parts } = fields;
  if (typeof set !== "string") refuse(`${where}: set: expected the name of the workload or set`);
  if (typeof node !== "string" || node === "") refuse(`${where}: node: expected a name`);
  if (!Number.isSafeInteger(step)) refuse(`${where}: step: expected a whole number`);
  if (typeof seconds !== "number" || !(seconds > 0)) refuse(`${where}: seconds: expected a number above 0`);
  if (parts === undefined) return { set, step: step as number, node, seconds };
  const isRecord = typeof parts === "object" && parts !== null && !Array.isArray(parts);
  if (!isRecord || !Object.values(parts).every((each) => typeof each === "number"))
    refuse(`${where}: parts: expected seconds by name`);
  return { set, step: step as number, node, seconds, parts: parts as Readonly<Record<string, number>> };
}

function printFound({ print, paint, terminal }: CommandContext, found: readonly SlowNodeOfSet[], count: number): void {
  if (found.length > 0) {
    const columns = [
      { title: "SET" },
      { title: "NODE" },
      { title: "SLOWER", align: "right" as const },
      { title: "SINCE STEP", align: "right" as const },
      { title: "NAMED AT", align: "right" as const },
    ];
    const rows = found.map(
      ({ set, node, slower_pct: slower, part, part_slower_pct: inPart, since_step: since, step }) => [
        printable(set),
        printable(node),
        part === undefined ? `${slower}%` : `${inPart}% in ${printable(part)}`,
        String(since),
        String(step),
      ],
    );
    print(...tableLines(columns, rows, terminal.stdout, paint), "");
  }
  print(`${count} step times, ${found.length} changes to slow`);
}
