/**
 * Entries of the command palette for a text: pages and actions by their words, workloads and nodes by their names, and
 * commands for them by a verb and a name.
 */
import type { Node, WorkloadSummary } from "@headroom/protocol";
import {
  nodeVerb,
  nodeWords,
  workloadVerbs,
  workloadWords,
  type NodeVerb,
  type WorkloadSubject,
  type WorkloadVerb,
} from "../commands/commands.ts";
import type { IconName } from "../parts/icon.tsx";

export interface PaletteItem {
  readonly id: string;
  readonly group: "Go to" | "Do" | "Workloads" | "Nodes" | "Commands";
  readonly icon: IconName;
  readonly label: string;
  readonly detail: string;
  readonly run: () => void;
}

/** A command on which the user must decide before it is sent. */
export type AskedCommand =
  | { readonly of: "workload"; readonly verb: WorkloadVerb; readonly workload: WorkloadSubject }
  | { readonly of: "node"; readonly verb: NodeVerb; readonly node: string };

/** Whether every word of the query occurs in the label or the detail. */
export function matchesWords(query: string, { label, detail }: Pick<PaletteItem, "label" | "detail">): boolean {
  const text = `${label} ${detail}`.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

const NODES_SHOWN_MAX = 6;
export const WORKLOADS_SHOWN_MAX = 8;

/** A query in parts: `stop llama` has the verb `stop` and the name `llama`. Without a verb, all of it is the name. */
export interface PaletteQuery {
  readonly verb: WorkloadVerb | NodeVerb | null;
  readonly name: string;
}

export function paletteQuery(text: string): PaletteQuery {
  const [first = "", ...rest] = text.trim().split(/\s+/);
  const word = first.toLowerCase();
  return isVerb(word) ? { verb: word, name: rest.join(" ") } : { verb: null, name: text.trim() };
}

const isVerb = (word: string): word is WorkloadVerb | NodeVerb =>
  Object.hasOwn(workloadWords, word) || Object.hasOwn(nodeWords, word);

export const isWorkloadVerb = (verb: PaletteQuery["verb"]): verb is WorkloadVerb =>
  verb !== null && verb in workloadWords;

interface Found {
  readonly workloads: readonly WorkloadSummary[];
  readonly nodes: readonly Node[];
  readonly openWorkload: (id: string) => void;
  readonly openNode: (id: string) => void;
  readonly ask: (command: AskedCommand) => void;
}

export function foundItems(text: string, found: Found): readonly PaletteItem[] {
  if (text.trim() === "") return [];
  const { verb, name } = paletteQuery(text);
  const workloads = found.workloads.slice(0, WORKLOADS_SHOWN_MAX);
  const nodes = found.nodes
    .filter(
      ({ id, ...node }) => id.toLowerCase().includes(name.toLowerCase()) && (verb === null || nodeVerb(node) === verb),
    )
    .slice(0, NODES_SHOWN_MAX);
  if (verb !== null) {
    return isWorkloadVerb(verb)
      ? workloads.flatMap((workload) => workloadCommands(workload, found).filter(({ id }) => id.startsWith(`${verb} `)))
      : nodes.map((node) => nodeCommand(node, found));
  }
  const [workload, node] = [workloads[0], nodes[0]];
  return [
    ...workloads.map((each) => workloadItem(each, found)),
    ...nodes.map((each) => nodeItem(each, found)),
    // Commands for the best match only: for every match they would hide the matches.
    ...(workload === undefined ? [] : workloadCommands(workload, found)),
    ...(node === undefined ? [] : [nodeCommand(node, found)]),
  ];
}

const workloadDetail = ({ team, phase }: WorkloadSummary): string =>
  `${team}, ${phase === "pending" ? "waiting" : phase}`;

const nodeDetail = ({ site, fabric }: Node): string => [site, ...fabric].join(" / ");

function workloadItem(workload: WorkloadSummary, { openWorkload }: Found): PaletteItem {
  return {
    id: `workload ${workload.id}`,
    group: "Workloads",
    icon: "workloads",
    label: workload.name,
    detail: workloadDetail(workload),
    run: () => openWorkload(workload.id),
  };
}

function nodeItem(node: Node, { openNode }: Found): PaletteItem {
  return {
    id: `node ${node.id}`,
    group: "Nodes",
    icon: "fleet",
    label: node.id,
    detail: nodeDetail(node),
    run: () => openNode(node.id),
  };
}

function workloadCommands(workload: WorkloadSummary, { ask }: Found): readonly PaletteItem[] {
  return workloadVerbs(workload).map((verb) => ({
    id: `${verb} workload ${workload.id}`,
    group: "Commands",
    icon: workloadWords[verb].icon,
    label: `${workloadWords[verb].label} ${workload.name}`,
    detail: workloadDetail(workload),
    run: () => ask({ of: "workload", verb, workload }),
  }));
}

function nodeCommand(node: Node, { ask }: Found): PaletteItem {
  const verb = nodeVerb(node);
  return {
    id: `${verb} node ${node.id}`,
    group: "Commands",
    icon: nodeWords[verb].icon,
    label: `${nodeWords[verb].label} ${node.id}`,
    detail: nodeDetail(node),
    run: () => ask({ of: "node", verb, node: node.id }),
  };
}
