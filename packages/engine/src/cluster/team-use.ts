/**
 * Usage of each team with all teams below it, by resource. Work counts from its placement or nomination until it ends;
 * evicted work stops counting at once, because its capacity is given to the preemptor.
 */
import type { TeamName } from "../model/ids.ts";
import { ALL_ACCELERATORS, CORES, MEMORY, NETWORK } from "../model/team.ts";
import type { Amounts, Team } from "../model/team.ts";
import { WHOLE_MILLI, shareOfMemory } from "../model/device-part.ts";
import { milliOfPart } from "../model/gang.ts";
import type { GangPart } from "../model/gang.ts";
import type { WorkerShape } from "../model/workload.ts";
import type { Rules } from "../policy/rules.ts";
import type { ReadonlyState } from "../state/state.ts";
import { InvariantError } from "../base/invariant.ts";
import { QuotaIndex } from "./quota-index.ts";
import {
  ACCELERATORS_AT,
  COMPARED,
  CORES_AT,
  FIRST_TYPE_AT,
  isUnder,
  MEMORY_AT,
  NETWORK_AT,
  statedAmount,
} from "./team-node.ts";
import type { Amount, TeamNode } from "./team-node.ts";
import { UserUse } from "./user-use.ts";
import type { Holder } from "./user-use.ts";
import type { QuotaBound } from "../contract/verdicts.ts";

/**
 * A bound of a team: its limit, a user limit, its guarantee for non-preemptible work, its borrowing limit, or a spent
 * budget.
 */

export interface QuotaReached {
  readonly bound: QuotaBound;
  readonly team: TeamName;
  /** The resource as teams name it. */
  readonly resource: string;
  /** In the unit in which the team states it. */
  readonly limit: number;
  /** Usage that counts towards the bound: for a guarantee the non-preemptible part, for a user limit the user's. */
  readonly used: number;
  /** The user whose limit is reached. */
  readonly user?: string;
}

/** Usage that would be released if some work of a team ended. */
export interface Freed extends Holder {
  readonly amount: Amount;
}

export class TeamUse {
  readonly #state: Pick<ReadonlyState, "teams" | "pools">;
  readonly #nodes = new Map<TeamName, TeamNode>();
  /** Resource names by position. */
  readonly resources: string[] = [CORES, MEMORY, ALL_ACCELERATORS, NETWORK];
  readonly #positions = new Map(this.resources.map((resource, position) => [resource, position]));
  #ordinals = 0;
  /**
   * Grows whenever a limit may have been raised, or an eviction freed quota below one; a release shows in
   * `Capacity.freedEpoch`.
   */
  limitEpoch = 0;
  /** Grows whenever any team's usage changes, tentatively or not. */
  useEpoch = 0;

  /** Borrowable capacity; `null` while the policy has no borrowing. */
  quota: QuotaIndex | null = null;
  #isBounded = false;
  #borrows: boolean;

  readonly users: UserUse = new UserUse();
  /** Positions by which teams are compared: cores, memory, accelerators, and the types that any team states. */
  compared: readonly number[] = COMPARED;
  #ranksUsers = false;

  constructor(state: Pick<ReadonlyState, "teams" | "pools">, rules: Rules) {
    this.#state = state;
    this.#borrows = borrowsUnder(rules);
    this.refresh();
    this.heed(rules);
  }

  /** Whether the order asks what users hold is as these rules say: it decides by what waiting work is filed. */
  heed({ order }: Rules): void {
    this.#ranksUsers = order.includes("user");
    this.#keepUsers();
  }

  #comparedPositions(): readonly number[] {
    const types = new Set<number>();
    for (const { guarantee = {}, limit } of this.#state.teams.values())
      for (const resource of [...Object.keys(guarantee), ...Object.keys(limit)]) types.add(this.position(resource));
    const named = [...types].filter((position) => position >= FIRST_TYPE_AT);
    return named.length === 0 ? COMPARED : [...COMPARED, ...named.toSorted((left, right) => left - right)];
  }

