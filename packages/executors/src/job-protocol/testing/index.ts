/** Machines without processes, for tests of routes of bytes. */
export { collectLog, MovingCluster } from "./moving-cluster.ts";
export { MovingNode } from "./moving-node.ts";
export type { StartedJob } from "./moving-node.ts";
