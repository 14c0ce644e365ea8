/**
 * Current usage of teams, and of users in teams, from which usage history is computed. It is kept only while a policy
 * needs it.
 */
import { milliIn, partsOf, NO_USE } from "@headroom/model";
import type { DecayedUsage, UseVector, Attempt, Workload, Rules } from "@headroom/model";
import { halfLifeOf } from "../usage/half-life.ts";
import type { HalfLife } from "../usage/half-life.ts";
import { isSteady, useAsOf } from "../usage/decayed-usage.ts";
import { importedUsage, usageKeysOf } from "../usage/imported-usage.ts";
import type { ReadonlyState } from "../state/state.ts";

const NO_IMPORTS: ReadonlyMap<string, DecayedUsage> = new Map();

export class DecayedUsageIndex {
  readonly #state: Pick<ReadonlyState, "decayedUsage" | "importedHistories" | "teams" | "workloads" | "attempts">;
  readonly #rates = new Map<string, [number, number, number]>();
  #halfLife: HalfLife | null;
  /** Averages of imported past work by key; `null`: they are computed when they are next read. */
  #imported: ReadonlyMap<string, DecayedUsage> | null = null;
  nowMs: number;

  constructor(state: ReadonlyState, rules: Rules) {
    this.#state = state;
    this.nowMs = state.nowMs;
    this.#halfLife = halfLifeUnder(rules);
  }

  /** Half-life of usage history, or `null` if usage history does not count. */
  get halfLife(): HalfLife | null {
    return this.#halfLife;
  }

  rate(key: string): UseVector {
    return this.#rates.get(key) ?? NO_USE;
  }

  rates(): ReadonlyMap<string, UseVector> {
    return this.#rates;
  }

  /**
   * The average in the step that contains the instant, in 2^-16 of the units. Without an instant, that of the round is
   * used.
   */
  average(key: string, nowMs: number = this.nowMs): UseVector {
    const halfLife = this.#halfLife;
    if (halfLife === null) return NO_USE;
    const use = this.#state.decayedUsage.get(key);
    const past = this.#importedUse(halfLife).get(key);
    const own =
      use === undefined
        ? NO_USE
        : useAsOf(use, halfLife, { rate: this.rate(key), nowMs: Math.max(use.atMs, nowMs) }).average;
    if (past === undefined) return own;
    const { average } = useAsOf(past, halfLife, { rate: NO_USE, nowMs: Math.max(past.atMs, nowMs) });
    return [own[0], own[1], own[2] + average[2]];
  }

  /** After the imported histories changed. */
  forgetImported(): void {
    this.#imported = null;
  }

  #importedUse(halfLife: HalfLife): ReadonlyMap<string, DecayedUsage> {
    if (this.#state.importedHistories.size === 0) return NO_IMPORTS;
    return (this.#imported ??= importedUsage(this.#state, halfLife));
  }

  /** Number of the current step. Usage history is constant within a step. */
  get step(): number {
    return this.#halfLife === null ? 0 : Math.floor(this.nowMs / this.#halfLife.stepMs);
  }

  /** Whether a new step has begun since that instant. */
  hasSteppedSince(atMs: number): boolean {
    return this.#halfLife !== null && Math.floor(atMs / this.#halfLife.stepMs) !== this.step;
  }

  /** Next instant at which usage history may change without events, or `null` if it never does. */
  nextStepAtMs(nowMs: number): number | null {
    const halfLife = this.#halfLife;
    if (halfLife === null) return null;
    const changes = ([key, use]: readonly [string, DecayedUsage]): boolean =>
      !isSteady(use, halfLife, { rate: this.rate(key), nowMs });
    const fades = (use: DecayedUsage): boolean => !isSteady(use, halfLife, { rate: NO_USE, nowMs });
    return [...this.#state.decayedUsage].some(changes) || [...this.#importedUse(halfLife).values()].some(fades)
      ? (Math.floor(nowMs / halfLife.stepMs) + 1) * halfLife.stepMs
      : null;
  }

  /** Recomputes everything under these rules. */
  rebuild(rules: Rules): void {
    this.#halfLife = halfLifeUnder(rules);
    this.#rates.clear();
    this.#imported = null;
    for (const attempt of this.#state.attempts.values()) this.count(attempt, 1);
  }

  /** Adds an attempt's usage (`sign` -1: subtracts it), from its placement until its end. */
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
      }
      accelerators += sign * milliIn(parts);
      this.#rates.set(key, [cores, memory, accelerators]);
    }
  }

  /**
   * Keys of the usage histories to which a workload's usage is added: those of the user in the team, of the team, and
   * of every team above.
   */
  keysOf({ spec, actor }: Pick<Workload, "spec" | "actor">): readonly string[] {
    return usageKeysOf(this.#state, spec.team, actor);
  }
}

/**
 * Half-life that applies under the rules. Rebalancing uses current usage only: otherwise work would be evicted and
 * started again as time passes.
 */
function halfLifeUnder({ teams: { usageHalfLifeMs }, phases }: Rules): HalfLife | null {
  return usageHalfLifeMs === null || phases.includes("rebalance") ? null : halfLifeOf(usageHalfLifeMs);
}
