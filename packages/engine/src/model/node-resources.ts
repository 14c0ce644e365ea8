/** Resources of a node that workers take in amounts, beside accelerators. */
import type { Node } from "./fleet.ts";
import type { WorkerShape } from "./workload.ts";

export type NodeResourceName = "cores" | "memory" | "networkGbps";

interface NodeResource {
  readonly name: NodeResourceName;
  /** Needed by one worker, and on the node; in the unit of verdicts. */
  readonly asked: (shape: WorkerShape) => number;
  readonly of: (node: Node) => number;
  /** Changes to a shape that asks for none. */
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
