import { describe, expect, it } from "vitest";
import {
  acceleratorFamilies,
  acceleratorTypeNames,
  canonicalType,
  familyNamed,
  familyOfType,
} from "./accelerator-types.ts";
import { accelerators } from "./accelerators.ts";
import { driverNames } from "./driver-names.ts";

describe("names of accelerator types", () => {
  it.each([
    ["NVIDIA H100 80GB HBM3", "H100-SXM-80GB"],
    ["H100-80GB-HBM3", "H100-SXM-80GB"],
    ["H100-SXM", "H100-SXM-80GB"],
    ["nvidia-h100-80gb", "H100-SXM-80GB"],
    ["NVIDIA H100 PCIe", "H100-PCIe-80GB"],
    ["NVIDIA H100 NVL", "H100-NVL"],
    ["NVIDIA H200", "H200-SXM"],
    ["NVIDIA A100-SXM4-40GB", "A100-SXM-40GB"],
    ["NVIDIA A100-SXM4-80GB", "A100-SXM-80GB"],
    ["NVIDIA A100 80GB PCIe", "A100-PCIe-80GB"],
    ["NVIDIA A100-PCIE-40GB", "A100-PCIe-40GB"],
    ["Tesla V100-SXM2-32GB", "V100-SXM2-32GB"],
    ["Tesla T4", "T4"],
    ["nvidia-tesla-t4", "T4"],
    ["NVIDIA GeForce RTX 4090", "RTX-4090"],
    ["NVIDIA RTX A6000", "RTX-A6000"],
    ["NVIDIA RTX 6000 Ada Generation", "RTX-6000-Ada"],
    ["NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000"],
    ["NVIDIA GH200 480GB", "GH200"],
    ["NVIDIA B200", "B200-SXM"],
    ["AMD Instinct MI300X", "MI300X"],
    ["AMD Instinct MI300X OAM", "MI300X"],
    ["TPU v5 lite", "TPU-v5e"],
    ["tpu-v5-lite-podslice", "TPU-v5e"],
    ["TPU v5p", "TPU-v5p"],
    ["tpu-v6e-slice", "TPU-v6e"],
  ])("maps %s to %s", (name, type) => {
    expect(canonicalType(name)).toBe(type);
    expect(canonicalType(canonicalType(name))).toBe(type);
  });

  it("keeps the own name of a device that the catalogue lacks, as one word without the maker's", () => {
    expect(canonicalType("NVIDIA Quadro P400")).toBe("Quadro-P400");
    expect(canonicalType("AMD Radeon RX 7900 XTX")).toBe("RX-7900-XTX");
    expect(canonicalType("slot")).toBe("slot");
    expect(canonicalType("NVIDIA H200 NVL")).toBe("H200-NVL");
  });

  it("puts the forms of a chip into one family", () => {
    const ofFamily = (family: string): string[] =>
      accelerators.map(({ name }) => name).filter((name) => familyOfType(name) === family);
    expect(ofFamily("H100")).toEqual(["H100-SXM-80GB", "H100-PCIe-80GB", "H100-SXM-96GB-HBM2e", "H100-NVL"]);
    expect(ofFamily("A100")).toEqual(["A100-SXM-40GB", "A100-SXM-80GB", "A100-PCIe-80GB", "A100-PCIe-40GB"]);
    expect([familyOfType("H200-NVL"), familyOfType("A10G"), familyOfType("L40S"), familyOfType("slot")]).toEqual([
      "H200",
      undefined,
      undefined,
      undefined,
    ]);
    expect([familyNamed("h100"), familyNamed("NVIDIA H100"), familyNamed("H100-SXM")]).toEqual([
      "H100",
      "H100",
      undefined,
    ]);
  });

  it("gives no name to two entries", () => {
    const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "");
    const owners = new Map<string, string>();
    for (const { name, aliases } of accelerators)
      for (const each of [name, ...aliases, ...(driverNames[name] ?? [])]) {
        expect([each, owners.get(plain(each)) ?? name]).toEqual([each, name]);
        owners.set(plain(each), name);
      }
    for (const name of Object.keys(driverNames)) expect(accelerators.map((one) => one.name)).toContain(name);
    expect(acceleratorTypeNames).toEqual([...new Set(acceleratorTypeNames)]);
    expect(acceleratorTypeNames.slice(0, acceleratorFamilies.length)).toEqual(acceleratorFamilies);
  });
});
