/** Generated traffic with known patterns. */
import { seededDraw } from "@headroom/routing";
import type { RequestTrace, ServingRequest } from "@headroom/sim";

interface Shape {
  readonly seconds: number;
  readonly seed: number;
  /** Requests per second at a time in s. */
  rate(atS: number): number;
}

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;

/** Independent arrivals at a rate that changes; lengths are exponential with means of 1,100 and 210 tokens. */
function traffic({ seconds, seed, rate }: Shape): RequestTrace {
  const draw = seededDraw(seed);
  const uniform = (): number => (draw() + 1) / 4_294_967_297;
  const about = (mean: number): number => Math.max(1, Math.round(-mean * Math.log(uniform())));
  const requests: ServingRequest[] = [];
  for (let second = 0; second < seconds; second += 1) {
    const mean = rate(second);
    if (!(mean > 0)) continue;
    for (let at = -Math.log(uniform()) / mean; at < 1; at -= Math.log(uniform()) / mean) {
      const lengths = { promptTokens: Math.min(16_000, about(1100)), outputTokens: Math.min(2000, about(210)) };
      requests.push({ arrivalMs: (second + at) * 1000, ...lengths, pages: [], cachedTokens: 0, adapter: "" });
    }
  }
  return { requests, pageTokens: 0 };
}

/** Factors that stay for a time drawn between two bounds, in s. */
function drawnSteps(seed: number, seconds: number, spanS: readonly [number, number], values: readonly number[]) {
  const draw = seededDraw(seed);
  const share = (): number => draw() / 4_294_967_296;
  const factors = new Float64Array(seconds);
  for (let at = 0; at < seconds;) {
    const untilS = at + spanS[0] + share() * (spanS[1] - spanS[0]);
    const value = values[Math.floor(share() * values.length)] ?? 0;
    for (; at < Math.min(seconds, untilS); at += 1) factors[at] = value;
  }
  return (atS: number): number => factors[Math.floor(atS)] ?? 0;
}

/** Traffic of working hours: little at night, less on two days of the week. */
function workingHours(atS: number): number {
  const hour = (atS / HOUR_S) % 24;
  const isWeekend = Math.floor(atS / DAY_S) % 7 >= 5;
  const day = Math.max(0, Math.sin((Math.PI * (hour - 6)) / 16)) ** 1.5;
  return (0.1 + day) * (isWeekend ? 0.4 : 1);
}

type Pattern = (seconds: number, seed: number) => Shape["rate"];

/** The patterns by name, each with the hours that it takes by default. */
const patterns: Readonly<Record<string, { readonly hours: number; readonly rate: Pattern }>> = {
  /** 4 requests per second, with eight bursts of a minute in an hour to four times that. */
  bursts: { hours: 1, rate: () => (atS) => (atS % 450 > 390 ? 16 : 4) },
  /** Between 1 and 24 requests per second, in a sine of 900 s. */
  sine: { hours: 2.5, rate: () => (atS) => 12.5 - 11.5 * Math.cos((2 * Math.PI * atS) / 900) },
  /** A daily and weekly pattern, up to 20 requests per second. */
  week: { hours: 168, rate: () => (atS) => 18 * workingHours(atS) },
  /** The same with bursts at drawn times, to three times the traffic for some minutes. */
  "bursty-week": {
    hours: 168,
    rate: (seconds, seed) => {
      const factor = drawnSteps(seed + 1000, seconds, [60, 600], [1, 1, 1, 1, 1, 1, 1, 1, 3]);
      return (atS) => 8 * workingHours(atS) * factor(atS);
    },
  },
  /** Bursts and gaps of some seconds to a minute each, at drawn times. */
  "on-off": { hours: 12, rate: (seconds, seed) => drawnSteps(seed + 1000, seconds, [5, 60], [0, 0, 4, 10, 20]) },
  /** The rate jumps at drawn times, and stays for up to two hours. */
  steps: { hours: 24, rate: (seconds, seed) => drawnSteps(seed + 1000, seconds, [600, 7200], [1, 4, 8, 16, 24]) },
  /** Linear rises of an hour, and sudden falls. */
  ramps: { hours: 12, rate: () => (atS) => 2 + (20 * (atS % 4000)) / 4000 },
  /** No request at night. */
  nights: { hours: 72, rate: () => (atS) => (workingHours(atS) > 0.15 ? 10 * workingHours(atS) : 0) },
  /** Two requests in a minute. */
  sparse: { hours: 24, rate: () => () => 1 / 30 },
};

export const patternNames: readonly string[] = Object.keys(patterns);

/** Traffic by the name of its pattern, with `times` its rate; `undefined`: no such pattern. */
export function generatedTraffic(name: string, seed: number, hours?: number, times = 1): RequestTrace | undefined {
  const pattern = patterns[name];
  if (pattern === undefined) return undefined;
  const seconds = Math.round((hours ?? pattern.hours) * HOUR_S);
  const rate = pattern.rate(seconds, seed);
  return traffic({ seconds, seed, rate: (atS) => times * rate(atS) });
}
