/**
 * Inputs of rounds without events. They are worth recording, but not worth a sync, so they are appended with the next
 * group. Only a large number of them is written separately.
 */
import type { Append } from "@headroom/journal";

/** Maximum number of rounds held in memory. An idle control plane has a round without events every few seconds. */
const ROUNDS_MAX = 1_024;
const ROUNDS_TEXT_MAX = 1024 * 1024;

type Round = Append["rounds"][number];

export class UnsyncedRounds {
  #rounds: Round[] = [];
  #textLength = 0;

  add(round: Round): void {
    this.#rounds.push(round);
    this.#textLength += round.inputs.length;
  }

  get isDue(): boolean {
    return this.#rounds.length >= ROUNDS_MAX || this.#textLength >= ROUNDS_TEXT_MAX;
  }

  takeAll(): readonly Round[] {
    const rounds = this.#rounds;
    this.#rounds = [];
    this.#textLength = 0;
    return rounds;
  }
}
