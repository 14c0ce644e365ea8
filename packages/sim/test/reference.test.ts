import { readFileSync } from "node:fs";
import { presets } from "@headroom/model";
import { importItp, simulate, topologyFreePool, type SimulationResult, type Trace } from "@headroom/sim";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { referenceSchedule, type ReferenceJob, type ReferenceRow } from "./reference-scheduler.ts";
import { someOf } from "../../../tools/testing/rotating.ts";
import { readLines, sharedData } from "../../../tools/shared-data.ts";

function importFile(lines: readonly string[]): Trace {
  const imported = importItp({ file: "trace", lines }, { skipBroken: false });
  if (imported.kind === "refused") throw new Error(imported.reason);
  return imported.trace;
}

function run(trace: Trace, gpus: number, policy: string): SimulationResult {
  return simulate({ trace, fleet: topologyFreePool(gpus), policy: presets.get(policy)!, faults: null, startupMs: 0 });
}

function reported(result: SimulationResult): ReferenceRow {
  const { jobs, rejected_larger_than_pool, mean_wait_s, mean_completion_s, max_wait_s, utilisation } = result;
  return { jobs, rejected_larger_than_pool, mean_wait_s, mean_completion_s, max_wait_s, utilisation };
}

interface PublishedRow extends ReferenceRow {
  readonly file: string;
  readonly gpus: number;
  readonly policy: string;
}

const published = sharedData("traces/itp/reference.json");
const rows: readonly PublishedRow[] =
  published === null ? [] : (JSON.parse(readFileSync(published, "utf8")) as { rows: PublishedRow[] }).rows;

describe.skipIf(published === null)("the published results on the ITP traces", () => {
  it.each(rows)("$file on $gpus GPUs under $policy", ({ file, gpus, policy, ...expected }) => {
    const result = run(importFile(readLines(sharedData(`traces/itp/${file}`)!)), gpus, policy);
    expect(reported(result)).toEqual(expected);
    expect(result.unfinished_jobs + result.failed_jobs).toBe(0);
  });
});

/**
 * Files with known edge cases: several events at one instant, jobs without length or size, jobs that are too large,
 * rows out of order.
 */
const files = fc.array(
  fc.record({
    submittedS: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 5000 })),
    durationS: fc.oneof(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 1, max: 900 })),
    gpus: fc.oneof(fc.integer({ min: 0, max: 10 }), fc.constantFrom(1, 2, 4, 8, 33, 64)),
  }),
  { minLength: 1, maxLength: 80 },
);

describe("generated ITP files", () => {
  it.each(someOf(["fifo", "fifo-skip", "sjf"], { parts: 3 }))(
    "agree with an independent scheduler under %s",
    (policy) => {
      fc.assert(
        fc.property(files, fc.constantFrom(1, 3, 8, 32, 40), (file: readonly ReferenceJob[], gpus) => {
          const expected = referenceSchedule(file, gpus, policy);
          fc.pre(expected.jobs + expected.rejected_larger_than_pool > 0);
          const text = file.map(
            ({ submittedS, durationS, gpus: size }, job) => `job-${job % 7},${submittedS},${durationS},${size}`,
          );
          const result = run(importFile(["job_id,submission_time,duration,num_gpu", ...text, ""]), gpus, policy);
          expect(reported(result)).toEqual(expected);
        }),
        { numRuns: 300 },
      );
    },
  );
});
