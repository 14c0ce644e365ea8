/**
 * Quotas, recomputed from the teams and their usage: limits, guarantees as bounds of non-preemptible work, lending and
 * borrowing. An independent, recursive implementation without indexes.
 */
import { ALL_ACCELERATORS, RESOURCES_BESIDE_TYPES, rulesOf, isPreemptible } from "@headroom/model";
import type { Amounts, TeamName } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { withAncestors } from "@headroom/engine/internals";
import { heldByTeam, heldByUser, typeInFamily } from "./held-by-team.ts";
import type { TeamAmounts } from "./held-by-team.ts";
import { unguaranteed } from "./unguaranteed-recount.ts";

export interface QuotaAsked {
  readonly team: TeamName;
  /** The user whose user limits are checked. Absent: user limits are ignored. */
  readonly actor?: string;
  /** Whether the work is preemptible. */
  readonly isPreemptible: boolean;
  readonly more: TeamAmounts;
}

export interface QuotaView {
  allows(asked: QuotaAsked): boolean;
  /**
   * Amount of a resource that the team may still use, from its own quota and from quota that other teams lend. `null`
   * if no team states a guarantee of the resource.
   */
  available(team: TeamName, resource: string): number | null;
}

export function quotaView(state: ReadonlyState): QuotaView {
  const rules = rulesOf(state.policy);
  const held = heldByTeam(state);
  const fixed = heldByTeam(state, ({ spec }) => !isPreemptible(rules, spec));
  const named = new Set([...state.teams.values()].flatMap(({ guarantee }) => Object.keys(guarantee ?? {})));
  const available = (team: TeamName, resource: string): number | null =>
    named.has(resource) ? new Lending(state, held, resource).available(team) : null;
  const allows = ({ team, actor, isPreemptible: mayLeave, more }: QuotaAsked): boolean => {
    const line = withAncestors(state, team);
    const fits = (bounds: Amounts | undefined, used: TeamAmounts | undefined): boolean =>
      Object.entries(bounds ?? {}).every(([resource, most]) => {
        const asked = more.get(resource) ?? 0;
        return asked === 0 || (used?.get(resource) ?? 0) + asked <= most;
      });
    if (line.some((at) => isUsedUp(state, at))) return false;
    if (!line.every((at) => fits(state.teams.get(at)?.limit, held.get(at)))) return false;
    if (actor !== undefined && line.some((at) => state.teams.get(at)?.userLimit !== undefined)) {
      const own = heldByUser(state, actor);
      if (!line.every((at) => fits(state.teams.get(at)?.userLimit, own.get(at)))) return false;
    }
    const fitsGuarantee = (at: TeamName): boolean => {
      const guarantee = state.teams.get(at)?.guarantee;
      return fits(guarantee, fixed.get(at)) && !asksOtherTypes(state, guarantee, more);
    };
    if (mayLeave || rules.teams.nonPreemptible === "limit") return true;
    if (rules.teams.nonPreemptible === "guarantee") return line.every(fitsGuarantee);
    const statesOwn = Object.keys(state.teams.get(team)?.guarantee ?? {}).length > 0;
    return (statesOwn && fitsGuarantee(team)) || unguaranteed(state, fixed).leaves(team, more);
  };
  const lends = ({ team, more }: QuotaAsked): boolean =>
    rules.teams.overGuarantee === "idle" ||
    [...more].every(([resource, asked]) => asked === 0 || asked <= (available(team, resource) ?? asked));
  return { available, allows: (asked) => allows(asked) && lends(asked) };
}

const besideTypes: ReadonlySet<string> = new Set(RESOURCES_BESIDE_TYPES);

/**
 * Whether the request needs a type for which the team has no guarantee, because its guarantee names other types and no
 * total.
 */
function asksOtherTypes(state: ReadonlyState, guarantee: Amounts | undefined, more: TeamAmounts): boolean {
  const named = Object.keys(guarantee ?? {});
  const isByTypeAlone = !named.includes(ALL_ACCELERATORS) && named.some((resource) => !besideTypes.has(resource));
  if (!isByTypeAlone) return false;
  const families = new Set([...state.nodes.values()].flatMap(({ acceleratorFamily }) => acceleratorFamily ?? []));
  return [...more].some(([resource, asked]) => {
    if (asked === 0 || besideTypes.has(resource) || families.has(resource) || named.includes(resource)) return false;
    const { acceleratorFamily } = typeInFamily(state, resource);
    return acceleratorFamily === undefined || !named.includes(acceleratorFamily);
  });
}

/** Whether the team's budget of this period is recorded as used up and blocks starts. */
const isUsedUp = ({ accounts, teams }: ReadonlyState, team: TeamName): boolean =>
  (teams.get(team)?.budget?.over ?? "warn") !== "warn" && accounts.get(team)?.crossed?.percent === 100;

/** One resource in the quota tree (the arithmetic of Kueue's cohorts, resource_node.go). */
class Lending {
  readonly #state: ReadonlyState;
  readonly #held: ReadonlyMap<TeamName, TeamAmounts>;
  readonly #resource: string;

  constructor(state: ReadonlyState, held: ReadonlyMap<TeamName, TeamAmounts>, resource: string) {
    this.#state = state;
    this.#held = held;
    this.#resource = resource;
  }

  #children(team: TeamName): readonly TeamName[] {
    return [...this.#state.teams.values()].filter(({ parent }) => parent === team).map(({ name }) => name);
  }

  #stated(amounts: Amounts | undefined, missing: number): number {
    return amounts?.[this.#resource] ?? missing;
  }

  #heldBy(team: TeamName): number {
    return this.#held.get(team)?.get(this.#resource) ?? 0;
  }

  #quota(team: TeamName): number {
    const own = this.#stated(this.#state.teams.get(team)?.guarantee, 0);
    return this.#children(team).reduce((sum, child) => sum + this.#lent(child), own);
  }

  #lent(team: TeamName): number {
    return Math.min(
      this.#quota(team),
      this.#stated(this.#state.teams.get(team)?.lendingLimit, Number.POSITIVE_INFINITY),
    );
  }

  #kept(team: TeamName): number {
    return this.#quota(team) - this.#lent(team);
  }

  /**
   * Usage that counts against the team's quota: its own work, and the usage of its children beyond the part of their
   * quota that they do not lend.
   */
  #usage(team: TeamName): number {
    const children = this.#children(team);
    const own = children.reduce((rest, child) => rest - this.#heldBy(child), this.#heldBy(team));
    return children.reduce((sum, child) => sum + Math.max(0, this.#usage(child) - this.#kept(child)), own);
  }

  /** Amount that the team may still use within the quotas and limits of the team and all teams above it. */
  available(team: TeamName): number {
    const below = withAncestors(this.#state, team).map(
      (at) => this.#stated(this.#state.teams.get(at)?.limit, Number.POSITIVE_INFINITY) - this.#heldBy(at),
    );
    return Math.min(this.#lendable(team), ...below);
  }

  #lendable(team: TeamName): number {
    const declared = this.#state.teams.get(team);
    const usage = this.#usage(team);
    const parent = declared?.parent ?? null;
    if (parent === null) return this.#quota(team) - usage;
    const kept = this.#kept(team);
    const mayBorrow = this.#stated(declared?.borrowingLimit, Number.POSITIVE_INFINITY);
    const fromParent = Math.min(this.#lendable(parent), this.#lent(team) - Math.max(0, usage - kept) + mayBorrow);
    return Math.max(0, kept - usage) + fromParent;
  }
}
