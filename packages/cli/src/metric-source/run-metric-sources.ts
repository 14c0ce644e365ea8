/** `headroom metric-source add`, `list`, `targets` and `remove`. */
import type { MetricSource, MetricTarget } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { settingsOf } from "../executor/settings.ts";
import { instant } from "../output/amounts.ts";
import { csvLines } from "../output/csv.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";

export interface MetricSourceOptions {
  readonly json?: boolean;
  readonly csv?: boolean;
}

export interface AddMetricSourceOptions extends MetricSourceOptions {
  readonly setting?: readonly string[];
}

export interface MetricTargetOptions extends MetricSourceOptions {
  readonly state?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

const types = ["scrape", "replicas", "prometheus", "remote-write"] as const;
const states = ["up", "silent", "waiting", "refused"] as const;
const LIMIT_MAX = 1_000;

function oneOf<Choice extends string>(name: string, text: string, choices: readonly Choice[]): Choice {
  const found = choices.find((each) => each === text);
  if (found !== undefined) return found;
  throw new CliError(`${name} must be one of ${choices.join(", ")}, got ${printable(text)}`, exitCode.usage);
}

export async function addMetricSource(
  context: CommandContext,
  [wanted = "", name = ""]: readonly string[],
  { setting = [], json }: AddMetricSourceOptions,
): Promise<ExitCode> {
  const type = oneOf("the type", wanted, types);
  const settings = settingsOf(setting) as never;
  const client = await context.connect();
  const set = await client.declareMetricSource(name, { type, settings });
  if (json === true) context.print(JSON.stringify(set, null, 2));
  else context.print(`metric source ${set.name} is ${set.action === "created" ? "added" : set.action}`);
  return exitCode.ok;
}

const placeOf = ({ settings }: MetricSource): string => {
  const place = settings["address"] ?? settings["url"] ?? settings["path"];
  if (typeof place === "string") return place;
  const targets = settings["targets"];
  return Array.isArray(targets) ? `${targets.length} listed` : "";
};

export async function listMetricSources(
  context: CommandContext,
  { json, csv }: MetricSourceOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const { items, remoteWrite } = await client.metricSources();
  const rows = items.map((source) => [
    source.name,
    source.type,
    printable(placeOf(source)),
    String(source.up),
    String(source.silent),
    String(source.waiting),
    printable(source.problem ?? ""),
  ]);
  const titles = ["SOURCE", "TYPE", "PLACE", "UP", "SILENT", "WAITING", "PROBLEM"];
  const { terminal, paint } = context;
  if (json === true) context.print(JSON.stringify({ items, remoteWrite }, null, 2));
  else if (csv === true)
    context.print(
      ...csvLines(
        titles.map((each) => each.toLowerCase()),
        rows,
      ),
    );
  else if (items.length === 0) context.note("No metric source is declared. `headroom metric-source add` declares one.");
  else context.print(...tableLines(titles.map(columnOf), rows, terminal.stdout, paint));
  if (remoteWrite !== null && json !== true && csv !== true) {
    const { url, sent, queued, dropped, problem } = remoteWrite;
    const state = `${sent} samples sent, ${queued} wait, ${dropped} dropped`;
    context.print(`writes to ${printable(url)}: ${state}${problem === null ? "" : `; ${printable(problem)}`}`);
  }
  return exitCode.ok;
}

const numeric = new Set(["UP", "SILENT", "WAITING", "SAMPLES", "VALUES", "MS"]);
const columnOf = (title: string): { readonly title: string; readonly align?: "right" } =>
  numeric.has(title) ? { title, align: "right" } : { title };

export async function listMetricTargets(
  context: CommandContext,
  [source]: readonly string[],
  { state, limit, cursor, json, csv }: MetricTargetOptions,
): Promise<ExitCode> {
  const chosen = state === undefined ? undefined : oneOf("--state", state, states);
  const most = limit === undefined ? 100 : /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
  if (most < 1 || most > LIMIT_MAX)
    throw new CliError(`--limit: expected a whole number from 1 to ${LIMIT_MAX}, got "${limit}"`, exitCode.usage);
  const client = await context.connect();
  const page = await client.metricTargets({ source, state: chosen, limit: most, cursor });
  if (json === true) {
    context.print(JSON.stringify(page, null, 2));
    return exitCode.ok;
  }
  const titles = ["SOURCE", "TARGET", "SUBJECT", "STATE", "SINCE", "SAMPLES", "VALUES", "MS", "PROBLEM"];
  const timeOf = csv === true ? (ms: number): string => new Date(ms).toISOString() : instant;
  const rows = page.items.map((each) => rowOf(each, timeOf));
  const { terminal, paint } = context;
  if (csv === true)
    context.print(
      ...csvLines(
        titles.map((each) => each.toLowerCase()),
        rows,
      ),
    );
  else if (rows.length === 0) context.note("There is no such target.");
  else context.print(...tableLines(titles.map(columnOf), rows, terminal.stdout, paint));
  if (page.nextCursor !== null) context.note(`There are more targets: --cursor ${page.nextCursor}`);
  return exitCode.ok;
}

const rowOf = (target: MetricTarget, timeOf: (ms: number) => string): readonly string[] => [
  target.source,
  printable(target.target),
  target.subject ?? "",
  target.state,
  target.sinceMs === null ? "" : timeOf(target.sinceMs),
  String(target.samples),
  String(target.values),
  target.durationMs === null ? "" : String(target.durationMs),
  printable(target.problem ?? ""),
];

export async function removeMetricSource(
  context: CommandContext,
  [name = ""]: readonly string[],
  { json }: MetricSourceOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const removed = await client.removeMetricSource(name);
  if (json === true) context.print(JSON.stringify(removed, null, 2));
  else context.print(`metric source ${removed.name} is removed; its series stay until they expire`);
  return exitCode.ok;
}
