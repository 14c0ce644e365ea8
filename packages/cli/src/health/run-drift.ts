/** `headroom drift`: nodes that differ from their peers, and what slow nodes share. */
import type { Cause, DesiredProfiles, Deviation, NodeProfile } from "@headroom/health";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { fileText } from "../input/file-chunks.ts";
import { jsonValues } from "../input/json-values.ts";
import { plural } from "../output/amounts.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";

export interface DriftOptions {
  readonly desired?: string;
  readonly json?: true;
}

const NODES_MAX = 200_000;
const FACTS_MAX = 1_000;
const DESIRED_BYTES_MAX = 16 << 20;
const NODES_SHOWN = 4;

type JsonFields = Readonly<Record<string, unknown>>;

export async function runDrift(context: CommandContext, file: string, options: DriftOptions): Promise<ExitCode> {
  const profiles = await readProfiles(context, file);
  const desired = options.desired === undefined ? undefined : await readDesired(context, options.desired);
  const { causesOf, deviationsOf } = await import("@headroom/health");
  const deviations = deviationsOf(profiles, desired);
  const causes = causesOf(profiles);
  if (options.json === true) context.print(JSON.stringify({ nodes: profiles.length, deviations, causes }, null, 2));
  else printDrift(context, profiles, deviations, causes);
  return exitCode.ok;
}

const isFields = (value: unknown): value is JsonFields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

async function readProfiles(context: CommandContext, file: string): Promise<readonly NodeProfile[]> {
  const profiles: NodeProfile[] = [];
  const names = new Set<string>();
  for await (const values of jsonValues(context, file)) {
    for (const found of values) {
      const where = `${printable(file)}:${found.line}`;
      if ("problem" in found) refuse(`${where}: ${found.problem}`);
      const profile = readProfile(found.value, where);
      if (names.has(profile.node)) refuse(`${where}: node ${printable(profile.node)} occurs twice`);
      names.add(profile.node);
      profiles.push(profile);
      if (profiles.length > NODES_MAX) refuse(`${printable(file)}: more than ${NODES_MAX} nodes`);
    }
  }
  if (profiles.length === 0) refuse(`${printable(file)}: there are no nodes in it`);
  return profiles;
}

function refuse(message: string): never {
  throw new CliError(message, exitCode.usage);
}

function readProfile(value: unknown, where: string): NodeProfile {
  if (!isFields(value)) refuse(`${where}: expected an object with node, facts and performance`);
  const { node, set = "", facts, performance = null } = value;
  if (typeof node !== "string" || node === "") refuse(`${where}: node: expected a name`);
  if (typeof set !== "string") refuse(`${where}: set: expected the name of a set of comparable nodes`);
  if (performance !== null && !(typeof performance === "number" && performance > 0))
    refuse(`${where}: performance: expected a number above 0, more is better`);
  return { node, set, facts: readFacts(facts, `${where}: facts`), performance };
}

function readFacts(facts: unknown, where: string): ReadonlyMap<string, string> {
  if (!isFields(facts)) refuse(`${where}: expected an object of values by name`);
  const entries = Object.entries(facts);
  if (entries.length > FACTS_MAX) refuse(`${where}: more than ${FACTS_MAX} facts`);
  return new Map(
    entries.flatMap(([name, value]): [string, string][] => {
      if (value === null) return [];
      if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
        refuse(`${where}.${printable(name)}: expected a text, a number, true or false`);
      return [[name, String(value)]];
    }),
  );
}

async function readDesired(context: CommandContext, file: string): Promise<DesiredProfiles> {
  const value = parsed(await fileText(context, file, DESIRED_BYTES_MAX), printable(file));
  if (!isFields(value)) refuse(`${printable(file)}: expected an object of facts by name of the set, * for every set`);
  return new Map(
    Object.entries(value).map(([set, facts]) => [set, readFacts(facts, `${printable(file)}: ${printable(set)}`)]),
  );
}

function parsed(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return refuse(`${where}: no JSON: ${error instanceof Error ? printable(error.message) : ""}`);
  }
}

const shownValue = (value: string | null): string => (value === null ? "(absent)" : printable(value));

function shownNodes(nodes: readonly string[]): string {
  const more = nodes.length - NODES_SHOWN;
  return `${nodes.slice(0, NODES_SHOWN).map(printable).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function printDrift(
  { print, paint, terminal }: CommandContext,
  profiles: readonly NodeProfile[],
  deviations: readonly Deviation[],
  causes: readonly Cause[],
): void {
  for (const { set, facts, nodes, slower_pct: slower } of causes) {
    const shared = facts.map(({ fact, value }) => `${printable(fact)} ${shownValue(value)}`).join(" and ");
    const of = set === "" ? "" : ` of ${printable(set)}`;
    print(`${nodes.length} nodes${of} are ${slower}% slower; they share ${shared}: ${shownNodes(nodes)}`);
  }
  if (causes.length > 0) print("");
  if (deviations.length > 0) {
    const columns = ["SET", "FACT", "VALUE", "EXPECTED", "BY", "NODES"].map((title) => ({ title }));
    const rows = deviations.map(({ set, fact, value, expected, by, nodes }) => [
      printable(set),
      printable(fact),
      shownValue(value),
      shownValue(expected),
      by,
      shownNodes(nodes),
    ]);
    print(...tableLines(columns, rows, terminal.stdout, paint), "");
  }
  const counts = [
    plural(profiles.length, "node"),
    plural(deviations.length, "deviation"),
    plural(causes.length, "cause"),
  ];
  print(`${counts.join(", ")} of slow nodes`);
}
