/** `headroom lineage NAME`: where a dataset, model or run comes from, and what was made with it. */
import type { LineageGraph, LineageNode, Walk } from "@headroom/lineage";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import type { AdminOptions } from "../gateway/admin-client.ts";
import { jsonValues } from "../input/json-values.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";
import { hasImportedEvents, importedEvents } from "./event-store.ts";
import { DEFAULT_NAMESPACE, hasJournal, historyEvents } from "./history-events.ts";

/** `request:ID` names a request of a gateway. */
const REQUEST_PREFIX = "request:";

export interface LineageOptions extends AdminOptions {
  readonly config?: string;
  readonly up?: true;
  readonly down?: true;
  readonly depth?: string;
  readonly file?: readonly string[];
  readonly json?: true;
}

/** Nodes of one answer. */
const NODES_SHOWN_MAX = 100_000;
/** Rows of the table for people, which is aligned as a whole. */
const ROWS_SHOWN_MAX = 1_000;
const DEPTH_MAX = 1_000_000;

export async function runLineage(context: CommandContext, name: string, options: LineageOptions): Promise<ExitCode> {
  const depthMax = depthOption(options.depth);
  const { parseArtifactRef } = await import("@headroom/model");
  if (name.startsWith(REQUEST_PREFIX)) {
    const { runRequestLineage } = await import("./run-request-lineage.ts");
    return runRequestLineage(context, name.slice(REQUEST_PREFIX.length), options);
  }
  const isBoth = (options.up ?? false) === (options.down ?? false);
  if (parseArtifactRef(name) !== null && options.file === undefined) {
    const { runArtifactLineage } = await import("./run-artifact-lineage.ts");
    const direction = isBoth ? "both" : options.up === true ? "up" : "down";
    const depth = options.depth === undefined ? undefined : Math.max(1, depthMax);
    return runArtifactLineage(context, name, { direction, depth, json: options.json === true });
  }
  const graph = await readGraph(context, options.file ?? []);
  const starts = graph.find(name);
  if (starts.length === 0)
    throw new CliError(
      `no dataset, model, job, run or code is named ${JSON.stringify(name)} in ${graph.nodeCount} nodes`,
      exitCode.failed,
    );
  const limits = { depthMax, nodesMax: NODES_SHOWN_MAX };
  const up = isBoth || options.up === true ? graph.walk(starts, "up", limits) : null;
  const down = isBoth || options.down === true ? graph.walk(starts, "down", limits) : null;
  if (options.json === true)
    context.print(
      JSON.stringify(
        {
          name,
          found: starts.map((node) => graph.at(node)),
          ...(up !== null && { upstream: listed(graph, up), upstream_cut: up.isCut }),
          ...(down !== null && { downstream: listed(graph, down), downstream_cut: down.isCut }),
        },
        null,
        2,
      ),
    );
  else printWalks(context, graph, { starts, up, down });
  return exitCode.ok;
}

function depthOption(text: string | undefined): number {
  if (text === undefined) return DEPTH_MAX;
  const depth = Number(text);
  if (Number.isSafeInteger(depth) && depth >= 0 && text.trim() !== "") return Math.min(depth, DEPTH_MAX);
  throw new CliError(`--depth: expected a whole number from 0 on, got ${printable(text)}`, exitCode.usage);
}

async function readGraph(context: CommandContext, files: readonly string[]): Promise<LineageGraph> {
  const { addEvent, checkEvent, LineageGraph } = await import("@headroom/lineage");
  const graph = new LineageGraph();
  const { home } = context;
  if (files.length === 0 && !hasJournal(home) && !hasImportedEvents(home))
    throw new CliError(
      `${home} has no journal and no imported events. Name the state directory with --home DIR, or a file of OpenLineage events with --file.`,
      exitCode.usage,
    );
  const add = (value: unknown): void => {
    if (graph.isFull)
      throw new CliError(`the events have more than ${graph.nodeCount} nodes or ${graph.edgeCount} edges`);
    const verdict = checkEvent(value);
    if (verdict.verdict === "accepted") addEvent(graph, verdict);
  };
  if (hasJournal(home))
    for await (const event of historyEvents(home, DEFAULT_NAMESPACE)) addEvent(graph, { kind: "run", event });
  if (hasImportedEvents(home)) for (const text of importedEvents(home)) add(JSON.parse(text));
  for (const file of files)
    for await (const values of jsonValues(context, file))
      for (const found of values) if (!("problem" in found)) add(found.value);
  return graph;
}

/** The nodes of a walk without its starts. */
const listed = (graph: LineageGraph, { nodes }: Walk): readonly (LineageNode & { readonly depth: number })[] =>
  nodes.filter(({ depth }) => depth > 0).map(({ node, depth }) => ({ depth, ...graph.at(node) }));

interface Walks {
  readonly starts: readonly number[];
  readonly up: Walk | null;
  readonly down: Walk | null;
}

function printWalks(context: CommandContext, graph: LineageGraph, { starts, up, down }: Walks): void {
  const row = (depth: number, node: LineageNode): readonly string[] => [
    String(depth),
    node.kind,
    printable(`${node.label ?? node.name}${node.version === undefined ? "" : `@${node.version}`}`),
    printable(node.kind === "run" ? `${node.name}${node.state === undefined ? "" : ` ${node.state}`}` : node.namespace),
  ];
  const rowsOf = (walk: Walk | null, sign: 1 | -1): readonly (readonly string[])[] =>
    walk === null ? [] : listed(graph, walk).map((node) => row(sign * node.depth, node));
  const rows = [...rowsOf(up, -1).toReversed(), ...starts.map((start) => row(0, graph.at(start))), ...rowsOf(down, 1)];
  const columns = [
    { title: "STEP", align: "right" as const },
    { title: "KIND" },
    { title: "NAME", minWidth: 20 },
    { title: "WHERE", minWidth: 12 },
  ];
  context.print(...tableLines(columns, rows.slice(0, ROWS_SHOWN_MAX), context.terminal.stdout, context.paint));
  if (rows.length > ROWS_SHOWN_MAX || up?.isCut === true || down?.isCut === true)
    context.note(`The list is cut. --json shows up to ${NODES_SHOWN_MAX} nodes; --depth, --up and --down narrow it.`);
}
