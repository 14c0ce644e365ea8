export type { JobRow, NodeRow, RowSink, UnreadLine } from "./rows.ts";
export { SlurmReader } from "./slurm-reader.ts";
export { utc, type Zone } from "./times.ts";
export { zoneNamed } from "./zone.ts";
