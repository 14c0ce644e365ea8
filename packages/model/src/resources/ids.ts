/**
 * Branded identifiers. An id is opaque: only the engine builds ids, and no code parses one. Entities of a kind are
 * ordered by their ordinal (a counter in the state), never by comparing ids.
 */
declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type WorkloadId = Branded<"WorkloadId">;
export type AttemptId = Branded<"AttemptId">;
export type NodeId = Branded<"NodeId">;
export type PoolName = Branded<"PoolName">;
export type SiteName = Branded<"SiteName">;
export type TeamName = Branded<"TeamName">;
/** The correlation number that a driver gives to a command. The reply to the command contains it. */
export type CommandId = Branded<"CommandId">;

export const workloadId = (text: string): WorkloadId => text as WorkloadId;
export const attemptId = (text: string): AttemptId => text as AttemptId;
export const nodeId = (text: string): NodeId => text as NodeId;
export const poolName = (text: string): PoolName => text as PoolName;
export const siteName = (text: string): SiteName => text as SiteName;
export const teamName = (text: string): TeamName => text as TeamName;
export const commandId = (text: string): CommandId => text as CommandId;
