import { describe, expect, it } from "vitest";
import { submissionOf, type SubmitFields } from "./submit-form.ts";

const fields: SubmitFields = {
  name: "llama-ft",
  team: "research",
  run: "torchrun train.py",
  workers: "4",
  accelerators: "8",
  acceleratorType: "H100-SXM",
  walltime: "90",
  duration: "45",
  priority: "0",
};

describe("the submission form", () => {
  it("becomes a specification", () => {
    const submission = submissionOf(fields, false);
    expect(submission).toMatchObject({
      kind: "ready",
      spec: {
        run: "torchrun train.py",
        gang: { workers: 4, accelerators: 8 },
        acceleratorTypes: ["H100-SXM"],
        walltimeMs: 5_400_000,
      },
    });
    const simulated = submissionOf(fields, true);
    expect(simulated.kind === "ready" ? simulated.spec.env : null).toEqual({ SIMULATED_DURATION_S: "2700" });
  });

  it("says at each field what is wrong with it", () => {
    const wrong = (change: Partial<SubmitFields>, isDemo = false): readonly string[] => {
      const submission = submissionOf({ ...fields, ...change }, isDemo);
      return submission.kind === "wrong" ? Object.keys(submission.errors) : [];
    };
    expect(wrong({ name: "no spaces please" })).toEqual(["name"]);
    expect(wrong({ run: "" })).toEqual(["run"]);
    expect(wrong({ workers: "0", accelerators: "1e9" })).toEqual(["workers", "accelerators"]);
    expect(wrong({ workers: "-3" })).toEqual(["workers"]);
    expect(wrong({ walltime: "soon" })).toEqual(["walltime"]);
    expect(wrong({ walltime: "" })).toEqual([]);
    expect(wrong({ duration: "0" }, true)).toEqual(["duration"]);
    expect(wrong({ duration: "0" }, false)).toEqual([]);
  });
});
