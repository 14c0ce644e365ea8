/** A node of the quota tree. Work belongs to exactly one team; what a team uses counts for all of its ancestors. */
import type { TeamName } from "./ids.ts";

export interface Team {
  readonly name: TeamName;
  readonly parent: TeamName | null;
  /** The most accelerators of each type that the team and everything below it may hold at once; no entry: no limit. */
  readonly limit: Readonly<Record<string, number>>;
}
