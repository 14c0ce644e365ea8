/** Instants of work; in a schedule also so long after it was due. */
import * as limits from "../limits.ts";
import { instantPattern, readInstant, writeInstant } from "./instants.ts";
import * as quantities from "./quantities.ts";
import { read, type Reading } from "./reading.ts";

export interface Moment {
  readonly kind: "instant" | "fromDue";
  readonly ms: number;
}

/** For JSON Schema. */
export const moment = { type: "string", pattern: `${instantPattern}|${quantities.durationPattern}` };

export function readMoment(value: unknown): Reading<Moment | null> {
  const isDuration = typeof value === "string" && /^\s*\d[\d.]*[a-z]/.test(value);
  const reading = isDuration
    ? quantities.readDuration(value, { min: 0, max: limits.DURATION_MS_MAX })
    : readInstant(value);
  return reading.ok ? read({ kind: isDuration ? "fromDue" : "instant", ms: reading.value }) : reading;
}

/** Of what is kept: an instant, or so long after a schedule was due. */
export function momentText(instantMs: number | undefined, fromDueMs: number | undefined): string | undefined {
  if (fromDueMs !== undefined) return quantities.writeDuration(fromDueMs);
  return instantMs === undefined ? undefined : writeInstant(instantMs);
}

export const writeMoment = ({ kind, ms }: Moment): string =>
  kind === "instant" ? writeInstant(ms) : quantities.writeDuration(ms);
