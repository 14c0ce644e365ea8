import { expect, it } from "vitest";
import { changesOf } from "./set-assignments.ts";

it("reads values as in a workload file", () => {
  expect(
    changesOf(["walltime=2h", "priority=high", "retries=5", "retries.backoff=10s", "env.A=1", "env.B-", "hold=true"]),
  ).toEqual({
    walltimeMs: 7_200_000,
    priority: 100,
    retries: { max: 5, backoffMs: 10_000 },
    env: { A: "1", B: null },
    hold: true,
  });
  expect(changesOf(["after=prepare,evaluate:any", "workers=4", "minWorkers=none"])).toEqual({
    after: [
      { workload: "prepare", on: "ok" },
      { workload: "evaluate", on: "any" },
    ],
    workers: 4,
    minWorkers: null,
  });
  expect(changesOf(["walltime=none", "after=", "notBefore=none"])).toEqual({
    walltimeMs: null,
    after: null,
    notBeforeMs: null,
  });
});

it.each([
  ["timelimit=2h", "did you mean walltime?"],
  ["run=true", "run does not change in place"],
  ["walltime=soon", "walltime"],
  ["workers=many", "workers"],
  ["priority", "write FIELD=VALUE"],
])("refuses %s with what to write", (assignment, message) => {
  expect(() => changesOf([assignment])).toThrow(message);
});
