import { describe, expect, it } from "vitest";
import { readJobList } from "./job-list.ts";

const phases = (text: string): { readonly jobs: Readonly<Record<string, string>>; readonly isComplete: boolean } => {
  const { jobs, isComplete } = readJobList(text, "headroom-", (uid) => uid === 0);
  return { jobs: Object.fromEntries([...jobs].map(([name, { phase }]) => [name, phase])), isComplete };
};

describe("the listing of jobs", () => {
  it("counts the components of a heterogeneous job as one, in the state that says most", () => {
    expect(
      phases("7+0|RUNNING|None|0|headroom-a\n7+1|PENDING|Resources|0|headroom-a\n9|COMPLETED|None|0|headroom-b\n"),
    ).toEqual({
      jobs: { "headroom-a": "active", "headroom-b": "ended" },
      isComplete: true,
    });
  });

  it("leaves out jobs with the name of an attempt that another user has submitted", () => {
    expect(phases("7|RUNNING|None|1000|headroom-a\n")).toEqual({ jobs: {}, isComplete: true });
  });

  it("leaves out jobs of others, whose names may hold the separator", () => {
    expect(phases("7|RUNNING|None|0|a|b\n8|PENDING|None|0|headroom-x|y\n")).toEqual({
      jobs: { "headroom-x|y": "pending" },
      isComplete: true,
    });
  });

  it.each([
    ["", true],
    ["7|RUNNING|None|0|headroom-a\n8|PEND", false],
    ["7|RUNNING|None|0|headroom-a\n8|NEW_STATE|None|0|headroom-b\n", false],
    ["slurm_load_jobs error: Unable to contact slurm controller\n", false],
  ])("knows whether an answer is complete: %j", (text, isComplete) => {
    expect(phases(text).isComplete).toBe(isComplete);
  });
});
