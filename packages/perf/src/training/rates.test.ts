import { describe, expect, it } from "vitest";
import { trainingConstantValues } from "../constants.ts";
import type { Accelerator } from "../catalogue/accelerator.ts";
import { mixedPrecision, type TrainingJob } from "./job.ts";
import { ratesOf, type Rates } from "./rates.ts";
import { estimateStep } from "./step.ts";
import { gptModel, jobOf, planWith, systemOf } from "./testing/jobs.ts";

const job = jobOf(gptModel(32, 4096, 32), 4096, 64);

function ratesOn(name: string, change: Partial<Accelerator> = {}, asked: TrainingJob = job): Rates {
  return ratesOf(asked, systemOf(name, 8, change), trainingConstantValues());
}

describe("rates of an accelerator", () => {
  it("follow the board's power where its peak is out of reach, and less so for narrower operands", () => {
    const fp8 = { ...job, precision: mixedPrecision("fp8") };
    const gain = (asked: TrainingJob): number =>
      ratesOn("B200", { powerWatts: 1200 }, asked).linearFlops / ratesOn("B200", {}, asked).linearFlops;
    expect(gain(job)).toBeCloseTo(1.2, 6);
    expect(gain(fp8)).toBeLessThan(1.2);
    expect(ratesOn("A100", { powerWatts: 800 })).toEqual(ratesOn("A100"));
    // H100 and B200 are made in the same process, so they sustain nearly the same 16-bit rate per watt.
    const perWatt = (name: string, watts: number): number => ratesOn(name).linearFlops / watts;
    expect(perWatt("B200", 1000) / perWatt("H100", 700)).toBeGreaterThan(0.9);
    expect(perWatt("B200", 1000) / perWatt("H100", 700)).toBeLessThan(1.1);
  });

  it("take the share of the peak from the vendor's nearest relative where none was measured", () => {
    const share = (name: string, peak: number): number => ratesOn(name, { powerWatts: 1e6 }).linearFlops / peak;
    expect(share("MI350X", 2300e12)).toBeCloseTo(share("MI355X", 2500e12), 6);
    expect(share("H800", 989e12)).toBeCloseTo(share("H100", 989e12), 6);
  });

  it("of attention fall with narrow heads, more so on wide systolic units", () => {
    const narrow = jobOf(gptModel(32, 4096, 64), 4096, 64);
    const loss = (name: string): number =>
      ratesOn(name, {}, narrow).attentionFlops / ratesOn(name, {}, job).attentionFlops;
    expect(loss("H100")).toBeLessThan(0.8);
    expect(loss("TPU-v7x")).toBeLessThan(loss("TPU-v5p") * 0.6);
  });

  it("leave part of the last wave of tiles and of a systolic unit idle", () => {
    const seconds = (name: string, change: Partial<Accelerator>, hidden = 4096): number => {
      const plan = planWith({ tensor: 8, zeroStage: 0 });
      return estimateStep(jobOf(gptModel(8, hidden, 32), 512, 1), plan, systemOf(name, 8, change)).breakdown.matmul;
    };
    expect(seconds("H100", { computeUnits: 1320 })).toBeGreaterThan(seconds("H100", {}) * 1.05);
    // A size of 2,880 is 11.25 times 256 and takes 12 units of 256, so one sixteenth of the time is lost along that
    // side.
    const odd = seconds("TPU-v7x", {}, 2880) / seconds("TPU-v7x", { matrixUnitWidth: 1 }, 2880);
    expect(odd).toBeGreaterThan(1.05);
  });
});
