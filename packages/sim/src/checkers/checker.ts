/**
 * Judges of a run. Each checker watches every round and throws when what it stands for is broken. None of them uses the
 * engine's indexes or its scheduling code: they look at the state, the events and the effects, and count for themselves.
 */
import type { SimulatedRound, SimulationObserver } from "../run/simulation.ts";
import { AttemptLives } from "./attempt-lives.ts";
import { checkConservation } from "./conservation.ts";
import { checkPlacements } from "./placements.ts";
import { checkQueue } from "./queue.ts";
import { checkTeamLimits } from "./team-limits.ts";

/** All checkers of a run, with whatever memory they need, as the run's observer. */
export class Checkers implements SimulationObserver {
  readonly #lives: AttemptLives;
  /** The journal of the run: what a restart would read. */
  readonly groups: NonNullable<SimulatedRound["ready"]["group"]>[] = [];

  constructor(lives: AttemptLives = new AttemptLives()) {
    this.#lives = lives;
  }

  onRound(round: SimulatedRound): void {
    if (round.ready.group !== null) this.groups.push(round.ready.group);
    this.#lives.onRound(round);
    checkConservation(round);
    checkPlacements(round);
    checkTeamLimits(round);
    checkQueue(round);
  }

  fork(): this {
    const copy = new Checkers(this.#lives.fork());
    copy.groups.push(...this.groups);
    return copy as this;
  }
}
