import { describe, expect, it } from "vitest";
import { calendarDocument } from "./calendar.ts";
import { readDocument } from "./read-manifest.ts";

const forecast = {
  kind: "tariff",
  name: "day-ahead",
  site: "dc1",
  start: "2027-03-01T00:00:00Z",
  step: "1h",
  price: ["0.11 USD/kWh", "0.09 USD/kWh"],
  carbon: ["210 g/kWh"],
};
const problemsIn = (changes: Readonly<Record<string, unknown>>): readonly string[] => {
  const reading = readDocument({ ...forecast, ...changes });
  return reading.ok ? [] : reading.problems.map(({ path, message }) => `${path.join(".")}: ${message}`);
};

describe("forecasts of power", () => {
  it("are read as a series and written as they were", () => {
    const reading = readDocument(forecast);
    const entry = reading.ok && reading.document.kind === "calendar" ? reading.document.entry : null;
    expect(entry).toEqual({
      kind: "tariff",
      name: "day-ahead",
      site: "dc1",
      when: {
        kind: "series",
        startMs: Date.UTC(2027, 2, 1),
        stepMs: 3_600_000,
        microUsdPerKwh: [110_000, 90_000],
        gramsPerKwh: [210],
      },
    });
    expect(entry === null ? null : calendarDocument(entry)).toEqual(forecast);
  });

  it("may say that whoever takes power is paid", () => {
    const price = ["0.11 USD/kWh", "-0.05 USD/kWh", "-100.00 USD/kWh", "-0.000001 USD/kWh"];
    const reading = readDocument({ ...forecast, price });
    const entry = reading.ok && reading.document.kind === "calendar" ? reading.document.entry : null;
    expect(entry).toMatchObject({ when: { microUsdPerKwh: [110_000, -50_000, -100_000_000, -1] } });
    expect(entry === null ? null : calendarDocument(entry)).toMatchObject({ price });
    expect(problemsIn({ price: ["-100.01 USD/kWh"] })).toEqual([
      'price: must be between -100.00 USD/kWh and 100.00 USD/kWh, got "-100.01 USD/kWh"',
    ]);
    expect(problemsIn({ price: ["--1 USD/kWh"] })[0]).toMatch(/^price: write a price like/);
    expect(problemsIn({ carbon: ["-1 g/kWh"] })[0]).toMatch(/^carbon: write carbon like/);
  });

  it("need a beginning, lists, and nothing that says otherwise how long they hold", () => {
    expect(problemsIn({})).toEqual([]);
    expect(problemsIn({ start: undefined })).toEqual(["start: is required with step"]);
    expect(problemsIn({ end: "2027-03-02T00:00:00Z" })).toEqual(["end: must be left out with step"]);
    expect(problemsIn({ price: "0.11 USD/kWh" })).toEqual(["price: must be a list if there is a step"]);
    expect(problemsIn({ price: undefined, carbon: undefined })).toEqual(["price: or carbon is required, or both"]);
    expect(problemsIn({ price: [] })[0]).toMatch(/^price: must be 1 to 744 figures/);
    expect(problemsIn({ step: undefined, end: "2027-03-02T00:00:00Z" })).toEqual([
      "price: must be one figure; a list needs a step",
      "carbon: must be one figure; a list needs a step",
    ]);
  });
});
