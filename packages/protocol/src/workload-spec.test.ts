import { describe, expect, it } from "vitest";
import { applyRequest } from "./apply.ts";
import { workloadSpec } from "@headroom/spec";

const least = { kind: "train", name: "llama-ft", run: "python train.py" };
const placesOf = (value: unknown): string[] => [
  ...new Set(workloadSpec.safeParse(value).error?.issues.map((issue) => issue.path.join("."))),
];

describe("a workload's spec", () => {
  it("is complete after parsing, whatever was left out", () => {
    expect(workloadSpec.parse(least)).toEqual({
      ...least,
      team: "default",
      dir: null,
      env: {},
      gang: { workers: 1, accelerators: 0, coresMilli: 1_000, memoryMib: 0 },
      acceleratorTypes: [],
      priority: 0,
      walltimeMs: null,
      retries: { max: 2, backoffMs: 1_000, backoffMaxMs: 300_000 },
      graceTimeoutMs: 30_000,
      checkpointDir: null,
    });
  });

  it.each([
    ["a name with a space", { name: "a b" }, "name"],
    ["a name with a line end", { name: "ab\n" }, "name"],
    ["a name with an escape sequence", { name: "\u001B[31mred" }, "name"],
    ["no name", { name: "" }, "name"],
    ["no workers", { gang: { workers: 0 } }, "gang.workers"],
    ["negative accelerators", { gang: { accelerators: -1 } }, "gang.accelerators"],
    ["half an accelerator", { gang: { accelerators: 0.5 } }, "gang.accelerators"],
    ["endless memory", { gang: { memoryMib: 1e300 } }, "gang.memoryMib"],
    ["a count that is not a number", { gang: { coresMilli: Number.NaN } }, "gang.coresMilli"],
    ["text for a number", { priority: "high" }, "priority"],
    ["a walltime of nothing", { walltimeMs: 0 }, "walltimeMs"],
    ["a relative directory", { dir: "work" }, "dir"],
    ["NUL in the command", { run: "a\u0000b" }, "run"],
    ["NUL in the environment", { env: { A: "\u0000" } }, "env.A"],
    ["a name no environment has", { env: { "1A": "" } }, "env.1A"],
    ["a team that climbs", { team: "../root" }, "team"],
    ["a team 65 deep", { team: Array.from({ length: 65 }, () => "a").join("/") }, "team"],
    ["a type that every record has", { acceleratorTypes: ["constructor"] }, "acceleratorTypes.0"],
    ["an unknown field", { gpus: 8 }, ""],
    ["an unknown field inside", { gang: { gpus: 8 } }, "gang"],
    ["tasks of a train", { taskCount: 3 }, ""],
  ])("refuses %s and names the place", (_what, changes, place) => {
    expect(placesOf({ ...least, ...changes })).toEqual([place]);
  });

  it("refuses tasks beyond the bound, and a batch without any", () => {
    const batch = { ...least, kind: "batch" };
    expect(placesOf(batch)).toEqual(["taskCount"]);
    expect(placesOf({ ...batch, taskCount: 1_000_001 })).toEqual(["taskCount"]);
    expect(placesOf({ ...batch, taskCount: 1_000_000 })).toEqual([]);
  });
});

describe("an apply request", () => {
  const faults = (teams: readonly object[]): string[] =>
    applyRequest.safeParse({ teams }).error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`) ?? [];

  it("names the teams that contain each other", () => {
    expect(
      faults([
        { name: "a", parent: "b" },
        { name: "b", parent: "c" },
        { name: "c", parent: "a" },
        { name: "d", parent: "a" },
      ]),
    ).toEqual([
      "teams.0.parent: must not contain each other: a > b > c > a",
      "teams.1.parent: must not contain each other: b > c > a > b",
      "teams.2.parent: must not contain each other: c > a > b > c",
    ]);
    expect(faults([{ name: "a", parent: "a" }])).toEqual(["teams.0.parent: must not contain each other: a > a"]);
  });

  it("takes 64 levels and no more", () => {
    const chain = (length: number): object[] =>
      Array.from({ length }, (_, depth) => ({ name: `t${depth}`, parent: depth === 0 ? null : `t${depth - 1}` }));
    expect(faults(chain(64))).toEqual([]);
    expect(faults(chain(65))).toHaveLength(1);
  });
});
