/**
 * Checkers of a simulated run. Each checker observes every round and throws an error when its rule is broken. Rules on
 * a state or a batch are the engine's invariants, recomputed without its indexes and scheduling code. Rules that need
 * history, such as the lifecycle of attempts, keep their history here.
 */
import type { AttemptId } from "@headroom/model";
import { checkBatch, checkState, waivedInvariants } from "@headroom/engine-oracle";
import type { SimulatedRound, SimulationObserver } from "../run/simulation.ts";

import { AttemptLives } from "./attempt-lives.ts";
import { Bounds } from "./bounds.ts";
import { Evictions } from "./evictions.ts";
import type { Waived } from "./evictions.ts";
import { Violation } from "./violation.ts";

/** One observer that passes every round to all checkers of a run. */
export class Checkers implements SimulationObserver {
  readonly #lives: AttemptLives;
  #evictions: Evictions;
  #bounds = new Bounds();
  /** Tasks that were nominated after the previous round. */
  #nominated: ReadonlySet<AttemptId> = new Set();
  /** The journal of the run, as a control plane reads it at a restart. */
  readonly groups: NonNullable<SimulatedRound["ready"]["group"]>[] = [];

  constructor(lives: AttemptLives = new AttemptLives(), waivedUnder: Waived = waivedInvariants) {
    this.#lives = lives;
    this.#evictions = new Evictions(waivedUnder);
  }

  onRound(round: SimulatedRound): void {
    const { ready, engine } = round;
    if (ready.group !== null) this.groups.push(ready.group);
    this.#lives.onRound(round);
    this.#evictions.onRound(round);
    this.#bounds.onRound(round);
    const broken = [...checkState(engine.state, ready.atMs), ...checkBatch(engine.state, ready, this.#nominated)];
    this.#nominated = new Set(engine.state.nominations.keys());
    if (broken.length > 0) throw new Violation(broken.join("; "));
  }

  fork(): this {
    const copy = this.make(this.#lives.fork());
    copy.groups.push(...this.groups);
    copy.#nominated = this.#nominated;
    copy.#evictions = this.#evictions.fork();
    copy.#bounds = this.#bounds.fork();
    return copy;
  }

  /** A new checker of the same kind, for a fork of the run. */
  protected make(lives: AttemptLives): this {
    return new Checkers(lives) as this;
  }
}
