/** Accelerators held by each team and everything below it, by type. */
import type { TeamName } from "../model/ids.ts";
import type { Team } from "../model/team.ts";
import { invariant } from "./invariant.ts";

export interface LimitReached {
  readonly team: TeamName;
  readonly limitCount: number;
  readonly usedCount: number;
}

export class TeamUse {
  readonly #teams: ReadonlyMap<TeamName, Team>;
  readonly #used = new Map<TeamName, Map<string, number>>();
  /** Grows whenever a limit may have moved up; a release shows in `Capacity.freedEpoch`. */
  limitEpoch = 0;

  constructor(teams: ReadonlyMap<TeamName, Team>) {
    this.#teams = teams;
  }

  used(team: TeamName, type: string): number {
    return this.#used.get(team)?.get(type) ?? 0;
  }

  usedByType(team: TeamName): ReadonlyMap<string, number> {
    return this.#used.get(team) ?? new Map<string, number>();
  }

  /** Adds `count` (negative on release) to the team and all of its ancestors. */
  add(team: TeamName, type: string, count: number): void {
    if (count === 0) return;
    for (let at: TeamName | null = team; at !== null; at = this.#teams.get(at)?.parent ?? null) {
      let types = this.#used.get(at);
      if (types === undefined) {
        types = new Map();
        this.#used.set(at, types);
      }
      const after = (types.get(type) ?? 0) + count;
      invariant(after >= 0, `team ${at} would hold ${after} accelerators of type ${type}`);
      types.set(type, after);
    }
  }

  /** Takes what the team holds out of its ancestors, before its parent changes. */
  moveFrom(team: TeamName): void {
    this.#addToAncestors(team, -1);
  }

  /** Adds what the team holds to its ancestors, after its parent changed. */
  moveTo(team: TeamName): void {
    this.#addToAncestors(team, 1);
  }

  #addToAncestors(team: TeamName, sign: 1 | -1): void {
    const parent = this.#teams.get(team)?.parent ?? null;
    if (parent === null) return;
    for (const [type, count] of this.usedByType(team)) this.add(parent, type, sign * count);
  }

  /** The first limit, from the team up, that `count` more accelerators of a type would pass. */
  limitReached(team: TeamName, type: string, count: number): LimitReached | null {
    // Work without accelerators passes no limit, not even one that was lowered below what the team holds.
    if (count === 0) return null;
    for (let at: TeamName | null = team; at !== null;) {
      const found: Team | undefined = this.#teams.get(at);
      const limitCount = found?.limit[type];
      if (limitCount !== undefined && this.used(at, type) + count > limitCount)
        return { team: at, limitCount, usedCount: this.used(at, type) };
      at = found?.parent ?? null;
    }
    return null;
  }
}
