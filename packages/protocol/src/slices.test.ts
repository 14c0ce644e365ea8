import { describe, expect, it } from "vitest";
import { applyRequest } from "./apply.ts";
import { submittedSpec, workloadSpec } from "@headroom/spec";

const sliced = (gang: object, ...sizes: number[]) => ({
  kind: "train",
  name: "a",
  run: "./a",
  gang,
  fabric: { slices: sizes.map((workers, at) => ({ workers, within: `level${at}` })) },
});
const issuesOf = (input: unknown): string[] =>
  submittedSpec.safeParse(input).error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`) ?? [];

describe("slices of what is submitted", () => {
  it.each([
    [sliced({ workers: 5 }, 2), "fabric.slices.0.workers: must divide gang.workers, which is 5, got 2"],
    [
      sliced({ workers: 8, minWorkers: 1 }, 2),
      "fabric.slices.0.workers: must divide gang.minWorkers, which is 1, got 2",
    ],
    [
      sliced({ workers: 12 }, 6, 4),
      "fabric.slices.1.workers: must divide the workers of the slice around it, which is 6, got 4",
    ],
  ])("are whole %#", (input, problem) => {
    expect(issuesOf(input)).toEqual([problem]);
  });

  it("of groups are whole group by group, of schedules as well", () => {
    const group = { name: "g", workers: 3, fabric: { slices: [{ workers: 2, within: "leaf" }] } };
    expect(issuesOf({ kind: "train", name: "a", run: "./a", gang: { taskGroups: [group] } })).toEqual([
      "gang.taskGroups.0.fabric.slices.0.workers: must divide workers, which is 3, got 2",
    ]);
    const schedule = {
      name: "nightly",
      times: { minutes: [0], hours: [3], daysOfMonth: [1], months: [1], daysOfWeek: [1] },
      spec: sliced({ workers: 5 }, 2),
      concurrency: "forbid",
    };
    const { error } = applyRequest.safeParse({ schedules: [schedule] });
    expect(error?.issues.map(({ path }) => path.join("."))).toEqual(["schedules.0.spec.fabric.slices.0.workers"]);
  });

  it("that were taken before are still told of", () => {
    expect(workloadSpec.safeParse(sliced({ workers: 5 }, 2)).success).toBe(true);
    expect(issuesOf(sliced({ workers: 8, minWorkers: 4 }, 4, 2))).toEqual([]);
  });
});
