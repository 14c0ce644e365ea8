/**
 * Guarantees of teams by resource position: for accelerator types, for families of types, and for all accelerators
 * together.
 */
import { ACCELERATORS_AT, FIRST_TYPE_AT } from "./team-node.ts";
import type { TeamNode } from "./team-node.ts";

export const isStatedByTypeAlone = (guarantee: readonly number[]): boolean =>
  (guarantee[ACCELERATORS_AT] ?? Number.POSITIVE_INFINITY) === Number.POSITIVE_INFINITY &&
  guarantee.some((amount, position) => position >= FIRST_TYPE_AT && Number.isFinite(amount));

/** Position of the family of a type, by the position of the type. */
export type FamilyAt = ReadonlyMap<number, number>;

/**
 * The amount that the team's own guarantee keeps available; 0 if none is stated. If no amount is stated for a family or
 * for the total, the amounts of its types are added up. Unlike in `guaranteed`, a stated total keeps no amount of any
 * single type.
 */
export function reservedAt(node: TeamNode, position: number, familyAt: FamilyAt): number {
  const { guarantee, guaranteed, isByTypeAlone } = node;
  const stated = guarantee[position] ?? Number.POSITIVE_INFINITY;
  if (Number.isFinite(stated)) return stated;
  if (position === ACCELERATORS_AT) return isByTypeAlone ? (guaranteed[position] as number) : 0;
  const hasStatedType = guarantee.some((amount, at) => Number.isFinite(amount) && familyAt.get(at) === position);
  return hasStatedType ? (guaranteed[position] as number) : 0;
}

export function setGuaranteed(node: TeamNode, positions: readonly number[], familyAt: FamilyAt): void {
  for (const child of node.children) setGuaranteed(child, positions, familyAt);
  const { guarantee, isByTypeAlone, team, children } = node;
  const stated = (position: number): number => guarantee[position] ?? Number.POSITIVE_INFINITY;
  const ofTypes = positions.filter((at) => at >= FIRST_TYPE_AT && Number.isFinite(stated(at)));
  const number = stated(ACCELERATORS_AT);
  const members = (family: number): readonly number[] => ofTypes.filter((at) => familyAt.get(at) === family);
  const sumOfTypes = (types: readonly number[]): number => types.reduce((sum, at) => sum + stated(at), 0);
  // If a guarantee states a family and types of it, the types' amounts are parts of the family's amount, unless their
  // sum is larger.
  const ofFamily = (family: number): number =>
    Number.isFinite(stated(family))
      ? Math.max(stated(family), sumOfTypes(members(family)))
      : sumOfTypes(members(family));
  const isCounted = (at: number): boolean => {
    const family = familyAt.get(at);
    return family === undefined || !Number.isFinite(stated(family));
  };
  const families = new Set(familyAt.values());
  const guaranteed: number[] = [];
  for (const position of positions) {
    let amount = stated(position);
    const family = familyAt.get(position);
    if (team.guarantee === undefined)
      amount = children.reduce((sum, child) => sum + (child.guaranteed[position] as number), 0);
    else if (position === ACCELERATORS_AT && isByTypeAlone)
      amount = ofTypes.filter(isCounted).reduce((sum, at) => sum + (families.has(at) ? ofFamily(at) : stated(at)), 0);
    else if (position >= FIRST_TYPE_AT && amount === Number.POSITIVE_INFINITY) {
      if (family !== undefined && Number.isFinite(stated(family))) amount = stated(family);
      else if (members(position).length > 0) amount = ofFamily(position);
      else amount = isByTypeAlone ? 0 : number;
    }
    guaranteed[position] = amount;
  }
  node.guaranteed = guaranteed;
}
