/** What tariffs say of power from an instant on, piece by piece, worked out once and only as far as somebody looks. */
import type { ReadonlyState } from "../state/state.ts";
import { figuresAt, nextTariffChangeMs } from "./tariffs.ts";
import type { Figures } from "./tariffs.ts";

/** A time in which no tariff begins, ends or goes on with another figure. */
export interface Piece {
  readonly fromMs: number;
  /** `Infinity`: nothing changes any more. */
  readonly untilMs: number;
  readonly figures: Figures;
}

/** So many changes of tariffs are looked through: weeks of hourly ones. */
const PIECES_MAX = 1000;

export class PowerForecast {
  readonly #state: ReadonlyState;
  readonly #pieces: Piece[] = [];
  #nextMs: number;

  constructor(state: ReadonlyState, fromMs: number) {
    this.#state = state;
    this.#nextMs = fromMs;
  }

  /** The first is that of the instant; `undefined`: there are no more, or nobody looks further. */
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
   * Whether a piece is among the so many milliseconds of least price, or least carbon, between its beginning and `untilMs`: what
   * is less later, in all, takes less time than that. Of equal times the earlier is taken; what is not stated is not among them.
   */
  isAmongLeast(index: number, figure: keyof Figures, { leastMs, untilMs }: LeastPower): boolean {
    const now = this.at(index)?.figures[figure] ?? null;
    if (now === null) return false;
    let lessMs = 0;
    for (let eventual = index + 1, piece = this.at(eventual); piece !== undefined; piece = this.at(++eventual)) {
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
