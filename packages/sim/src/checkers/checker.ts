/**
 * Judges of a run. Each watches every round and throws when what it stands for is broken. What a state and a batch must keep
 * is the engine's own list of invariants, counted again without its indexes and its scheduling code; what takes a memory (the
 * life of every attempt) is followed here.
 */
import { type AttemptId } from "@headroom/engine";
import { checkBatch, checkState, waivedInvariants } from "@headroom/engine-oracle";
import type { SimulatedRound, SimulationObserver } from "../run/simulation.ts";

import { AttemptLives } from "./attempt-lives.ts";
import { Bounds } from "./bounds.ts";
import { Evictions } from "./evictions.ts";
import type { Waived } from "./evictions.ts";
import { Violation } from "./violation.ts";

/** All checkers of a run, with whatever memory they need, as the run's observer. */
export class Checkers implements SimulationObserver {
  readonly #lives: AttemptLives;
  #evictions: Evictions;
  #bounds = new Bounds();
  /** To whom places were promised after the round before. */
  #nominated: ReadonlySet<AttemptId> = new Set();
  /** The journal of the run: what a restart would read. */
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

  /** A fresh one of the same kind, for a fork. */
  protected make(lives: AttemptLives): this {
    return new Checkers(lives) as this;
  }
}
