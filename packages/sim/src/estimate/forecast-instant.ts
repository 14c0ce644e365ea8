/** Time in ms after the newest event at which a forecast is renewed for the first time, if no new event comes. */
const FIRST_RENEWAL_MS = 600_000;

/**
 * The instant in ms from which the forecast of a state is computed: the time of its newest event. While no further
 * event comes, the forecast is renewed after ten minutes, and then each time the period without events has doubled,
 * because running work has run longer by then. The instant depends on state and clock alone, so that CLI, API and
 * console show the same forecast without a shared cache.
 */
export function forecastInstantMs(newestEventMs: number, nowMs: number): number {
  const quietMs = nowMs - newestEventMs;
  if (quietMs < FIRST_RENEWAL_MS) return newestEventMs;
  let renewalMs = FIRST_RENEWAL_MS;
  while (renewalMs * 2 <= quietMs) renewalMs *= 2;
  return newestEventMs + renewalMs;
}
