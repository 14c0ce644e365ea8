import { expect, it } from "vitest";
import { LearntNeed } from "./learnt-need.ts";
import { TargetScaler } from "./target-scaler.ts";
import { lateShare, type LoadReading } from "./load-reading.ts";
import { readTraffic } from "./traffic-log.ts";
import { targetsFor } from "./endpoint-scaler.ts";

const quantiles = { p50Ms: 400, p95Ms: 1_000, p99Ms: 2_000, requests: 100 };

it.each([
  [2_000, 0],
  [1_414, 0.03],
  [1_000, 0.05],
  [632, 0.275],
  [400, 0.5],
  [100, 1],
])("reads the share of latencies above %d ms off the quantiles", (limitMs, share) => {
  expect(lateShare(quantiles, limitMs)).toBeCloseTo(share, 3);
});

const targets = targetsFor({ ttftMs: 1_000, tpotMs: 100 });

interface Load {
  readonly atMs: number;
  readonly requestsPerSecond: number;
}

/** Replicas over time, of which each serves `capacity` requests per second and starts at once. */
function countsAt(fromMs: number, capacity: number, rate: (atMs: number) => number, spanMs: number): number[] {
  const need = new LearntNeed();
  let [replicas, arrived] = [1, 0];
  const counts: number[] = [];
  for (let atMs = 0; atMs < spanMs; atMs += 2_000) {
    const requestsPerSecond = rate(atMs);
    arrived += 2 * requestsPerSecond;
    const reading = readingAt(
      { atMs: fromMs + atMs, requestsPerSecond },
      arrived,
      requestsPerSecond > replicas * capacity,
    );
    const sample = { nowMs: fromMs + atMs, replicas, ready: replicas, coldStartMs: 30_000 };
    replicas = need.needed(sample, reading, targets)?.replicas ?? replicas;
    counts.push(replicas);
  }
  return counts;
}

const readingAt = ({ atMs, requestsPerSecond }: Load, arrived: number, isLate: boolean): LoadReading => ({
  atMs,
  running: 4,
  queued: 0,
  held: 0,
  requestsPerSecond,
  arrived,
  idleMs: 0,
  ttft: isLate ? { p50Ms: 5_000, p95Ms: 6_000, p99Ms: 7_000, requests: 100 } : { ...quantiles, p99Ms: 1_000 },
  tpot: null,
  tokens: null,
});

const WALL_CLOCK_MS = 1_790_000_000_000;

/** Replicas of which each serves a prompt token in 0.1 ms: 10 requests/s of 1,000 tokens, that come in turns of 200 and 1,800. */
function measuredAt(
  rate: (atMs: number) => number,
  spanMs: number,
  promptTokenMs: (atMs: number) => number = () => 0.1,
): number[] {
  const need = new LearntNeed();
  let [replicas, arrived, prompt] = [1, 0, 0];
  return Array.from({ length: spanMs / 2_000 }, (_, look) => {
    const requestsPerSecond = rate(2_000 * look);
    arrived += 2 * requestsPerSecond;
    prompt += 2 * requestsPerSecond * (look % 2 === 0 ? 200 : 1_800);
    const load = { atMs: WALL_CLOCK_MS + 2_000 * look, requestsPerSecond };
    const tokens = { prompt, output: 100 * arrived, ended: arrived, promptTokenMs: promptTokenMs(2_000 * look) };
    const reading = { ...readingAt(load, arrived, requestsPerSecond > 10 * replicas), tokens };
    const sample = { nowMs: load.atMs, replicas, ready: replicas, coldStartMs: 30_000 };
    replicas = need.needed(sample, reading, targets)?.replicas ?? replicas;
    return replicas;
  });
}

it("knows the work of a replica by tokens after minutes", () => {
  const counts = measuredAt((atMs) => (atMs < 30_000 ? 5 : 35), 600_000);
  expect(Math.max(...counts.slice(90))).toBeLessThanOrEqual(7);
  expect(Math.min(...counts.slice(90))).toBeGreaterThanOrEqual(3);
});

it("judges the first minutes again when their measured times turn out to have contained waits", () => {
  const counts = measuredAt(
    () => 15,
    1_800_000,
    (atMs) => (atMs < 60_000 ? 2 : 0.1),
  );
  expect(Math.min(...counts.slice(60))).toBeGreaterThanOrEqual(2);
  expect(Math.max(...counts.slice(600))).toBeLessThanOrEqual(4);
});

/** An endpoint whose traffic bursts each ten minutes; its process ends and begins again at a time, with what was saved or without. */
function burstyCounts(restartAtMs: number, stored: (saved: unknown) => unknown): number[] {
  let need = new LearntNeed();
  let [replicas, arrived] = [1, 0];
  return Array.from({ length: 3_000 }, (_, look) => {
    const nowMs = WALL_CLOCK_MS + 2_000 * look;
    if (2_000 * look === restartAtMs) {
      const saved = need.saved();
      need = new LearntNeed();
      need.restore(stored(saved));
    }
    const requestsPerSecond = look % 300 > 270 ? 40 : 4;
    arrived += 2 * requestsPerSecond;
    const tokens = { prompt: 1_000 * arrived, output: 100 * arrived, ended: arrived, promptTokenMs: 0.1 };
    const isLate = requestsPerSecond > 10 * replicas;
    const reading = { ...readingAt({ atMs: nowMs, requestsPerSecond }, arrived, isLate), tokens };
    const sample = { nowMs, replicas, ready: replicas, coldStartMs: 30_000 };
    replicas = need.needed(sample, reading, targets)?.replicas ?? replicas;
    need.learnAgain(100);
    return replicas;
  });
}

