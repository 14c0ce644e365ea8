/** Entries of the command palette for a text: pages and actions by their words, workloads and nodes by their names. */
import type { Node, WorkloadSummary } from "@headroom/protocol";
import type { IconName } from "../parts/icon.tsx";

export interface PaletteItem {
  readonly id: string;
  readonly group: "Go to" | "Do" | "Workloads" | "Nodes";
  readonly icon: IconName;
  readonly label: string;
  readonly detail: string;
  readonly run: () => void;
}

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

interface Found {
  readonly workloads: readonly WorkloadSummary[];
  readonly nodes: readonly Node[];
  readonly openWorkload: (id: string) => void;
  readonly openNode: (id: string) => void;
}

export function foundItems(query: string, { workloads, nodes, openWorkload, openNode }: Found): readonly PaletteItem[] {
  if (query.trim() === "") return [];
  const text = query.trim().toLowerCase();
  return [
    ...workloads.slice(0, WORKLOADS_SHOWN_MAX).map((workload): PaletteItem => ({
      id: `workload ${workload.id}`,
      group: "Workloads",
      icon: "workloads",
      label: workload.name,
      detail: `${workload.team}, ${workload.phase === "pending" ? "waiting" : workload.phase}`,
      run: () => openWorkload(workload.id),
    })),
    ...nodes
      .filter(({ id }) => id.toLowerCase().includes(text))
      .slice(0, NODES_SHOWN_MAX)
      .map((node): PaletteItem => ({
        id: `node ${node.id}`,
        group: "Nodes",
        icon: "fleet",
        label: node.id,
        detail: [node.site, ...node.fabric].join(" / "),
        run: () => openNode(node.id),
      })),
  ];
}
