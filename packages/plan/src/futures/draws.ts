/** Random draws of a future: demand that keeps near the path it is on, and lead times line by line. */
import type { LeadLine } from "../document/distributions.ts";

/** A generator by the seed alone: mulberry32. */
export function drawsOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Box and Muller (1958). */
function normal(draw: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
}

/** Correlation of the demand's deviation between a month and the next. */
export const MONTHLY_CORRELATION = 0.97;

/** Deviations of demand by month, each of them normal, so that every month has the forecast's distribution. */
export function deviationPath(draw: () => number, months: number): readonly number[] {
  const path: number[] = [];
  let deviation = normal(draw);
  for (let month = 0; month < months; month += 1) {
    if (month > 0) deviation = MONTHLY_CORRELATION * deviation + Math.sqrt(1 - MONTHLY_CORRELATION ** 2) * normal(draw);
    path.push(deviation);
  }
  return path;
}

/** Days until the last line of an order has arrived. */
export function drawnLeadDays(draw: () => number, lines: readonly LeadLine[]): number {
  return Math.max(0, ...lines.map(({ medianDays, sigma }) => medianDays * Math.exp(sigma * normal(draw))));
}
