/** A team with what it holds, as vectors of amounts by resource position. */
import type { TeamName } from "../model/ids.ts";
import type { Team } from "../model/team.ts";

/** Positions in every vector of amounts: cores (thousandths), memory (MiB), accelerators (thousandths) in all and then by type. */
export const CORES_AT = 0;
export const MEMORY_AT = 1;
export const ACCELERATORS_AT = 2;
/** Accelerator types follow in the order in which they were first named. */
export const FIRST_TYPE_AT = 3;

/** One team's place in the tree, with its amounts by resource position; a missing amount is 0. */
export interface TeamNode {
  readonly name: TeamName;
  team: Team;
  parent: TeamNode | null;
  readonly children: TeamNode[];
  /** Position in the order of definition; ties between teams end here. */
  readonly ordinal: number;
  readonly used: number[];
  /** The part of it that is not preemptible. */
  readonly fixed: number[];
  /** The part of what its own work holds that plans in the making booked: cores, memory and accelerators alone. */
  readonly tentative: number[];
  /** `Infinity` where the team states none. */
  limit: readonly number[];
  /** What any one user may hold; empty: as much as the team. */
  userLimit: readonly number[];
  guarantee: readonly number[];
  /** Whether its guarantee names types of accelerators, and no number of any: of other types it is guaranteed none. */
  isByTypeAlone: boolean;
  /**
   * What it may count on, by compared position: what its guarantee states, `Infinity` of what that does not name. Stated by type
   * alone, it is guaranteed as many accelerators as those are together and none of other types; stated by their number alone, as
   * many of any type. A team that states no guarantee counts on what its children do together.
   */
  guaranteed: readonly number[];
}

/** Whether the team is this one, or anywhere below it. */
export function isUnder(team: TeamNode, above: TeamNode): boolean {
  for (let at: TeamNode | null = team; at !== null; at = at.parent) if (at === above) return true;
  return false;
}

/** Resources by which teams are compared, whatever they state. */
export const COMPARED: readonly (0 | 1 | 2)[] = [CORES_AT, MEMORY_AT, ACCELERATORS_AT];

/** What a number of a gang's workers holds, on one accelerator type or, in groups, on several. */
export interface Amount {
  /** -1: of no type, or of none alone. */
  readonly typeAt: number;
  readonly acceleratorsMilli: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
  /** Where they are of several types: what is of which, each type once; `typeAt` is -1 then. */
  readonly byType?: readonly { readonly typeAt: number; readonly acceleratorsMilli: number }[];
}

/** Accelerators of the type at a position, in thousandths. */
export function milliOfType({ typeAt, acceleratorsMilli, byType }: Amount, position: number): number {
  if (byType === undefined) return position === typeAt ? acceleratorsMilli : 0;
  return byType.find((each) => each.typeAt === position)?.acceleratorsMilli ?? 0;
}

/** What of the resource at a position. */
export function amountAt(amount: Amount, position: number): number {
  if (position === CORES_AT) return amount.coresMilli;
  if (position === MEMORY_AT) return amount.memoryMib;
  return position === ACCELERATORS_AT ? amount.acceleratorsMilli : milliOfType(amount, position);
}
