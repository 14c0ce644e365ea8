import { describe, expect, it } from "vitest";
import { generatedSeries } from "../testing/generated-series.ts";
import { forecast } from "./forecast.ts";
import { scoreForecast } from "./score.ts";
import { detectSeasons } from "./season.ts";

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4294967296;
  };
}

function series(length: number, value: (index: number, noise: number) => number, seed = 7): Float64Array {
  const draw = seeded(seed);
  return Float64Array.from({ length }, (_, index) => value(index, draw() + draw() + draw() - 1.5));
}

const wave = (index: number, period: number): number => Math.sin((2 * Math.PI * index) / period);

describe("seasons", () => {
  it("finds the period of a noisy season without being told", () => {
    for (const period of [7, 12, 24, 96]) {
      const values = series(period * 12, (index, noise) => 50 + 10 * wave(index, period) + 3 * noise + 0.02 * index);
      expect(detectSeasons(values), `period ${period}`).toEqual([period]);
    }
  });

  it("finds none in noise, a constant and a straight line", () => {
    expect(detectSeasons(series(400, (_, noise) => noise))).toEqual([]);
    expect(detectSeasons(series(400, () => 5))).toEqual([]);
    expect(detectSeasons(series(400, (index) => 3 * index))).toEqual([]);
  });

  it("prefers a weak season of the calendar if the length of a step suggests it", () => {
    const values = series(700, (index, noise) => 50 + 0.9 * wave(index, 24) + 3 * noise, 3);
    expect(detectSeasons(values)).not.toContain(24);
    expect(detectSeasons(values, [24, 168])).toEqual([24]);
  });
});

describe("a forecast", () => {
  it("repeats an exact season", () => {
    const values = series(240, (index) => 10 + 5 * wave(index, 24));
    const { mean } = forecast(values, 48);
    for (let step = 0; step < 48; step += 1) expect(mean[step]).toBeCloseTo(10 + 5 * wave(240 + step, 24), 6);
  });

  it("beats the seasonal naive forecast, and its 80% intervals hold about 80% of the values", () => {
    const kinds: readonly ((index: number, noise: number) => number)[] = [
      (index, noise) => 100 + 20 * wave(index, 24) + 8 * noise,
      (index, noise) => 40 + 0.05 * index + 6 * noise,
      (_, noise) => Math.max(0, 5 + 30 * noise),
    ];
    let covered = 0;
    for (const [kind, value] of kinds.entries()) {
      const values = series(600, value, 11 + kind);
      const predicted = forecast(values.subarray(0, 528), 72);
      const score = scoreForecast(values.subarray(0, 528), values.subarray(528), predicted, {
        period: kind === 0 ? 24 : 1,
      });
      expect(score.relativeMase, `kind ${kind}`).toBeLessThan(1);
      covered += score.coverage80Pct / kinds.length;
    }
    expect(covered).toBeGreaterThan(70);
    expect(covered).toBeLessThan(92);
  });

  it("has intervals that hold 80% over classes of series, those of unlike generators included", () => {
    for (const group of ["known", "heldOut"] as const) {
      const coverages = generatedSeries(group, 6, 3).map(({ values, stepMs }) => {
        const horizon = Math.min(72, Math.floor(values.length / 5));
        const [history, actual] = [values.subarray(0, -horizon), values.subarray(-horizon)];
        return scoreForecast(history, actual, forecast(history, horizon, stepMs), { period: 1 }).coverage80Pct;
      });
      const mean = coverages.reduce((sum, each) => sum + each, 0) / coverages.length;
      expect(mean, group).toBeGreaterThan(75);
      expect(mean, group).toBeLessThan(85);
    }
  });

  it("has intervals that hold 80% where the level breaks a few times in the whole history", () => {
    const breaking = generatedSeries("known", 60, 5).filter((each) => each.class === "level-shifts");
    let covered = 0;
    for (const { values, stepMs } of breaking) {
      const [history, actual] = [values.subarray(0, -72), values.subarray(-72)];
      covered += scoreForecast(history, actual, forecast(history, 72, stepMs), { period: 1 }).coverage80Pct;
    }
    expect(covered / breaking.length).toBeGreaterThan(75);
    expect(covered / breaking.length).toBeLessThan(85);
  });

  it("reads a bounded part of a long history", () => {
    const values = series(3000, (index, noise) => (index < 1500 ? 500 : 50) + 10 * wave(index, 24) + 5 * noise);
    expect(forecast(values, 72)).toEqual(forecast(values.subarray(-1440), 72));
  });

  it("has wider intervals where the past has few independent errors", () => {
    let value = 0;
    const walk = series(120, (_, noise) => (value += noise), 5);
    const noise = series(120, (_, each) => each, 5);
    const width = (values: Float64Array): number => {
      const { lo80, hi80 } = forecast(values, 24);
      return hi80[23]! - lo80[23]!;
    };
    expect(width(walk)).toBeGreaterThan(4 * width(noise));
  });

  it("is not negative where the past is not, and keeps its bounds in order", () => {
    const { mean, lo80, hi80 } = forecast(
      series(300, (index, noise) => Math.max(0, 3 - 0.02 * index + noise)),
      60,
    );
    for (let step = 0; step < 60; step += 1) {
      expect(lo80[step]).toBeGreaterThanOrEqual(0);
      expect(lo80[step]).toBeLessThanOrEqual(mean[step] ?? 0);
      expect(hi80[step]).toBeGreaterThanOrEqual(mean[step] ?? 0);
    }
  });

  it("answers for short, constant and empty-looking series", () => {
    for (const values of [[5], [5, 6], [0, 0, 0, 0, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7]]) {
      const { mean, lo80, hi80 } = forecast(Float64Array.from(values), 4);
      for (const bound of [mean, lo80, hi80]) expect(bound.every(Number.isFinite)).toBe(true);
    }
  });

  it("does not read the future", () => {
    const values = series(500, (index, noise) => 50 + 10 * wave(index, 24) + 5 * noise);
    const other = values.map((value, index) => (index < 400 ? value : 0));
    expect(forecast(values.subarray(0, 400), 24)).toEqual(forecast(other.subarray(0, 400), 24));
  });
});
