/** What is held now by teams and by users in teams, for the record of past use: counted only while a policy wants it. */
import { milliOf, partsOf } from "../model/gang.ts";
import { NO_USE } from "../model/usage-history.ts";
import type { DecayedUsage, UseVector } from "../model/usage-history.ts";
import type { TeamName } from "../model/ids.ts";
import type { Attempt, Workload } from "../model/workload.ts";
import { halfLifeOf } from "../usage/half-life.ts";
import type { HalfLife } from "../usage/half-life.ts";
import { isSteady, useAsOf } from "../usage/decayed-usage.ts";
import type { Rules } from "../policy/rules.ts";
import type { ReadonlyState } from "../state/state.ts";

/** Under which a team's past use is kept, or that of one user in the team; no name has a line break. */
export const usageKey = (team: TeamName, user?: string): string => (user === undefined ? team : `${team}\n${user}`);

export class DecayedUsageIndex {
  readonly #state: Pick<ReadonlyState, "decayedUsage" | "teams" | "workloads" | "attempts">;
  readonly #rates = new Map<string, [number, number, number]>();
  #halfLife: HalfLife | null;
  /** The instant of the round. */
  nowMs: number;

  constructor(state: ReadonlyState, rules: Rules) {
    this.#state = state;
    this.nowMs = state.nowMs;
    this.#halfLife = halfLifeUnder(rules);
  }

  /** `null`: past use does not count. */
  get halfLife(): HalfLife | null {
    return this.#halfLife;
  }

  rate(key: string): UseVector {
    return this.#rates.get(key) ?? NO_USE;
  }

  rates(): ReadonlyMap<string, UseVector> {
    return this.#rates;
  }

  /** The average as of the step that the instant lies in, in 2^-16 of the units; the instant of the round, if none is given. */
  average(key: string, nowMs: number = this.nowMs): UseVector {
    const use = this.#state.decayedUsage.get(key);
    if (use === undefined || this.#halfLife === null) return NO_USE;
    return useAsOf(use, this.#halfLife, { rate: this.rate(key), nowMs: Math.max(use.atMs, nowMs) }).average;
  }

  /** Numbers the steps: within one, past use is what it is. */
  get step(): number {
    return this.#halfLife === null ? 0 : Math.floor(this.nowMs / this.#halfLife.stepMs);
  }

  /** Whether another step has begun since. */
  hasMovedSince(atMs: number): boolean {
    return this.#halfLife !== null && Math.floor(atMs / this.#halfLife.stepMs) !== this.step;
  }

  /** When past use may be another, if nothing happens; `null`: never. */
  nextStepAtMs(nowMs: number): number | null {
    const halfLife = this.#halfLife;
    if (halfLife === null) return null;
    const moves = ([key, use]: readonly [string, DecayedUsage]): boolean =>
      !isSteady(use, halfLife, { rate: this.rate(key), nowMs });
    return [...this.#state.decayedUsage].some(moves)
      ? (Math.floor(nowMs / halfLife.stepMs) + 1) * halfLife.stepMs
      : null;
  }

  /** Counts everything anew, under the rules as they are now. */
  rebuild(rules: Rules): void {
    this.#halfLife = halfLifeUnder(rules);
    this.#rates.clear();
    for (const attempt of this.#state.attempts.values()) this.count(attempt, 1);
  }

  /** Adds what an attempt holds (`sign` -1: takes it away), from its placing until it has ended. */
  count(attempt: Attempt, sign: 1 | -1): void {
    if (this.#halfLife === null) return;
    const workload = this.#state.workloads.get(attempt.workloadId);
    if (workload === undefined) return;
    const all = attempt.terminating === undefined ? attempt.workers : [...attempt.workers, ...attempt.terminating];
    const parts = partsOf(workload.spec.gang, all);
    for (const key of this.keysOf(workload)) {
      let [cores, memory, accelerators] = this.rate(key);
      for (const { shape, workers } of parts) {
        cores += sign * workers * shape.coresMilli;
        memory += sign * workers * shape.memoryMib;
        accelerators += sign * workers * shape.accelerators * milliOf(shape);
      }
      this.#rates.set(key, [cores, memory, accelerators]);
    }
  }

  /** For whom its use counts: its user in its team, the team, and every team above it. */
  keysOf({ spec, actor }: Pick<Workload, "spec" | "actor">): readonly string[] {
    const keys = [usageKey(spec.team, actor)];
    for (let at: TeamName | null = spec.team; at !== null; at = this.#state.teams.get(at)?.parent ?? null)
      keys.push(usageKey(at));
    return keys;
  }
}

/** What is filled up anew follows what is held now: otherwise it would be taken and given back as time goes by. */
function halfLifeUnder({ teams: { usageHalfLifeMs }, phases }: Rules): HalfLife | null {
  return usageHalfLifeMs === null || phases.includes("rebalance") ? null : halfLifeOf(usageHalfLifeMs);
}
