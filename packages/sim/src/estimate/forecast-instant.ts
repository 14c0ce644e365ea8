/** The first renewal of a forecast on which no further event bears, in ms after the newest event. */
const FIRST_RENEWAL_MS = 600_000;

/**
 * The instant from which the forecast of a state is computed, in ms: that of its newest event. While no event comes, the
 * forecast is renewed ten minutes later, then each time the quiet has doubled, because running work has then run for longer.
 * A function of state and clock alone, so that every face computes the same forecast without a shared cache.
 */
export function forecastInstantMs(newestEventMs: number, nowMs: number): number {
  const quietMs = nowMs - newestEventMs;
  if (quietMs < FIRST_RENEWAL_MS) return newestEventMs;
  let renewalMs = FIRST_RENEWAL_MS;
  while (renewalMs * 2 <= quietMs) renewalMs *= 2;
  return newestEventMs + renewalMs;
}
