import { describe, expect, it } from "vitest";
import { evaluateTriggers, readTriggerDocument, type TriggerState } from "./triggers.ts";

function evaluated(values: readonly number[], trigger: object = {}): TriggerState {
  const reading = readTriggerDocument({
    kind: "triggers",
    triggers: [{ name: "busy", on: "utilisation", above: 0.8, below: 0.7, for: 2, ...trigger }],
    series: { utilisation: values.map((value, hour) => ({ hour, value })) },
  });
  if (reading.kind === "refused") throw new Error(reading.problems.map(({ message }) => message).join());
  return evaluateTriggers(reading.document)[0]!;
}

describe("triggers", () => {
  it("fire when the value holds, and stay active between the two thresholds", () => {
    expect(evaluated([0.5, 0.9, 0.85, 0.95, 0.75, 0.85])).toMatchObject({
      isActive: true,
      firings: [{ firedAtHour: 3, endedAtHour: null, peak: 0.95 }],
      explanation: "utilisation is 0.85: active since hour 3 (above 0.8 for 2 h; peak 0.95), until it is below 0.7",
    });
  });

  it("do not fire on a short peak, and say how long the value has held", () => {
    expect(evaluated([0.9, 0.9, 0.5, 0.9])).toMatchObject({
      isActive: false,
      firings: [],
      explanation: "utilisation is 0.9: above 0.8 for 0 of 2 h",
    });
  });

  it("end below the lower threshold and can fire again", () => {
    const { firings, isActive } = evaluated([0.9, 0.9, 0.9, 0.6, 0.9, 0.9, 0.9]);
    expect([firings.length, firings[0]!.endedAtHour, isActive]).toEqual([2, 3, true]);
  });

  it("are inactive without values, and refuse a lower threshold above the upper one", () => {
    expect(evaluated([])).toMatchObject({ isActive: false, value: null, explanation: "utilisation has no values" });
    expect(() => evaluated([1], { below: 0.9 })).toThrow("must not be larger than `above`");
  });
});
