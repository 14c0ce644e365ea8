/**
 * The inputs of rounds that recorded nothing: they are worth keeping, not worth a sync. They ride along with the next
 * group; only when many have gathered are they written by themselves.
 */
import type { Append } from "@headroom/journal";

/** What may be held back: an idle control plane makes a round with no event every few seconds. */
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
