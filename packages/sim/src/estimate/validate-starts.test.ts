import { presets } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { drawBelow } from "../faults/exponential.ts";
import type { TraceJob } from "../trace/trace.ts";
import { StartValidation, type StartValidationResult } from "./validate-starts.ts";

/**
 * A trace of several weeks with sweeps of similar jobs, more than the pool can run at once. Each sweep draws its kind
 * of job.
 */
function sweeps(seed: number): TraceJob[] {
  const jobs: TraceJob[] = [];
  let atS = 0;
  for (let sweep = 0; sweep < 60; sweep++) {
    atS += 500 + drawBelow({ seed, sequence: sweep, purpose: "gap" }, 9000);
    const kindS = [900, 2400, 7000][drawBelow({ seed, sequence: sweep, purpose: "kind" }, 3)]!;
    for (let member = 0; member < 12; member++) {
      const sequence = jobs.length;
      jobs.push({
        id: `job-${sequence}`,
        submittedAtMs: atS * 1000,
        durationMs: (kindS + drawBelow({ seed, sequence, purpose: "more" }, 90)) * 1000,
        accelerators: 1,
        coresMilli: 0,
        memoryMib: 0,
        acceleratorTypes: [],
      });
    }
  }
  return jobs;
}

function validate(jobs: readonly TraceJob[], policy: string): StartValidationResult {
  const run = new StartValidation({ jobs, accelerators: 8, policy: presets.get(policy)!, seed: 1, effort: 1000 });
  while (run.advance());
  return run.result();
}

describe("a validation of start estimates", () => {
  it("finds ranges that hold most starts and beat the waits of the past", () => {
    const result = validate(sweeps(4), "default");
    expect(result.jobs).toBe(720);
    expect(result.waited).toBeGreaterThan(300);
    expect(result.within_share + result.earlier_share + result.later_share).toBeCloseTo(1, 3);
    expect(result.within_share).toBeGreaterThan(0.68);
    expect(result.within_share).toBeLessThan(0.92);
    expect(result.pinball_ratio).toBeLessThan(0.7);
  });

  it("counts what starts at once apart, and leaves out what is larger than the pool", () => {
    const [first] = sweeps(1);
    const antiAffinity = [0, 1, 2].map((day) => ({
      ...first!,
      submittedAtMs: day * 86_400_000,
      accelerators: day + 7,
    }));
    const result = validate(antiAffinity, "fifo");
    expect([result.jobs, result.started_at_once, result.waited]).toEqual([2, 2, 0]);
  });
});
