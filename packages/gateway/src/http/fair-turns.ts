/**
 * Turns of connections that have sent several requests at once. Each answers a few of them and then waits for the others:
 * otherwise clients that send requests without end would keep the event loop.
 */

export interface TurnTaker {
  takeTurn(): void;
}

/** Number of requests that a connection may answer in one turn. */
export const TURN_REQUESTS = 8;
/** Number of turns before other events of the process are handled: about a millisecond of short answers. */
const TURNS_AT_A_TIME = 16;

export class FairTurns {
  #waiting: TurnTaker[] = [];
  #isScheduled = false;

  /** Calls `takeTurn` after the connections that wait already. */
  add(taker: TurnTaker): void {
    this.#waiting.push(taker);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isScheduled = false;
    // A connection that is not done waits again behind the others. A lone one goes on.
    for (let count = 0; count < TURNS_AT_A_TIME; count++) this.#waiting.shift()?.takeTurn();
    if (this.#waiting.length > 0) this.#schedule();
  }
}
