/** Values that count events, which are rare: how they are averaged, and how much of them is more than chance. */

const COUNTER = /(?:Count|Violation|RemappedRows|LinkDowned|Kills)$/;
/** A counter of nanoseconds, not of events. */
const DURATION = /Violation$/;
/** Events in a second. */
const RATE = /ErrorsPerS$/;
const HOUR_S = 3_600;

/** Whether the value only grows, so that its growth in an hour is compared. */
export const isCounter = (metric: string): boolean => COUNTER.test(metric);

/** Whether the value has counted events, so that it is 0 before the first one. */
export const isOfEvents = (metric: string): boolean => isCounter(metric) || RATE.test(metric);

/** Factor that makes numbers of events in an hour of compared values; `null`: the metric counts no events. */
export function eventsPerHour(metric: string): number | null {
  if (RATE.test(metric)) return HOUR_S;
  return isCounter(metric) && !DURATION.test(metric) ? 1 : null;
}
