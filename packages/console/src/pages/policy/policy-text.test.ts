import { presets } from "@headroom/engine";
import { describe, expect, it } from "vitest";
import { policyLines, presetPurposes } from "./policy-text.ts";

describe("policies in words", () => {
  it("says a purpose for every preset that ships", () => {
    expect([...presets.keys()].filter((name) => presetPurposes[name] === undefined)).toEqual([]);
  });

  it("says how ties end, even where the policy leaves it out", () => {
    const sjf = presets.get("sjf");
    if (sjf === undefined) throw new Error("no sjf preset");
    const orderOf = (order: readonly ("submitted" | "walltime" | "priority")[]): string | undefined =>
      policyLines({ ...sjf, order: [...order] }).find(({ knob }) => knob === "Order")?.text;
    expect(orderOf(["walltime", "submitted"])).toBe("walltime, shortest first, then order of submission");
    expect(orderOf(["priority"])).toBe("priority, then order of submission");
    expect(orderOf(["submitted"])).toBe("order of submission");
  });
});
