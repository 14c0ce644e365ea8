/** Arithmetic of amounts by resource position (`team-node.ts`): sums, and the first bound that an amount exceeds. */
import { ACCELERATORS_AT, amountAt, CORES_AT, MEMORY_AT, NETWORK_AT } from "./team-node.ts";
import type { Amount, AmountOfType, TeamNode } from "./team-node.ts";

/**
 * The first position at which usage plus amount exceeds a bound, or -1 if there is none. A resource of which the amount
 * is 0 exceeds no bound.
 */
export function passes(used: readonly number[], bound: readonly number[], amount: Amount): number {
  const over = (position: number, more: number): boolean =>
    more > 0 && position < bound.length && (used[position] ?? 0) + more > (bound[position] as number);
  if (over(CORES_AT, amount.coresMilli)) return CORES_AT;
  if (over(MEMORY_AT, amount.memoryMib)) return MEMORY_AT;
  if (over(ACCELERATORS_AT, amount.acceleratorsMilli)) return ACCELERATORS_AT;
  if (over(NETWORK_AT, amount.networkMilli)) return NETWORK_AT;
  if (amount.byType !== undefined) {
    for (const { typeAt, familyAt, acceleratorsMilli } of amount.byType) {
      if (over(typeAt, acceleratorsMilli)) return typeAt;
      if (familyAt !== undefined && over(familyAt, amountAt(amount, familyAt))) return familyAt;
    }
    return -1;
  }
  const { typeAt, familyAt, acceleratorsMilli } = amount;
  if (typeAt >= 0 && over(typeAt, acceleratorsMilli)) return typeAt;
  return familyAt !== undefined && over(familyAt, acceleratorsMilli) ? familyAt : -1;
}

/**
 * The position of the amount's type, if the guarantee names only other types and no total: the guarantee of this type
 * is then zero. Otherwise -1.
 */
export function passesOtherType({ guarantee, isByTypeAlone }: TeamNode, amount: Amount): number {
  if (!isByTypeAlone) return -1;
  const isNamed = (position: number | undefined): boolean =>
    position !== undefined && Number.isFinite(guarantee[position] ?? Number.POSITIVE_INFINITY);
  const isOther = ({ typeAt, familyAt, acceleratorsMilli }: AmountOfType): boolean =>
    typeAt >= 0 && acceleratorsMilli > 0 && !isNamed(typeAt) && !isNamed(familyAt);
  return (amount.byType ?? [amount]).find(isOther)?.typeAt ?? -1;
}

export function addAmount(vector: number[], amount: Amount, sign: 1 | -1): void {
  while (vector.length <= amount.typeAt) vector.push(0);
  addCompared(vector, amount, sign);
  if (amount.typeAt >= 0) vector[amount.typeAt] = (vector[amount.typeAt] as number) + sign * amount.acceleratorsMilli;
  if (amount.familyAt !== undefined) addAt(vector, amount.familyAt, sign * amount.acceleratorsMilli);
  for (const { typeAt, familyAt, acceleratorsMilli } of amount.byType ?? NO_TYPES) {
    addAt(vector, typeAt, sign * acceleratorsMilli);
    if (familyAt !== undefined) addAt(vector, familyAt, sign * acceleratorsMilli);
  }
}

function addAt(vector: number[], position: number, more: number): void {
  while (vector.length <= position) vector.push(0);
  vector[position] = (vector[position] as number) + more;
}

/**
 * Adds an amount's cores, memory, network bandwidth and total of accelerators to a vector. Amounts by type are left
 * out.
 */
export function addCompared(vector: number[], amount: Amount, sign: 1 | -1): void {
  while (vector.length <= NETWORK_AT) vector.push(0);
  vector[CORES_AT] = (vector[CORES_AT] as number) + sign * amount.coresMilli;
  vector[MEMORY_AT] = (vector[MEMORY_AT] as number) + sign * amount.memoryMib;
  vector[ACCELERATORS_AT] = (vector[ACCELERATORS_AT] as number) + sign * amount.acceleratorsMilli;
  vector[NETWORK_AT] = (vector[NETWORK_AT] as number) + sign * amount.networkMilli;
}

const NO_TYPES: NonNullable<Amount["byType"]> = [];

/** Sum of amounts, which may be on several types. */
export function sumOf(amounts: readonly Amount[]): Amount {
  const total = (of: (amount: Amount) => number): number => amounts.reduce((sum, amount) => sum + of(amount), 0);
  const byType = new Map<number, AmountOfType>();
  for (const { typeAt, familyAt, acceleratorsMilli: more } of amounts) {
    if (typeAt < 0 || more === 0) continue;
    const acceleratorsMilli = (byType.get(typeAt)?.acceleratorsMilli ?? 0) + more;
    byType.set(typeAt, { typeAt, ...(familyAt === undefined ? {} : { familyAt }), acceleratorsMilli });
  }
  return {
    typeAt: -1,
    acceleratorsMilli: total(({ acceleratorsMilli }) => acceleratorsMilli),
    coresMilli: total(({ coresMilli }) => coresMilli),
    memoryMib: total(({ memoryMib }) => memoryMib),
    networkMilli: total(({ networkMilli }) => networkMilli),
    byType: [...byType.values()],
  };
}

export function addVector(into: number[], from: readonly number[]): void {
  while (into.length < from.length) into.push(0);
  from.forEach((amount, position) => (into[position] = (into[position] as number) + amount));
}

/** Usage of the team's own work, without the usage of its children. */
export function ownPart(node: TeamNode): { used: number[]; fixed: number[] } {
  const used = [...node.used];
  const fixed = [...node.fixed];
  for (const child of node.children) {
    child.used.forEach((amount, position) => (used[position] = (used[position] ?? 0) - amount));
    child.fixed.forEach((amount, position) => (fixed[position] = (fixed[position] ?? 0) - amount));
  }
  return { used, fixed };
}
