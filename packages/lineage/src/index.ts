/**
 * Lineage: which data, code and runs made what, as a graph that is walkable in both directions. It reads and writes OpenLineage events
 * and does no I/O. Start with `events/check-event.ts` and `graph/lineage-graph.ts`.
 */
export { checkEvent, type EventVerdict } from "./events/check-event.ts";
export { facetWarnings } from "./events/known-facets.ts";
export type { LineageEvent, RunEvent } from "./events/event.ts";
export { addEvent } from "./graph/add-event.ts";
export { LineageGraph, type LineageNode, type Walk } from "./graph/lineage-graph.ts";
export { walkNeighbours } from "./graph/walk-neighbours.ts";
export { HistoryExport } from "./history/history-export.ts";
export { ReplicaHistory, type ServedReplica } from "./history/served-replica.ts";
