/**
 * Finds the best node of one accelerator type for one shape of worker. The scores form a tournament tree in which ties
 * go to the node that joined first. A log of changed nodes updates the tree, so the cost of a decision depends on the
 * changes since the last decision and not on the size of the fleet.
 */

/** The score of a node that does not hold the worker. */
export const NO_ROOM: number = Number.NEGATIVE_INFINITY;

export class Ranking {
  readonly #leaves: number;
  readonly #scores: Float64Array;
  /** Position of the winner of each pairing; the root has index 1. */
  readonly #winners: Int32Array;
  /** Number of log entries that were processed. */
  seen = 0;
  /** Number of nodes that hold the worker. */
  roomCount = 0;

  constructor(count: number) {
    let leaves = 1;
    while (leaves < count) leaves *= 2;
    this.#leaves = leaves;
    this.#scores = new Float64Array(leaves).fill(NO_ROOM);
    this.#winners = new Int32Array(2 * leaves);
    for (let position = 0; position < leaves; position++) this.#winners[leaves + position] = position;
  }

  get best(): number {
    return this.#winners[1] as number;
  }

  scoreOf(position: number): number {
    return this.#scores[position] as number;
  }

  /** Computes the scores of all nodes. */
  fill(scoreAt: (position: number) => number, count: number): void {
    this.roomCount = 0;
    for (let position = 0; position < count; position++) {
      const score = scoreAt(position);
      if (score !== NO_ROOM) this.roomCount++;
      this.#scores[position] = score;
    }
    for (let pairing = this.#leaves - 1; pairing > 0; pairing--) this.#play(pairing);
  }

  set(position: number, score: number): void {
    const was = this.#scores[position] as number;
    if (was === score) return;
    this.roomCount += (score === NO_ROOM ? 0 : 1) - (was === NO_ROOM ? 0 : 1);
    this.#scores[position] = score;
    for (let pairing = (this.#leaves + position) >>> 1; pairing > 0; pairing >>>= 1) this.#play(pairing);
  }

  /** Position of the n-th node that holds the worker; n counts from 0. */
  withRoom(nth: number): number {
    let left = nth;
    let position = 0;
    for (; ; position++) if (this.#scores[position] !== NO_ROOM && left-- === 0) return position;
  }

  #play(pairing: number): void {
    const left = this.#winners[2 * pairing] as number;
    const right = this.#winners[2 * pairing + 1] as number;
    this.#winners[pairing] = (this.#scores[right] as number) > (this.#scores[left] as number) ? right : left;
  }
}
