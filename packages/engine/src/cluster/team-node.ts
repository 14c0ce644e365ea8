/** A team with its usage, as vectors by resource position. */
import type { TeamName, Team } from "@headroom/model";

/**
 * Positions in every vector: cores (thousandths), memory (MiB), accelerators (thousandths) in total and then by type.
 */
export const CORES_AT = 0;
export const MEMORY_AT = 1;
export const ACCELERATORS_AT = 2;
/** Network bandwidth, in thousandths of a Gbps; teams are not compared by it. */
export const NETWORK_AT = 3;
/** Accelerator types follow in the order in which they were first named. */
export const FIRST_TYPE_AT = 4;

/** One team in the tree, with its amounts by resource position; a missing amount is 0. */
export interface TeamNode {
  readonly name: TeamName;
  team: Team;
  parent: TeamNode | null;
  readonly children: TeamNode[];
  /** Position of the team in the order of definition, which breaks ties between teams that no other rule decides. */
  readonly ordinal: number;
  readonly used: number[];
  /** The non-preemptible part of the team's usage. */
  readonly fixed: number[];
  /** The part of the team's own usage that tentative plans have booked: cores, memory and accelerators only. */
  readonly tentative: number[];
  /** Limit of the team. `Infinity` for a resource without a limit. */
  limit: readonly number[];
  /** Limit of any one user. Empty: only the team's limit applies. */
  userLimit: readonly number[];
  guarantee: readonly number[];
  /** Whether the team's guarantee names accelerator types and no total: other types then have no guarantee. */
  isByTypeAlone: boolean;
  /**
   * Guarantee of the team by compared position; `Infinity` for a resource that the guarantee does not name. If the
   * guarantee names types and no total, the total is the sum of the types, and other types have a guarantee of 0. If it
   * names only a total, the total holds for any type. A team without a guarantee has the sum of its children's
   * guarantees.
   */
  guaranteed: readonly number[];
}

export function isUnder(team: TeamNode, above: TeamNode): boolean {
  for (let at: TeamNode | null = team; at !== null; at = at.parent) if (at === above) return true;
  return false;
}

/** Resources by which teams are always compared. */
export const COMPARED: readonly (0 | 1 | 2)[] = [CORES_AT, MEMORY_AT, ACCELERATORS_AT];

/** Resources of some workers of a gang. They are on one accelerator type or, with task groups, on several. */
export interface Amount {
  /** Position of the accelerator type, or -1 if there is no type or several. */
  readonly typeAt: number;
  /** Position of the family of the type. Absent: the type has no family. */
  readonly familyAt?: number;
  readonly acceleratorsMilli: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
  readonly networkMilli: number;
  /** The amount of each type, if there are several types; each type occurs once, and `typeAt` is then -1. */
  readonly byType?: readonly AmountOfType[];
}

export interface AmountOfType {
  readonly typeAt: number;
  readonly familyAt?: number;
  readonly acceleratorsMilli: number;
}

/** Accelerators of the type or family at a position, in thousandths. */
function milliOfType({ typeAt, familyAt, acceleratorsMilli, byType }: Amount, position: number): number {
  if (byType === undefined) return position === typeAt || position === familyAt ? acceleratorsMilli : 0;
  let sum = 0;
  for (const each of byType) if (each.typeAt === position || each.familyAt === position) sum += each.acceleratorsMilli;
  return sum;
}

export function amountAt(amount: Amount, position: number): number {
  if (position === CORES_AT) return amount.coresMilli;
  if (position === MEMORY_AT) return amount.memoryMib;
  if (position === NETWORK_AT) return amount.networkMilli;
  return position === ACCELERATORS_AT ? amount.acceleratorsMilli : milliOfType(amount, position);
}

/** The amount of a resource in the unit in which teams state it. */
export const statedAmount = (position: number, amount: number): number =>
  position >= ACCELERATORS_AT ? amount / 1000 : amount;

export const negative = ({
  typeAt,
  familyAt,
  acceleratorsMilli,
  coresMilli,
  memoryMib,
  networkMilli,
  byType,
}: Amount): Amount => ({
  typeAt,
  ...(familyAt === undefined ? {} : { familyAt }),
  acceleratorsMilli: -acceleratorsMilli,
  coresMilli: -coresMilli,
  memoryMib: -memoryMib,
  networkMilli: -networkMilli,
  ...(byType === undefined
    ? {}
    : { byType: byType.map((each) => ({ ...each, acceleratorsMilli: -each.acceleratorsMilli })) }),
});

export const NOTHING: Amount = { typeAt: -1, acceleratorsMilli: 0, coresMilli: 0, memoryMib: 0, networkMilli: 0 };
