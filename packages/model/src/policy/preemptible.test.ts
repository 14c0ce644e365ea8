import { describe, expect, it } from "vitest";
import type { Policy } from "./policy.ts";
import { preemptibilityOf, type Preemptibility } from "./preemptible.ts";
import { presets } from "./presets.ts";
import { rulesOf } from "./rules.ts";

type Stated = boolean | "aboveGuarantee" | undefined;

const of = (preset: string, preemptible: Stated, priority: number): Preemptibility =>
  preemptibilityOf(rulesOf(presets.get(preset) as Policy), {
    priority,
    ...(preemptible === undefined ? {} : { preemptible }),
  });

describe("preemptibility under the default policy", () => {
  it.each<[Stated, number, Preemptibility]>([
    [undefined, 0, "aboveGuarantee"],
    [undefined, 100, "aboveGuarantee"],
    [undefined, -1, "always"],
    ["aboveGuarantee", -1, "aboveGuarantee"],
    [true, 100, "always"],
    [false, -1, "never"],
  ])("stated %s at priority %d: %s", (stated, priority, expected) => {
    expect(of("default", stated, priority)).toBe(expected);
  });
});

describe("preemptibility under a policy that imitates another scheduler", () => {
  it.each<[string, Stated, number, Preemptibility]>([
    ["kai", undefined, 0, "always"],
    ["kai", undefined, 100, "never"],
    ["kai", "aboveGuarantee", 0, "always"],
    ["kai", "aboveGuarantee", 100, "never"],
    ["kueue-classic", undefined, 100, "always"],
    ["kueue-classic", "aboveGuarantee", 100, "always"],
    ["kueue-classic", false, 0, "never"],
  ])("%s, stated %s at priority %d: %s", (preset, stated, priority, expected) => {
    expect(of(preset, stated, priority)).toBe(expected);
  });
});
