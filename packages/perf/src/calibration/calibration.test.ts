import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { accelerators, findAccelerator } from "../catalogue/accelerators.ts";
import { deriveCalibration, type Calibration } from "./derive.ts";
import { acceleratorOfDevice } from "./device-names.ts";
import { readProfile, type CalibrationProfile } from "./profile.ts";

const example = new URL("../../../../examples/calibration/h200.json", import.meta.url);

function exampleJson(): Record<string, unknown> {
  return JSON.parse(readFileSync(example, "utf8")) as Record<string, unknown>;
}

function profileOf(value: unknown): CalibrationProfile {
  const reading = readProfile(value);
  if (reading.kind === "refused") throw new Error(reading.reason);
  return reading.profile;
}

function derived(value: unknown, name: string): Calibration {
  const accelerator = findAccelerator(name);
  if (accelerator === undefined) throw new Error(name);
  return deriveCalibration(profileOf(value), accelerator);
}

describe("the H200's profile", () => {
  it("gives what a script of a few lines finds in the same file", () => {
    const { training, serving, warnings } = derived(exampleJson(), "H200");
    expect(warnings).toEqual([]);
    expect(training.matmulEfficiency.bf16).toBeCloseTo(713 / 989, 2);
    expect(training.matmulEfficiency.fp8).toBeCloseTo(1307 / 1979, 2);
    expect(training.attentionEfficiency).toBeCloseTo(491 / 989, 2);
    expect(training.memoryEfficiency).toBeCloseTo(4245 / 4800, 2);
    expect(training.kernelLaunchUs).toBeCloseTo(6.48, 2);
    expect(serving.matmulEfficiency).toBeCloseTo(678 / 989, 2);
    expect(serving.weightReadEfficiency).toBeCloseTo(4250 / 4800, 1);
    expect("scaleUpEfficiency" in training).toBe(false);
  });

  it("belongs to the catalogue's H200, and makes no sense as another accelerator's", () => {
    expect(acceleratorOfDevice(profileOf(exampleJson()).deviceName, accelerators)?.name).toBe("H200-SXM");
    const { warnings, training } = derived(exampleJson(), "A100");
    expect(warnings.join("\n")).toContain("bf16 products reached 229% of the datasheet of A100-SXM-80GB");
    expect(training.matmulEfficiency).toEqual({});
  });
});

describe("device names", () => {
  it.each([
    ["NVIDIA H100 80GB HBM3", "H100-SXM-80GB"],
    ["NVIDIA H100 PCIe", "H100-PCIe-80GB"],
    ["NVIDIA A100-SXM4-40GB", "A100-SXM-40GB"],
    ["NVIDIA A100 80GB PCIe", "A100-PCIe-80GB"],
    ["Tesla V100-SXM2-32GB", "V100-SXM2-32GB"],
    ["NVIDIA GeForce RTX 4090", "RTX-4090"],
    ["NVIDIA B200", "B200-SXM"],
    ["NVIDIA L40S", "L40S"],
    ["AMD Instinct MI300X", "MI300X"],
    ["Tesla T4", "T4"],
    ["x86_64", undefined],
  ])("%s", (device, expected) => {
    expect(acceleratorOfDevice(device, accelerators)?.name).toBe(expected);
  });
});

describe("what is no profile", () => {
  it.each([
    [null, "not a calibration profile"],
    [{ kind: "fleet" }, "not a calibration profile"],
    [{ ...exampleJson(), formatVersion: 2 }, "calibration format 2 is not known"],
    [{ ...exampleJson(), accelerator: {} }, "names no accelerator"],
    [{ ...exampleJson(), memory: 3 }, "memory is not a list"],
    [{ ...exampleJson(), matmul: [{ dtype: "bf16", m: 1, n: 1, k: 1, seconds: 0 }] }, "matmul row 1 lacks a positive"],
  ])("%#", (value, reason) => {
    expect(readProfile(value)).toMatchObject({ kind: "refused", reason: expect.stringContaining(reason) });
  });

  it("parts that were not measured leave the fitted figures alone", () => {
    const { kind, formatVersion, accelerator } = exampleJson();
    const calibration = derived({ kind, formatVersion, accelerator }, "H200");
    expect(calibration).toEqual({
      training: { accelerator: "H200-SXM", matmulEfficiency: {} },
      serving: {},
      warnings: [],
    });
  });
});