  #keepUsers(): void {
    this.users.isKept =
      this.#ranksUsers || [...this.#state.teams.values()].some(({ userLimit }) => userLimit !== undefined);
  }

  node(name: TeamName): TeamNode {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new InvariantError(`no team ${name}`);
    return node;
  }

  /** Teams without a parent, in order of definition. */
  roots(): readonly TeamNode[] {
    return [...this.#nodes.values()].filter(({ parent }) => parent === null);
  }

  nodes(): IterableIterator<TeamNode> {
    return this.#nodes.values();
  }

  /** Whether any quota is stated that a team or a user could reach. */
  get isBounded(): boolean {
    return this.#isBounded || this.users.isKept;
  }

  /** The position of a resource by its name; accelerator types get theirs when first named. */
  position(resource: string): number {
    const known = this.#positions.get(resource);
    if (known !== undefined) return known;
    this.#positions.set(resource, this.resources.length);
    return this.resources.push(resource) - 1;
  }

  amountOf(shape: WorkerShape, workers: number, acceleratorType: string): Amount {
    return this.#amountOfPart({ shape, workers }, acceleratorType);
  }

  /**
   * The shape with the fraction that quotas are charged before its place is known: of the smallest accelerator of the type (`""`: of
   * any) that holds the memory it asks for, which is the largest fraction; a whole one where no pool states so much.
   */
  charged(shape: WorkerShape, acceleratorType: string): WorkerShape {
    const { acceleratorMemoryMib: asked, shareMilli } = shape;
    if (asked === undefined || shareMilli !== undefined) return shape;
    let charged = 0;
    for (const pool of this.#state.pools.values()) {
      if (acceleratorType !== "" && pool.acceleratorType !== acceleratorType) continue;
      const share = shareOfMemory(asked, pool.acceleratorMemoryMib);
      if (share <= WHOLE_MILLI) charged = Math.max(charged, share);
    }
    return { ...shape, shareMilli: charged === 0 ? WHOLE_MILLI : charged };
  }

  #amountOfPart(part: GangPart, acceleratorType: string): Amount {
    const { shape, workers } = part;
    return {
      typeAt: acceleratorType === "" ? -1 : this.position(acceleratorType),
      acceleratorsMilli:
        shape.acceleratorMemoryMib === undefined
          ? milliOfPart(part)
          : milliOfPart({ ...part, shape: this.charged(shape, acceleratorType) }),
      coresMilli: workers * shape.coresMilli,
      memoryMib: workers * shape.memoryMib,
      networkMilli: workers * (shape.networkGbps ?? 0) * 1000,
    };
  }

  /** Resources of workers of several kinds; `typeOf`: the type of a part, `""` if it is open. */
  amountOfParts(parts: readonly GangPart[], typeOf: (part: GangPart) => string): Amount {
    const [only] = parts;
    if (only !== undefined && parts.length === 1) return this.#amountOfPart(only, typeOf(only));
    return sumOf(parts.map((part) => this.#amountOfPart(part, typeOf(part))));
  }

  /** Adds an amount (`sign` -1: subtracts it) to the team and all of its ancestors. */
  add(holder: Holder, amount: Amount, isFixed: boolean, sign: 1 | -1): void {
    const { team } = holder;
    this.useEpoch++;
    this.quota?.add(team, amount, sign);
    if (this.users.isKept) this.addForUser(holder, amount, sign);
    for (let at: TeamNode | null = this.node(team); at !== null; at = at.parent) {
      addAmount(at.used, amount, sign);
      if (isFixed) addAmount(at.fixed, amount, sign);
      if ((at.used[ACCELERATORS_AT] as number) < 0)
        throw new InvariantError(`team ${at.name} would hold less than nothing`);
    }
  }

  /** Adds or removes the bookings of a tentative plan: they count like the rest and are marked as tentative. */
  try(holder: Holder, amount: Amount, isFixed: boolean, sign: 1 | -1): void {
    this.add(holder, amount, isFixed, sign);
    addCompared(this.node(holder.team).tentative, amount, sign);
  }

  /** Accelerators of a type that the team with all teams below it holds; a fraction counts as such. */
  used(team: TeamName, type: string): number {
    return (this.#nodes.get(team)?.used[this.position(type)] ?? 0) / 1000;
  }

  usedByType(team: TeamName): ReadonlyMap<string, number> {
    const used = this.#nodes.get(team)?.used ?? [];
    const types = new Map<string, number>();
    for (let at = NETWORK_AT; at < used.length; at++)
      if ((used[at] ?? 0) > 0) types.set(this.resources[at] as string, (used[at] as number) / 1000);
    return types;
  }

  /**
   * The first limit exceeded by `amount`, walking from the team to the root and treating `freed` as released; then user
   * limits.
   */
  limitReached({ team, actor }: Holder, amount: Amount, freed: readonly Freed[] = []): QuotaReached | null {
    for (let at: TeamNode | null = this.node(team); at !== null; at = at.parent) {
      const position = passes(freed.length === 0 ? at.used : this.#without(at, at.used, freed), at.limit, amount);
      if (position >= 0) return this.#reached(at, position);
    }
    return this.users.isKept ? this.#userLimitReached({ team, actor }, amount, freed) : null;
  }

  /** Whether this amount alone exceeds a limit of the team, of one above it or of a user there. */
  isTooMuch(team: TeamName, amount: Amount, heeded: "limits" | "guarantees"): boolean {
    for (let at: TeamNode | null = this.node(team); at !== null; at = at.parent) {
      const { limit, userLimit, guarantee } = at;
      const bounds = heeded === "guarantees" ? [limit, userLimit, guarantee] : [limit, userLimit];
      if (bounds.some((bound) => passes([], bound, amount) >= 0)) return true;
    }
    return false;
  }

  #userLimitReached({ team, actor: user }: Holder, amount: Amount, freed: readonly Freed[]): QuotaReached | null {
    const own = freed.filter(({ actor }) => actor === user);
    for (let at: TeamNode | null = this.node(team); at !== null; at = at.parent) {
      if (at.userLimit.length === 0) continue;
      const used = this.users.used(at.name, user);
      const position = passes(own.length === 0 ? used : this.#without(at, used, own), at.userLimit, amount);
      if (position < 0) continue;
      return {
        bound: "user",
        team: at.name,
        resource: this.resources[position] as string,
        limit: statedAmount(position, at.userLimit[position] as number),
        used: statedAmount(position, used[position] ?? 0),
        user,
      };
    }
    return null;
  }

  /** Adds an amount to the user's usage of the team and of all of its ancestors. */
  addForUser({ team, actor }: Holder, amount: Amount, sign: 1 | -1): void {
    for (let at: TeamNode | null = this.node(team); at !== null; at = at.parent) {
      addAmount(this.users.of(at, actor), amount, sign);
      if (sign === -1) this.users.markClean(at, actor);
    }
  }

  #without(node: TeamNode, all: readonly number[], freed: readonly Freed[]): readonly number[] {
    const used = [...all];
    for (const { team, amount } of freed) if (isUnder(this.node(team), node)) addAmount(used, amount, -1);
    return used;
  }

  /**
   * The first guarantee, walking from the team to the root, that this amount of non-preemptible work would exceed; a
   * guarantee stated by type alone is zero for other types.
   */
  guaranteePassed(team: TeamName, amount: Amount): QuotaReached | null {
    for (let at: TeamNode | null = this.node(team); at !== null; at = at.parent) {
      if (at.guarantee.length === 0) continue;
      const ofType = passesOtherType(at, amount);
      const position = ofType >= 0 ? ofType : passes(at.fixed, at.guarantee, amount);
      if (position >= 0)
        return {
          bound: "guarantee",
          team: at.name,
          resource: this.resources[position] as string,
          limit: ofType >= 0 ? 0 : statedAmount(position, at.guarantee[position] as number),
          used: statedAmount(position, at.fixed[position] ?? 0),
        };
    }
    return null;
  }

  #reached(at: TeamNode, position: number): QuotaReached {
    return {
      bound: "limit",
      team: at.name,
      resource: this.resources[position] as string,
      limit: statedAmount(position, at.limit[position] ?? Number.POSITIVE_INFINITY),
      used: statedAmount(position, at.used[position] ?? 0),
    };
  }

  /** Resets all usage, before it is recounted under these rules. */
  forget(rules: Rules): void {
    this.#borrows = borrowsUnder(rules);
    this.users.clear();
    for (const node of this.#nodes.values()) {
      node.used.length = 0;
      node.fixed.length = 0;
    }
    this.#indexQuota();
  }

  /** Rebuilds the quota tree from the usage of the teams' own work. */
  #indexQuota(): void {
    const nodes = [...this.#nodes.values()];
    this.quota = this.#borrows ? new QuotaIndex(nodes, (resource) => this.position(resource)) : null;
    this.#isBounded =
      this.quota !== null || nodes.some(({ limit, guarantee }) => limit.length > 0 || guarantee.length > 0);
    if (this.quota === null) return;
    const { tree, positions } = this.quota;
    for (const node of nodes) {
      const { used } = ownPart(node);
      tree.add(
        this.quota.leaf(node.name),
        positions.map((at) => used[at] ?? 0),
      );
    }
  }

  /** Takes over the current team definitions; usage moves with teams that moved. */
  refresh(): void {
    this.useEpoch++;
    const own = new Map<TeamName, { used: number[]; fixed: number[] }>();
    for (const node of this.#nodes.values()) own.set(node.name, ownPart(node));
    for (const name of this.#nodes.keys()) if (!this.#state.teams.has(name)) this.#nodes.delete(name);
    for (const team of this.#state.teams.values()) this.#define(team);
    for (const node of this.#nodes.values()) {
      node.parent = node.team.parent === null ? null : (this.#nodes.get(node.team.parent) ?? null);
      node.children.length = 0;
      node.used.length = 0;
      node.fixed.length = 0;
    }
    for (const node of this.#nodes.values()) {
      node.parent?.children.push(node);
      const part = own.get(node.name);
      if (part === undefined) continue;
      for (let at: TeamNode | null = node; at !== null; at = at.parent) {
        addVector(at.used, part.used);
        addVector(at.fixed, part.fixed);
      }
    }
    this.compared = this.#comparedPositions();
    for (const root of this.roots()) setGuaranteed(root, this.compared);
    this.#indexQuota();
    this.#keepUsers();
  }

  #define(team: Team): void {
    const known = this.#nodes.get(team.name);
    const limit = this.#vector(team.limit, Number.POSITIVE_INFINITY);
    const userLimit = team.userLimit === undefined ? [] : this.#vector(team.userLimit, Number.POSITIVE_INFINITY);
    const guarantee = team.guarantee === undefined ? [] : this.#vector(team.guarantee, Number.POSITIVE_INFINITY);
    const isByTypeAlone = isStatedByTypeAlone(guarantee);
    if (known !== undefined) {
      known.team = team;
      known.limit = limit;
      known.userLimit = userLimit;
      known.guarantee = guarantee;
      known.isByTypeAlone = isByTypeAlone;
      return;
    }
    const ordinal = this.#ordinals++;
    this.#nodes.set(team.name, {
      name: team.name,
      team,
      parent: null,
      children: [],
      ordinal,
      used: [],
      fixed: [],
      tentative: [],
      limit,
      userLimit,
      guarantee,
      isByTypeAlone,
      guaranteed: [],
    });
  }

  /** Stated amounts by position, in the units of usage; `missing` for those not stated. */
  #vector(amounts: Amounts, missing: number): number[] {
    const vector: number[] = [];
    for (const [resource, amount] of Object.entries(amounts)) {
      const position = this.position(resource);
      while (vector.length <= position) vector.push(missing);
      vector[position] = position >= ACCELERATORS_AT ? Math.round(amount * 1000) : amount;
    }
    return vector;
  }
}

const isStatedByTypeAlone = (guarantee: readonly number[]): boolean =>
  (guarantee[ACCELERATORS_AT] ?? Number.POSITIVE_INFINITY) === Number.POSITIVE_INFINITY &&
  guarantee.some((amount, position) => position >= FIRST_TYPE_AT && Number.isFinite(amount));

function setGuaranteed(node: TeamNode, positions: readonly number[]): void {
  for (const child of node.children) setGuaranteed(child, positions);
  const { guarantee, isByTypeAlone, team, children } = node;
  const stated = (position: number): number => guarantee[position] ?? Number.POSITIVE_INFINITY;
  const ofTypes = positions.filter((at) => at >= FIRST_TYPE_AT && Number.isFinite(stated(at)));
  const number = stated(ACCELERATORS_AT);
  const guaranteed: number[] = [];
  for (const position of positions) {
    let amount = stated(position);
    if (team.guarantee === undefined)
      amount = children.reduce((sum, child) => sum + (child.guaranteed[position] as number), 0);
    else if (position === ACCELERATORS_AT && isByTypeAlone) amount = ofTypes.reduce((sum, at) => sum + stated(at), 0);
    else if (position >= FIRST_TYPE_AT && amount === Number.POSITIVE_INFINITY) amount = isByTypeAlone ? 0 : number;
    guaranteed[position] = amount;
  }
  node.guaranteed = guaranteed;
}

const borrowsUnder = ({ teams }: Rules): boolean => teams.overGuarantee === "borrow";

/**
 * The first position at which usage and amount together exceed a bound; -1 if none. Resources with amount 0 exceed
 * nothing.
 */
function passes(used: readonly number[], bound: readonly number[], amount: Amount): number {
  const over = (position: number, more: number): boolean =>
    more > 0 && position < bound.length && (used[position] ?? 0) + more > (bound[position] as number);
  if (over(CORES_AT, amount.coresMilli)) return CORES_AT;
  if (over(MEMORY_AT, amount.memoryMib)) return MEMORY_AT;
  if (over(ACCELERATORS_AT, amount.acceleratorsMilli)) return ACCELERATORS_AT;
  if (over(NETWORK_AT, amount.networkMilli)) return NETWORK_AT;
  if (amount.byType !== undefined)
    return amount.byType.find(({ typeAt, acceleratorsMilli }) => over(typeAt, acceleratorsMilli))?.typeAt ?? -1;
  return amount.typeAt >= 0 && over(amount.typeAt, amount.acceleratorsMilli) ? amount.typeAt : -1;
}

/** The type of the amount that a guarantee stated by type alone does not name, so that it is zero; else -1. */
function passesOtherType(
  { guarantee, isByTypeAlone }: TeamNode,
  { typeAt, acceleratorsMilli, byType }: Amount,
): number {
  if (!isByTypeAlone) return -1;
  const isOther = (position: number, more: number): boolean =>
    position >= 0 && more > 0 && !Number.isFinite(guarantee[position] ?? Number.POSITIVE_INFINITY);
  if (byType === undefined) return isOther(typeAt, acceleratorsMilli) ? typeAt : -1;
  return byType.find((each) => isOther(each.typeAt, each.acceleratorsMilli))?.typeAt ?? -1;
}

function addAmount(vector: number[], amount: Amount, sign: 1 | -1): void {
  while (vector.length <= amount.typeAt) vector.push(0);
  addCompared(vector, amount, sign);
  if (amount.typeAt >= 0) vector[amount.typeAt] = (vector[amount.typeAt] as number) + sign * amount.acceleratorsMilli;
  for (const { typeAt, acceleratorsMilli } of amount.byType ?? NO_TYPES) {
    while (vector.length <= typeAt) vector.push(0);
    vector[typeAt] = (vector[typeAt] as number) + sign * acceleratorsMilli;
  }
}

/** All but the amounts by type. */
function addCompared(vector: number[], amount: Amount, sign: 1 | -1): void {
  while (vector.length <= NETWORK_AT) vector.push(0);
  vector[CORES_AT] = (vector[CORES_AT] as number) + sign * amount.coresMilli;
  vector[MEMORY_AT] = (vector[MEMORY_AT] as number) + sign * amount.memoryMib;
  vector[ACCELERATORS_AT] = (vector[ACCELERATORS_AT] as number) + sign * amount.acceleratorsMilli;
  vector[NETWORK_AT] = (vector[NETWORK_AT] as number) + sign * amount.networkMilli;
}

const NO_TYPES: NonNullable<Amount["byType"]> = [];

/** Amounts of several types together. */
function sumOf(amounts: readonly Amount[]): Amount {
  const total = (of: (amount: Amount) => number): number => amounts.reduce((sum, amount) => sum + of(amount), 0);
  const milliByType = new Map<number, number>();
  for (const { typeAt, acceleratorsMilli } of amounts)
    if (typeAt >= 0 && acceleratorsMilli > 0)
      milliByType.set(typeAt, (milliByType.get(typeAt) ?? 0) + acceleratorsMilli);
  return {
    typeAt: -1,
    acceleratorsMilli: total(({ acceleratorsMilli }) => acceleratorsMilli),
    coresMilli: total(({ coresMilli }) => coresMilli),
    memoryMib: total(({ memoryMib }) => memoryMib),
    networkMilli: total(({ networkMilli }) => networkMilli),
    byType: [...milliByType].map(([typeAt, acceleratorsMilli]) => ({ typeAt, acceleratorsMilli })),
  };
}

function addVector(into: number[], from: readonly number[]): void {
  while (into.length < from.length) into.push(0);
  from.forEach((amount, position) => (into[position] = (into[position] as number) + amount));
}

/** Usage of the team's own work, without that of its children. */
function ownPart(node: TeamNode): { used: number[]; fixed: number[] } {
  const used = [...node.used];
  const fixed = [...node.fixed];
  for (const child of node.children) {
    child.used.forEach((amount, position) => (used[position] = (used[position] ?? 0) - amount));
    child.fixed.forEach((amount, position) => (fixed[position] = (fixed[position] ?? 0) - amount));
  }
  return { used, fixed };
}
