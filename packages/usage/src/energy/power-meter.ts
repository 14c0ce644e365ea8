/**
 * Measured power of accelerators. A reading holds for the time since the one before it, as far as its readings cover that time, so a
 * gap is unknown and is never filled with the values beside it.
 */
import { acceleratorIndices } from "@headroom/model";

/** The mean of some readings, at the time of the newest of them. */
export interface PowerPoint {
  readonly atMs: number;
  readonly readings: number;
  readonly milliwatts: number;
}

/** Readings of one accelerator, oldest first; `null`: there are none. */
export type PowerReadings = (node: string, index: number) => readonly PowerPoint[] | null;

/** Mean power of one accelerator over the covered part of the time. */
export interface MeasuredPower {
  readonly kilowatts: number;
  /** Covered part of the time, between 0 and 1. */
  readonly covered: number;
}

/** Readings come every 15 s from tools, and at most every 2 minutes from exporters. */
const COVERED_MS = 120_000;
const MILLIWATTS_PER_KILOWATT = 1_000_000;
/** More than any accelerator takes: a reading beyond it is a fault of its source. */
const MILLIWATTS_MAX = 20_000_000;

const NOTHING: MeasuredPower = { kilowatts: 0, covered: 0 };

export class PowerMeter {
  readonly #readings: PowerReadings;

  constructor(readings: PowerReadings) {
    this.#readings = readings;
  }

  /** Mean over the accelerators (`0-3,6`) of the node between two instants. */
  mean(
    node: string,
    accelerators: string,
    { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  ): MeasuredPower {
    const indices = acceleratorIndices(accelerators);
    if (indices.length === 0 || toMs <= fromMs) return NOTHING;
    let [coveredMs, milliwattMs] = [0, 0];
    for (const index of indices) {
      const points = this.#readings(node, index) ?? [];
      for (let at = firstAfter(points, fromMs); at < points.length; at++) {
        const { atMs, readings, milliwatts } = points[at] as PowerPoint;
        const sinceMs = Math.max(points[at - 1]?.atMs ?? Number.NEGATIVE_INFINITY, atMs - readings * COVERED_MS);
        if (sinceMs >= toMs) break;
        if (milliwatts < 0 || milliwatts > MILLIWATTS_MAX) continue;
        const overlapMs = Math.max(0, Math.min(atMs, toMs) - Math.max(sinceMs, fromMs));
        coveredMs += overlapMs;
        milliwattMs += overlapMs * milliwatts;
      }
    }
    if (coveredMs === 0) return NOTHING;
    const kilowatts = milliwattMs / coveredMs / MILLIWATTS_PER_KILOWATT;
    return { kilowatts, covered: coveredMs / (indices.length * (toMs - fromMs)) };
  }
}

/** Index of the first point after an instant. */
function firstAfter(points: readonly PowerPoint[], atMs: number): number {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle]?.atMs ?? 0) > atMs) high = middle;
    else low = middle + 1;
  }
  return low;
}
