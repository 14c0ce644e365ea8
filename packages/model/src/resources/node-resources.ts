/** Resources of a node, other than accelerators, that workers take in amounts. */
import type { Node } from "./fleet.ts";
import type { WorkerShape } from "./workload.ts";

export type NodeResourceName = "cores" | "memory" | "networkGbps";

interface NodeResource {
  readonly name: NodeResourceName;
  /**
   * `asked`: the amount that one worker needs. `of`: the amount that the node has. Both are in the unit of verdicts.
   */
  readonly asked: (shape: WorkerShape) => number;
  readonly of: (node: Node) => number;
  /** The fields of a worker shape that requests nothing of the resource. */
  readonly none: Partial<WorkerShape>;
}

export const nodeResources: readonly NodeResource[] = [
  // Cores, in thousandths.
  {
    name: "cores",
    asked: ({ coresMilli }) => coresMilli,
    of: ({ coresMilli }) => coresMilli,
    none: { coresMilli: 0 },
  },
  // Memory, in MiB.
  {
    name: "memory",
    asked: ({ memoryMib }) => memoryMib,
    of: ({ memoryMib }) => memoryMib,
    none: { memoryMib: 0 },
  },
  {
    name: "networkGbps",
    asked: ({ networkGbps = 0 }) => networkGbps,
    of: ({ networkGbps = 0 }) => networkGbps,
    none: { networkGbps: 0 },
  },
];
