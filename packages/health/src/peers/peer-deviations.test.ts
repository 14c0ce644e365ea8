import { describe, expect, it } from "vitest";
import { uniformDraws } from "../spares/uniform-draws.ts";
import { peerDeviations, type PeerMeans } from "./peer-deviations.ts";

const draw = uniformDraws(5);
const noisy = (value: number): number => value * (1 + 0.02 * (draw() - 0.5));
const member = (index: number, own: Readonly<Record<string, number>> = {}, set = "h100"): PeerMeans => ({
  subject: `accelerator:n${index}#0`,
  set,
  values: new Map(
    Object.entries({ busyMilli: 900, temperatureC: noisy(60), smClockMhz: noisy(1_900), pcieReplayCount: 0, ...own }),
  ),
});

describe("nodes beside their comparable set", () => {
  it("are named with the series that differ, the largest deviation first", () => {
    const set = Array.from({ length: 64 }, (_, index) =>
      member(index, index === 7 ? { temperatureC: 86 } : index === 9 ? { smClockMhz: 1_400, pcieReplayCount: 40 } : {}),
    );
    const found = peerDeviations(set);
    expect(
      found.map(({ subject, metric, deviations }) => `${subject} ${metric} ${Math.sign(deviations)}`).toSorted(),
    ).toEqual([
      "accelerator:n7#0 temperatureC 1",
      "accelerator:n9#0 pcieReplayCount 1",
      "accelerator:n9#0 smClockMhz -1",
    ]);
    const sizes = found.map(({ deviations }) => Math.abs(deviations));
    expect(sizes).toEqual(sizes.toSorted((left, right) => right - left));
    expect(found.every(({ set: name, median }) => name === "h100" && median >= 0)).toBe(true);
  });

  it("are named for events only where they are more than chance, and not for ever", () => {
    const setWith = (name: string, values: Readonly<Record<number, number>>) =>
      peerDeviations(Array.from({ length: 64 }, (_, index) => member(index, { [name]: values[index] ?? 0 }))).map(
        ({ subject, metric, deviations }) => `${subject} ${metric} ${deviations}`,
      );
    // One event in the last hour, what is left of it a day later, and a fleet with some events.
    for (const name of ["pcieReplayCount", "correctedErrorCount", "uncorrectedRemappedRows"])
      for (const value of [1, 3, 4e-11]) expect(setWith(name, { 7: value })).toEqual([]);
    expect(setWith("memoryErrorCount", Object.fromEntries(Array.from({ length: 12 }, (_, at) => [at, 1])))).toEqual([]);
    expect(setWith("networkErrorsPerS", { 7: 2 / 3_600 })).toEqual([]);
    expect(setWith("outOfMemoryKills", { 7: 500 })).toEqual([]);
    expect(setWith("thermalViolation", { 7: 1e9 })).toEqual([]);
    expect(setWith("rowRemapFailure", { 7: 4e-11 })).toEqual([]);
    expect(setWith("pcieReplayCount", { 7: 16 })).toEqual(["accelerator:n7#0 pcieReplayCount 8"]);
    expect(setWith("networkErrorsPerS", { 7: 25 / 3_600 })).toEqual(["accelerator:n7#0 networkErrorsPerS 10"]);
    expect(setWith("thermalViolation", { 7: 1e12 })).toEqual([expect.stringMatching(/n7#0 thermalViolation 51/)]);
    expect(setWith("rowRemapFailure", { 7: 1 })).toEqual([expect.stringMatching(/n7#0 rowRemapFailure 51/)]);
  });

  it("are not named for their work, among too few, or where idle ones differ", () => {
    const idle = { busyMilli: 0, temperatureC: 31, smClockMhz: 300 };
    const half = Array.from({ length: 40 }, (_, index) => member(index, index % 3 === 0 ? idle : {}));
    expect(peerDeviations(half)).toEqual([]);
    const loaded = Array.from({ length: 40 }, (_, index) =>
      member(index, index === 0 ? { tensorPercent: 99 } : { tensorPercent: noisy(1) }),
    );
    expect(peerDeviations(loaded)).toEqual([]);
    const few = Array.from({ length: 7 }, (_, index) => member(index, index === 0 ? { temperatureC: 99 } : {}));
    expect(peerDeviations([...few, member(8, {}, "other")])).toEqual([]);
  });
});
