import type { Node, NodeReadings } from "@headroom/protocol";
import type { ReactElement } from "react";
import { Badge } from "../../parts/phase-badge.tsx";
import { UsageBar } from "../../parts/usage-bar.tsx";
import { VirtualTable, type Column } from "../../parts/virtual-table.tsx";
import { nodeReadingText } from "./reading-text.ts";
import { freeCountOf, nodeStateText, nodeStateTone } from "./cell-colours.ts";

interface NodeTableProps {
  readonly nodes: readonly Node[];
  readonly readings: ReadonlyMap<string, NodeReadings>;
  readonly onOpen: (nodeId: string) => void;
}

/** The fleet's nodes as a table. */
export function NodeTable({ nodes, readings, onOpen }: NodeTableProps): ReactElement {
  return (
    <VirtualTable
      label="Nodes"
      rows={nodes}
      rowCount={nodes.length}
      keyOf={({ id }) => id}
      columns={columns(onOpen, readings)}
      template="grid-cols-[minmax(0,1.2fr)_auto_5rem] md:grid-cols-[minmax(0,1fr)_8rem_minmax(0,1.2fr)_minmax(0,1.2fr)_minmax(0,1.2fr)_minmax(0,1.4fr)]"
    />
  );
}

const columns = (
  onOpen: (nodeId: string) => void,
  readings: ReadonlyMap<string, NodeReadings>,
): readonly Column<Node>[] => [
  {
    id: "node",
    header: "Node",
    cell: ({ id }) => (
      <button type="button" className="font-medium hover:underline" onClick={() => onOpen(id)}>
        {id}
      </button>
    ),
  },
  {
    id: "state",
    header: "State",
    cell: (node) => <Badge tone={nodeStateTone(node)}>{nodeStateText(node)}</Badge>,
  },
  {
    id: "place",
    header: "Place",
    className: "hidden md:block text-ink-2",
    cell: ({ pool, fabric }) => [pool, ...fabric].join(" / "),
  },
  {
    id: "use",
    header: "Free",
    cell: (node) => (
      <span className="flex items-center gap-2">
        <span className="w-12 shrink-0">
          {freeCountOf(node)} / {node.acceleratorCount}
        </span>
        <span className="hidden flex-1 md:block">
          <UsageBar
            total={node.acceleratorCount}
            parts={[{ key: "held", amount: node.acceleratorCount - freeCountOf(node), className: "bg-run" }]}
          />
        </span>
      </span>
    ),
  },
  {
    id: "telemetry",
    header: "Telemetry",
    className: "hidden md:block text-ink-2",
    cell: ({ id }) => nodeReadingText(readings.get(id)),
  },
  {
    id: "work",
    header: "Running",
    className: "hidden md:block text-ink-2",
    cell: ({ holders }) => [...new Set(holders.map(({ workloadName }) => workloadName))].join(", ") || "–",
  },
];
