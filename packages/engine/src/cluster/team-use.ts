/**
 * Usage of each team with all teams below it, by resource. Work counts from its placement or nomination until it ends;
 * evicted work stops counting at once, because its capacity is given to the preemptor.
 */
import {
  ALL_ACCELERATORS,
  CORES,
  MEMORY,
  NETWORK,
  WHOLE_MILLI,
  shareOfMemory,
  milliOfPart,
  InvariantError,
} from "@headroom/model";
import type { TeamName, Amounts, Team, GangPart, WorkerShape, Rules, QuotaBound } from "@headroom/model";
import type { ReadonlyState } from "../state/state.ts";
import { QuotaIndex } from "./quota-index.ts";
import { addAmount, addCompared, addVector, ownPart, passes, passesOtherType, sumOf } from "./amount-vectors.ts";
import { isStatedByTypeAlone, setGuaranteed } from "./stated-guarantees.ts";
import type { FamilyAt } from "./stated-guarantees.ts";
import { ACCELERATORS_AT, COMPARED, FIRST_TYPE_AT, isUnder, NETWORK_AT, statedAmount } from "./team-node.ts";
import type { Amount, TeamNode } from "./team-node.ts";
import { UnusedGuarantees } from "./unused-guarantees.ts";
import { UserUse } from "./user-use.ts";
import type { Holder } from "./user-use.ts";

/**
 * A bound of a team that a request exceeds: its limit, a user limit, its guarantee or other teams' guarantees for
 * non-preemptible work, its borrowing limit, or a used-up budget.
 */
export interface QuotaReached {
  readonly bound: QuotaBound;
  readonly team: TeamName;
  readonly resource: string;
  /** The bound, in the unit in which the team states it. */
  readonly limit: number;
  /**
   * Usage that counts towards the bound. For a guarantee: the non-preemptible part. For a user limit: the usage of the
   * user. For other teams' guarantees: the non-preemptible usage of all teams, plus the unused guarantees.
   */
  readonly used: number;
  readonly user?: string;
}

/** Usage that would be released if some work of a team ended. */
export interface Freed extends Holder {
  readonly amount: Amount;
}

/** Usage that a check of quotas treats as released. `all`: the check is made as if no work ran. */
type Released = readonly Freed[] | "all";

const NO_RELEASE: readonly Freed[] = [];
const NOTHING_USED: readonly number[] = [];

export class TeamUse {
  readonly #state: Pick<ReadonlyState, "teams" | "pools">;
  readonly #nodes = new Map<TeamName, TeamNode>();
  readonly resources: string[] = [CORES, MEMORY, ALL_ACCELERATORS, NETWORK];
  readonly #positions = new Map(this.resources.map((resource, position) => [resource, position]));
  /** Family of each type; types without a family are left out. */
  readonly #families = new Map<string, string>();
  #ordinals = 0;
  /**
   * Grows whenever a limit may have been raised, or an eviction released quota below a limit. Other releases of usage
   * raise `Capacity.freedEpoch` instead.
   */
  limitEpoch = 0;
  useEpoch = 0;

  /** Capacity that teams may borrow, or `null` while the policy has no borrowing. */
  quota: QuotaIndex | null = null;
  #isBounded = false;
  #borrows: boolean;

  readonly users: UserUse = new UserUse();
  readonly unused: UnusedGuarantees = new UnusedGuarantees();
  /** Positions by which teams are compared: cores, memory, accelerators, and the types that any team states. */
  compared: readonly number[] = COMPARED;
  #ranksUsers = false;

  constructor(state: Pick<ReadonlyState, "teams" | "pools">, rules: Rules) {
    this.#state = state;
    this.#borrows = borrowsUnder(rules);
    this.refresh();
    this.heed(rules);
  }

  /** Sets whether the usage of users affects the order of waiting work, which determines how this work is indexed. */
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

  /** Whether any team or user has a quota that usage could reach. */
  get isBounded(): boolean {
    return this.#isBounded || this.users.isKept;
  }

