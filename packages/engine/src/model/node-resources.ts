/** Resources of a node that workers take in amounts, beside accelerators. */
import type { Node } from "./fleet.ts";
import type { WorkerShape } from "./workload.ts";

export type NodeResourceName = "cores" | "memory" | "networkGbps";

interface NodeResource {
  readonly name: NodeResourceName;
  /** Amounts that one worker needs and that the node has, in the unit of verdicts. */
  readonly asked: (shape: WorkerShape) => number;
  readonly of: (node: Node) => number;
  /** The fields of a shape that requests 0 of the resource. */
  readonly none: Partial<WorkerShape>;
}

export const nodeResources: readonly NodeResource[] = [
  // In thousandths.
  {
    name: "cores",
    asked: ({ coresMilli }) => coresMilli,
    of: ({ coresMilli }) => coresMilli,
    none: { coresMilli: 0 },
  },
  // In MiB.
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
