/** Forecast of tariffs from an instant on, in periods, computed as far as it is read. */
import type { ReadonlyState } from "../state/state.ts";
import { figuresAt, nextTariffChangeMs } from "./tariffs.ts";
import type { Figures } from "./tariffs.ts";

/** A period in which no tariff changes. */
export interface Piece {
  readonly fromMs: number;
  /** `Infinity`: no further change. */
  readonly untilMs: number;
  readonly figures: Figures;
}

/** Maximum number of tariff changes that are read: weeks of hourly ones. */
const PIECES_MAX = 1000;

export class PowerForecast {
  readonly #state: ReadonlyState;
  readonly #pieces: Piece[] = [];
  #nextMs: number;

  constructor(state: ReadonlyState, fromMs: number) {
    this.#state = state;
    this.#nextMs = fromMs;
  }

  /**
   * The period at an index; period 0 contains the first instant. `undefined`: beyond the last change, or the maximum.
   */
  at(index: number): Piece | undefined {
    while (this.#pieces.length <= index) {
      const fromMs = this.#nextMs;
      if (fromMs === Number.POSITIVE_INFINITY || this.#pieces.length === PIECES_MAX) return undefined;
      const untilMs = nextTariffChangeMs(this.#state, fromMs) ?? Number.POSITIVE_INFINITY;
      this.#pieces.push({ fromMs, untilMs, figures: figuresAt(this.#state, fromMs) });
      this.#nextMs = untilMs;
    }
    return this.#pieces[index];
  }

  /**
   * Whether a piece is among the cheapest (or cleanest) periods of this total length between its beginning and
   * `untilMs`: the strictly cheaper later pieces together must take less time than that. The earlier of two equal
   * pieces counts; pieces without a figure never do.
   */
  isAmongLeast(index: number, figure: keyof Figures, { leastMs, untilMs }: LeastPower): boolean {
    const now = this.at(index)?.figures[figure] ?? null;
    if (now === null) return false;
    let lessMs = 0;
    for (let next = index + 1, piece = this.at(next); piece !== undefined; piece = this.at(++next)) {
      if (piece.fromMs >= untilMs) break;
      const then = piece.figures[figure];
      if (then !== null && then < now) lessMs += Math.min(piece.untilMs, untilMs) - piece.fromMs;
      if (lessMs >= leastMs) return false;
    }
    return true;
  }
}

interface LeastPower {
  readonly leastMs: number;
  readonly untilMs: number;
}
