import { presetPurposes, presets } from "@headroom/model";
import type { Policy } from "@headroom/protocol";
import { describe, expect, it } from "vitest";
import { policyLines } from "./policy-text.ts";
import { presetsView } from "./policy-view.ts";

const textOf = (policy: Policy, knob: string): string | undefined =>
  policyLines(policy).find((line) => line.knob === knob)?.text;

const preset = (name: string): Policy => {
  const found = presetsView().items.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no preset ${name}`);
  return found;
};

describe("policies in words", () => {
  it("says a purpose for every preset that ships, and for nothing else", () => {
    expect(Object.keys(presetPurposes).toSorted()).toEqual([...presets.keys()].toSorted());
  });

  it("says how ties end, even where the policy leaves it out", () => {
    const orderOf = (order: Policy["order"]): string | undefined => textOf({ ...preset("sjf"), order }, "Order");
    expect(orderOf(["walltime", "submitted"])).toBe("walltime, shortest first, then order of submission");
    expect(orderOf(["priority"])).toBe("priority, then order of submission");
    expect(orderOf(["submitted"])).toBe("order of submission");
  });

  it("says of a policy that takes nothing from anybody just that", () => {
    expect(textOf(preset("fifo"), "Victims")).toBe("none: no work is evicted");
    expect(textOf(preset("default"), "Victims")).toBe("lowest cost of lost work");
  });

  it("has words for every section, whatever a policy leaves out", () => {
    for (const policy of presetsView().items) {
      const lines = policyLines(policy);
      expect(new Set(lines.map(({ section }) => section)).size).toBe(8);
      expect(lines.filter(({ text }) => text === "" || text.includes("undefined"))).toEqual([]);
    }
  });
});