it("keeps the replicas for bursts over a restart with what was saved, and learns again from anything else", () => {
  const json = (saved: unknown): unknown => JSON.parse(JSON.stringify(saved)) as unknown;
  const restartAtMs = 4_500_000;
  const from = restartAtMs / 2_000;
  // From the end of one burst to the beginning of the next.
  const between = (counts: readonly number[]): number => Math.min(...counts.slice(from, from + 120));
  const whole = between(burstyCounts(-1, json));
  expect(whole).toBeGreaterThan(1);
  expect(between(burstyCounts(restartAtMs, json))).toBe(whole);
  for (const damaged of [null, 7, { version: 2 }])
    expect(between(burstyCounts(restartAtMs, () => damaged))).toBeLessThan(whole);
});

it("refuses stored traffic of other targets, from the future, too old, or with impossible numbers", () => {
  const saved = { version: 1, key: "a", endedAtMs: 5_000, coldStartMs: 1, promptTokenMs: 0.1, outputTokenMs: null };
  const row = [2_000, 1, 0, 3, 900, 2, 50, 2, 0];
  expect(readTraffic({ ...saved, rows: [row] }, "a", 6_000)).not.toBeNull();
  expect(readTraffic({ ...saved, rows: [row] }, "b", 6_000)).toBeNull();
  expect(readTraffic({ ...saved, rows: [row] }, "a", 4_000)).toBeNull();
  expect(readTraffic({ ...saved, rows: [row] }, "a", 90_000_000_000)).toBeNull();
  for (const rows of [
    "",
    [row.slice(1)],
    [row.with(0, 0)],
    [row.with(4, Number.NaN)],
    [row.with(3, 0)],
    Array(9_999).fill(row),
  ])
    expect(readTraffic({ ...saved, rows }, "a", 6_000)).toBeNull();
  expect(readTraffic({ ...saved, promptTokenMs: 0, rows: [row] }, "a", 6_000)).toBeNull();
});

it("spreads the requests of a short silence over it, and needs no tokens of a gateway that reports none", () => {
  const need = new LearntNeed();
  const sample = { replicas: 1, ready: 1, coldStartMs: 30_000 };
  const at = (atMs: number, arrived: number, seenMs = atMs): number | undefined => {
    const tokens = { prompt: 1_000 * arrived, output: arrived, ended: arrived, promptTokenMs: 0.1 };
    const reading = { ...readingAt({ atMs: seenMs, requestsPerSecond: 5 }, arrived, false), tokens };
    return need.needed({ ...sample, nowMs: atMs }, reading, targets)?.replicas;
  };
  for (let atMs = 0; atMs < 120_000; atMs += 2_000) at(atMs, atMs / 200);
  for (let atMs = 120_000; atMs < 138_000; atMs += 2_000) expect(at(atMs, 590, 118_000)).toBe(1);
  expect(at(138_000, 690)).toBe(1);
  const old = { ...readingAt({ atMs: 140_000, requestsPerSecond: 5 }, 700, false), tokens: null };
  expect(need.needed({ ...sample, nowMs: 140_000 }, old, targets)).toMatchObject({ isMeasured: false, replicas: 1 });
});

it.each([
  [10, 4, 3],
  [30, 4, 8],
  [2, 4, 1],
])("learns the replicas for %d requests/s of which one serves %d", (rate, capacity, least) => {
  const kept = countsAt(WALL_CLOCK_MS, capacity, () => rate, 7_200_000).at(-1);
  expect(kept).toBeGreaterThanOrEqual(least);
  expect(kept).toBeLessThanOrEqual(Math.ceil(1.5 * least) + 1);
});

// The length of bins came from times that began at zero, so a live endpoint had bins of single looks.
it("decides alike whatever the time of the clock", () => {
  const sine = (atMs: number): number => 12 - 11 * Math.cos((2 * Math.PI * atMs) / 900_000);
  const counts = countsAt(0, 4, sine, 5_400_000);
  expect(countsAt(WALL_CLOCK_MS, 4, sine, 5_400_000)).toEqual(counts);
  expect(countsAt(WALL_CLOCK_MS + 1_237, 4, sine, 5_400_000)).toEqual(counts);
});

it("is for endpoints whose targets are all latencies", () => {
  const need = new LearntNeed();
  expect(need.isFor(targets)).toBe(true);
  expect(need.isFor({ ...targets, concurrency: 4 })).toBe(false);
  expect(need.isFor({ ...targets, ttft: null, tpot: null })).toBe(false);
});

