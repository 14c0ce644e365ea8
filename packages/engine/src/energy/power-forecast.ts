/**
 * Forecast of price and carbon of power from an instant on, in periods. Each period is computed when it is first read.
 */
import type { ReadonlyState } from "../state/state.ts";
import { figuresAt, nextTariffChangeMs } from "./tariffs.ts";
import type { Figures } from "./tariffs.ts";

/** A period in which no tariff changes. */
export interface Piece {
  readonly fromMs: number;
  /** End of the period; `Infinity` if no further tariff change is known. */
  readonly untilMs: number;
  readonly figures: Figures;
}

/** Maximum number of periods that are read: weeks of hourly tariff changes. */
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
   * The period at an index; period 0 contains the first instant. `undefined` beyond the last change or beyond the
   * maximum number of periods.
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
   * Whether the period at `index` is among the cheapest (or cleanest) periods between its beginning and `untilMs` that
   * together last `leastMs`. That is so if the strictly cheaper later periods last less than `leastMs`. The earlier of
   * two equal periods is preferred. A period without a figure is never among them.
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
