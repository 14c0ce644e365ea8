/** Generated traffic with known patterns. */
import { seededDraw } from "@headroom/routing";
import type { RequestTrace, ServingRequest } from "@headroom/sim";

interface Shape {
  readonly seconds: number;
  readonly seed: number;
  /** Requests per second at a time in s. */
  rate(atS: number): number;
}

/** Independent arrivals at a rate that changes; lengths are exponential with means of 1,100 and 210 tokens. */
function traffic({ seconds, seed, rate }: Shape): RequestTrace {
  const draw = seededDraw(seed);
  const uniform = (): number => (draw() + 1) / 4_294_967_297;
  const about = (mean: number): number => Math.max(1, Math.round(-mean * Math.log(uniform())));
  const requests: ServingRequest[] = [];
  for (let second = 0; second < seconds; second += 1) {
    const mean = rate(second);
    for (let at = -Math.log(uniform()) / mean; at < 1; at -= Math.log(uniform()) / mean) {
      const lengths = { promptTokens: Math.min(16_000, about(1100)), outputTokens: Math.min(2000, about(210)) };
      requests.push({ arrivalMs: (second + at) * 1000, ...lengths, pages: [], cachedTokens: 0, adapter: "" });
    }
  }
  return { requests, pageTokens: 0 };
}

/** An hour at 4 requests per second, with eight bursts of a minute to four times that. */
export function burstyHour(): RequestTrace {
  return traffic({ seconds: 3600, seed: 1, rate: (atS) => (atS % 450 > 390 ? 16 : 4) });
}

/** Two and a half hours between 1 and 24 requests per second, in a sine of 900 s. */
export function sineHours(): RequestTrace {
  return traffic({ seconds: 9000, seed: 3, rate: (atS) => 12.5 - 11.5 * Math.cos((2 * Math.PI * atS) / 900) });
}