  /** The position of a resource by its name. An accelerator type gets a position when it is first named. */
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
   * The worker shape with the fraction that quotas are charged while the place of the worker is not known. The fraction
   * is that of the smallest accelerator of the type (`""`: of any type) that has the requested memory, which is the
   * largest possible fraction. If no pool states enough memory, it is a whole accelerator.
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
    const amount = {
      typeAt: acceleratorType === "" ? -1 : this.position(acceleratorType),
      acceleratorsMilli:
        shape.acceleratorMemoryMib === undefined
          ? milliOfPart(part)
          : milliOfPart({ ...part, shape: this.charged(shape, acceleratorType) }),
      coresMilli: workers * shape.coresMilli,
      memoryMib: workers * shape.memoryMib,
      networkMilli: workers * (shape.networkGbps ?? 0) * 1000,
    };
    const family = this.#families.get(acceleratorType);
    return family === undefined ? amount : { ...amount, familyAt: this.position(family) };
  }

  /** Records the family of a type. Returns whether usage of the type has to be counted again. */
  setFamily(type: string, family: string | undefined): boolean {
    if (this.#families.get(type) === family) return false;
    if (family === undefined) this.#families.delete(type);
    else this.#families.set(type, family);
    this.refresh();
    const at = this.#positions.get(type);
    return at !== undefined && [...this.#nodes.values()].some(({ used }) => (used[at] ?? 0) > 0);
  }

  /**
   * Resources of workers of several kinds. `typeOf` returns the accelerator type of a part, or `""` if it is not
   * decided.
   */
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
    if (isFixed) this.unused.changed(this.node(team));
    for (let at: TeamNode | null = this.node(team); at !== null; at = at.parent) {
      addAmount(at.used, amount, sign);
      if (isFixed) addAmount(at.fixed, amount, sign);
      if ((at.used[ACCELERATORS_AT] as number) < 0)
        throw new InvariantError(`team ${at.name} would have a negative usage`);
    }
  }

  /**
   * Adds (1) or removes (-1) the amounts that a tentative plan books. They count like other amounts, and are marked as
   * tentative.
   */
  try(holder: Holder, amount: Amount, isFixed: boolean, sign: 1 | -1): void {
    this.add(holder, amount, isFixed, sign);
    addCompared(this.node(holder.team).tentative, amount, sign);
  }

  /** Accelerators of a type that the team with all teams below it holds; a fraction counts as a fraction. */
  used(team: TeamName, type: string): number {
    return (this.#nodes.get(team)?.used[this.position(type)] ?? 0) / 1000;
  }

  usedByType(team: TeamName): ReadonlyMap<string, number> {
    const used = this.#nodes.get(team)?.used ?? [];
    const types = new Map<string, number>();
    const families = new Set(this.#families.values());
    for (let at = NETWORK_AT; at < used.length; at++)
      if ((used[at] ?? 0) > 0 && !families.has(this.resources[at] as string))
        types.set(this.resources[at] as string, (used[at] as number) / 1000);
    return types;
  }

  /**
   * The first limit that `amount` would exceed: first the limits of the team and the teams above it, then the user
   * limits. `freed` is treated as released.
   */
  limitReached({ team, actor: user }: Holder, amount: Amount, freed: Released = NO_RELEASE): QuotaReached | null {
    for (let at: TeamNode | null = this.node(team); at !== null; at = at.parent) {
      const position = passes(this.#without(at, at.used, freed), at.limit, amount);
      if (position >= 0) return this.#reached("limit", at, position, at.used);
    }
    if (!this.users.isKept) return null;
    const own = freed === "all" ? freed : freed.filter(({ actor }) => actor === user);
    for (let at: TeamNode | null = this.node(team); at !== null; at = at.parent) {
      if (at.userLimit.length === 0) continue;
      const used = this.users.used(at.name, user);
      const position = passes(this.#without(at, used, own), at.userLimit, amount);
      if (position >= 0) return { ...this.#reached("userLimit", at, position, used), user };
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

  #without(node: TeamNode, all: readonly number[], freed: Released): readonly number[] {
    if (freed === "all") return NOTHING_USED;
    if (freed.length === 0) return all;
    const used = [...all];
    for (const { team, amount } of freed) if (isUnder(this.node(team), node)) addAmount(used, amount, -1);
    return used;
  }

  /**
   * The first guarantee that this amount of non-preemptible work would exceed, from the team up to the root. A
   * guarantee that is stated by type alone is zero for other types.
   */
  guaranteePassed(team: TeamName, amount: Amount, freed: Released = NO_RELEASE): QuotaReached | null {
    for (let at: TeamNode | null = this.node(team); at !== null; at = at.parent) {
      if (at.guarantee.length === 0) continue;
      const ofType = passesOtherType(at, amount);
      if (ofType >= 0) return { ...this.#reached("guarantee", at, ofType, at.fixed), limit: 0 };
      const position = passes(this.#without(at, at.fixed, freed), at.guarantee, amount);
      if (position >= 0) return this.#reached("guarantee", at, position, at.fixed);
    }
    return null;
  }

  #reached(
    bound: "limit" | "userLimit" | "guarantee",
    at: TeamNode,
    position: number,
    used: readonly number[],
  ): QuotaReached {
    return {
      bound: bound === "userLimit" ? "user" : bound,
      team: at.name,
      resource: this.resources[position] as string,
      limit: statedAmount(position, at[bound][position] ?? Number.POSITIVE_INFINITY),
      used: statedAmount(position, used[position] ?? 0),
    };
  }

  /** Resets all usage, before it is counted again under these rules. */
  forget(rules: Rules): void {
    this.#borrows = borrowsUnder(rules);
    this.users.clear();
    this.unused.clear();
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

  /** Reads the current team definitions. The usage of a team that has moved counts for its new ancestors. */
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
    const familyAt = this.#familyPositions();
    for (const root of this.roots()) setGuaranteed(root, this.compared, familyAt);
    this.unused.refresh(this.#nodes.values(), this.compared, familyAt);
    this.#indexQuota();
    this.#keepUsers();
  }

  #familyPositions(): FamilyAt {
    return new Map([...this.#families].map(([type, family]) => [this.position(type), this.position(family)]));
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

  /** Stated amounts by position, in the units of usage. `missing`: the value for resources that are not stated. */
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

const borrowsUnder = ({ teams }: Rules): boolean => teams.overGuarantee === "borrow";