it("keeps the number over a missed reading, and after the clock was set back", () => {
  const scaler = new TargetScaler();
  let nowMs = WALL_CLOCK_MS;
  let arrived = 0;
  const decide = (reading: LoadReading | null): number => {
    const sample = { nowMs, replicas: 3, ready: 3, changedAtMs: WALL_CLOCK_MS, coldStartMs: 30_000 };
    return scaler.decide({ ...sample, bounds: { min: 0, max: 30 }, reading, isPartial: false }, targets).replicas;
  };
  const look = (isMissed = false): number => {
    nowMs += 2_000;
    arrived += 20;
    return decide(isMissed ? null : readingAt({ atMs: nowMs, requestsPerSecond: 10 }, arrived, false));
  };
  look();
  expect(look(true)).toBe(3);
  expect(look()).toBe(3);
  nowMs += 60_000;
  expect(look()).toBe(3);
  arrived = 0;
  expect(look()).toBe(3);
  nowMs -= 3_600_000;
  expect(look()).toBe(3);
});

it("starts the first replica for a request after looks without any", () => {
  const scaler = new TargetScaler();
  const decide = (atMs: number, held: number): number => {
    const sample = { nowMs: atMs, replicas: 0, ready: 0, changedAtMs: WALL_CLOCK_MS, coldStartMs: 30_000 };
    const reading = { ...readingAt({ atMs, requestsPerSecond: 0 }, held, true), running: 0, held };
    return scaler.decide({ ...sample, bounds: { min: 0, max: 30 }, reading, isPartial: false }, targets).replicas;
  };
  expect([0, 0, 1].map((held, look) => decide(WALL_CLOCK_MS + 2_000 * look, held))).toEqual([0, 0, 1]);
});

it("keeps a number that was set by hand for `downAfter`", () => {
  const scaler = new TargetScaler();
  const decide = (look: number, replicas: number, changedAtMs: number): number => {
    const nowMs = WALL_CLOCK_MS + 2_000 * look;
    const quick = { p50Ms: 100, p95Ms: 200, p99Ms: 300, requests: 100 };
    const reading = { ...readingAt({ atMs: nowMs, requestsPerSecond: 10 }, 20 * look, false), ttft: quick };
    const sample = { nowMs, replicas, ready: replicas, changedAtMs, coldStartMs: 30_000 };
    return scaler.decide({ ...sample, bounds: { min: 0, max: 30 }, reading, isPartial: false }, targets).replicas;
  };
  let replicas = 4;
  for (let look = 0; look < 500; look++) replicas = decide(look, replicas, WALL_CLOCK_MS);
  const setAtMs = WALL_CLOCK_MS + 2_000 * 499 + 1_000;
  for (let look = 500; look < 530; look++) expect([look, decide(look, 10, setAtMs)]).toEqual([look, 10]);
  let later = 10;
  for (let look = 530; look < 1_500; look++) later = decide(look, later, setAtMs);
  expect(later).toBeLessThan(10);
});

it("adds little on the word of a few minutes where requests were served well", () => {
  const scaler = new TargetScaler();
  let [replicas, most] = [4, 0];
  for (let look = 0; look < 1_500; look++) {
    const nowMs = WALL_CLOCK_MS + 2_000 * look;
    const quick = { p50Ms: 100, p95Ms: 200, p99Ms: 300, requests: 100 };
    const reading = { ...readingAt({ atMs: nowMs, requestsPerSecond: 10 }, 20 * look, false), ttft: quick };
    const sample = { nowMs, replicas, ready: replicas, changedAtMs: WALL_CLOCK_MS, coldStartMs: 30_000 };
    replicas = scaler.decide({ ...sample, bounds: { min: 0, max: 30 }, reading, isPartial: false }, targets).replicas;
    most = Math.max(most, replicas);
  }
  expect(most).toBeLessThanOrEqual(6);
});

it("bounds the growth by late requests where replicas do not cure them, also with tokens", () => {
  const scaler = new TargetScaler();
  let [replicas, most] = [4, 0];
  for (let look = 0; look < 420; look++) {
    const nowMs = WALL_CLOCK_MS + 2_000 * look;
    const arrived = 20 * look;
    // For two minutes all is well; then a disk is slow, whatever the replicas.
    const isLate = look > 60;
    const quick = { p50Ms: 100, p95Ms: 200, p99Ms: 300, requests: 100 };
    const tokens = { prompt: 100 * arrived, output: 100 * arrived, ended: arrived, promptTokenMs: 0.1 };
    const seen = readingAt({ atMs: nowMs, requestsPerSecond: 10 }, arrived, isLate);
    const reading = { ...seen, tokens, ...(isLate ? {} : { ttft: quick }) };
    const sample = { nowMs, replicas, ready: replicas, changedAtMs: WALL_CLOCK_MS, coldStartMs: 30_000 };
    replicas = scaler.decide({ ...sample, bounds: { min: 0, max: 30 }, reading, isPartial: false }, targets).replicas;
    most = Math.max(most, replicas);
  }
  expect(most).toBeLessThanOrEqual(16);
});
