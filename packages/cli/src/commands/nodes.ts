import type { Node } from "@headroom/protocol";
import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { coresText, memoryText } from "../output/amounts.ts";
import { tableLines, type Cell } from "../output/table.ts";
import { allPages } from "../resolve-workload.ts";

interface Options {
  readonly json?: boolean;
}

interface DrainOptions extends Options {
  readonly requeue?: boolean;
}

const NODES_SHOWN_MAX = 100_000;
const nodeArgument = {
  syntax: "<node>",
  description: "its id, as `headroom nodes` shows it",
  complete: "node",
} as const;

const drainCommand = defineCommand<DrainOptions>({
  name: "drain",
  summary: "Place nothing new on a node; what runs there finishes",
  arguments: [nodeArgument],
  options: [
    { flags: "--requeue", description: "stop what runs there (with its grace) and queue it again" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const client = await context.connect();
    const answer = await client.drainNode(args[0] ?? "", { running: options.requeue === true ? "requeue" : "wait" });
    if (options.json === true) context.print(JSON.stringify(answer, null, 2));
    else context.print(`draining ${answer.nodeId}; \`headroom nodes resume ${answer.nodeId}\` ends it`);
    return exitCode.ok;
  },
});

const resumeCommand = defineCommand<Options>({
  name: "resume",
  summary: "Let work onto a drained node again",
  arguments: [nodeArgument],
  options: [jsonOption],
  async run(context, { args, options }) {
    const client = await context.connect();
    const answer = await client.resumeNode(args[0] ?? "");
    if (options.json === true) context.print(JSON.stringify(answer, null, 2));
    else context.print(`resumed ${answer.nodeId}`);
    return exitCode.ok;
  },
});

export const nodesCommand = defineCommand<Options>({
  name: "nodes",
  summary: "List nodes and who holds what; drain and resume them",
  commands: [drainCommand, resumeCommand],
  options: [jsonOption],
  async run(context, { options }) {
    const client = await context.connect();
    const { items, more } = await allPages((cursor, limit) => client.listNodes({ cursor, limit }), NODES_SHOWN_MAX);
    if (options.json === true) {
      context.print(JSON.stringify({ items, more }, null, 2));
      return exitCode.ok;
    }
    const columns = [
      { title: "NODE", minWidth: 8 },
      { title: "POOL", minWidth: 6 },
      { title: "STATE" },
      { title: "TYPE", minWidth: 6 },
      { title: "FREE", align: "right" as const },
      { title: "CORES FREE", align: "right" as const },
      { title: "MEMORY FREE", align: "right" as const },
      { title: "HELD BY", minWidth: 10 },
    ];
    // Few fleets have labels: the column is there where it says something.
    const hasLabels = items.some(({ labels }) => Object.keys(labels).length > 0);
    const shown = hasLabels ? [...columns, { title: "LABELS", minWidth: 8 }] : columns;
    const rows = items.map((node) => [...nodeRow(node), ...(hasLabels ? [labelsText(node)] : [])]);
    if (items.length === 0) context.note("No nodes yet.");
    else context.print(...tableLines(shown, rows, context.terminal.stdout, context.paint));
    return exitCode.ok;
  },
});

function nodeRow(node: Node): (Cell | string)[] {
  const names = [...new Set(node.holders.map(({ workloadName }) => workloadName))];
  return [
    node.id,
    node.pool,
    stateCell(node),
    node.acceleratorType,
    `${countOf(node.freeAccelerators)}/${node.acceleratorCount}`,
    `${coresText(node.coresFreeMilli)}/${coresText(node.coresMilli)}`,
    `${memoryText(node.memoryFreeMib)}/${memoryText(node.memoryMib)}`,
    names.join(" "),
  ];
}

/** `rack=r1 zone=a`. */
const labelsText = ({ labels }: Node): string =>
  Object.keys(labels)
    .toSorted()
    .map((name) => `${name}=${labels[name] ?? ""}`)
    .join(" ");

function stateCell({ health, draining, spare }: Node): Cell {
  if (spare === true) return { text: "spare", tone: "green" };
  if (health === "lost") return { text: draining ? "lost, draining" : "lost", tone: "red" };
  return draining ? { text: "draining", tone: "yellow" } : { text: "up", tone: "green" };
}

/** How many indices `"0-3,6"` names. */
function countOf(ranges: string): number {
  if (ranges === "") return 0;
  return ranges.split(",").reduce((sum, range) => {
    const [first = "", last = first] = range.split("-");
    return sum + Number(last) - Number(first) + 1;
  }, 0);
}
