import { describe, expect, it } from "vitest";
import { workloadSpec } from "./workload.ts";
import { documentIn, problemsIn, train } from "../testing/reading.ts";

describe("workloads", () => {
  it("reads everything that can be written", () => {
    const document = documentIn({
      kind: "batch",
      name: "eval",
      team: "research/nlp",
      run: "python3 eval.py",
      dir: "work",
      env: { STEPS: 400, FAST: true, NAME: "x" },
      tasks: 12,
      gang: { workers: 4, accelerators: 8, cores: 0.5, memory: "900GiB" },
      accelerator: ["H200", "H100"],
      priority: "high",
      walltime: "1h30m",
      retries: { max: 5, backoff: "2s", maxBackoff: "1m" },
      grace: "10s",
      checkpoint: { dir: "ckpt", every: "auto", cost: "20s" },
    });
    expect(document).toEqual({
      kind: "workload",
      spec: {
        kind: "batch",
        name: "eval",
        team: "research/nlp",
        run: "python3 eval.py",
        dir: "work",
        env: { STEPS: "400", FAST: "true", NAME: "x" },
        taskCount: 12,
        gang: { workers: 4, accelerators: 8, coresMilli: 500, memoryMib: 921_600 },
        acceleratorTypes: ["H200", "H100"],
        priority: 100,
        walltimeMs: 5_400_000,
        retries: { max: 5, backoffMs: 2_000, backoffMaxMs: 60_000 },
        graceTimeoutMs: 10_000,
        checkpointDir: "ckpt",
        checkpointEvery: "auto",
        checkpointCostMs: 20_000,
      },
    });
  });

  it("needs no more than a kind, a name and a command, and is then what the API takes", () => {
    const document = documentIn(train({}));
    const spec = document.kind === "workload" ? document.spec : undefined;
    expect(workloadSpec.parse(spec)).toEqual(spec);
  });

  it.each<[string, object, string]>([
    ["a misspelt field", { acelerator: "H100" }, "acelerator: unknown field; did you mean accelerator?"],
    ["another system's word", { gang: { gpus: 8 } }, "gang.gpus: unknown field; did you mean accelerators?"],
    ["a field in the wrong place", { gpus: 8 }, "gpus: unknown field; did you mean gang.accelerators?"],
    [
      "an interval that is no duration",
      { checkpoint: { every: "often" } },
      'checkpoint.every: write a duration like 500ms, 90s, 12h or 1h30m (units w, d, h, m, s, ms), got "often"; or write auto',
    ],
    ["a field that is not honoured yet", { scale: "x" }, "scale: is not supported yet"],
    ["a negative count", { gang: { workers: -2 } }, "gang.workers: must be between 1 and 20000, got -2"],
    ["a huge count", { gang: { workers: 1e300 } }, "gang.workers: must be between 1 and 20000, got 1e+300"],
    ["no number at all", { gang: { workers: NaN } }, "gang.workers: must be between 1 and 20000, got NaN"],
    ["a fraction", { gang: { accelerators: 1.5 } }, "gang.accelerators: must be a whole number, got 1.5"],
    [
      "a reserved variable",
      { env: { RANK: "1" } },
      "env.RANK: is set by Headroom for every worker and cannot be set here",
    ],
    [
      "an empty mapping",
      { gang: null },
      "gang: must be a mapping with the fields workers, accelerators, cores, memory, networkGbps, share, acceleratorMemory, profile, taskGroups, got an empty value",
    ],
    ["a list for a mapping", { env: [] }, "env: must be a mapping, got a list of 0 entries"],
    [
      "an object store",
      { checkpoint: { dir: "s3://b" } },
      'checkpoint.dir: must be a path on the nodes; object stores are not supported yet, got "s3://b"',
    ],
    ["a number for a name", { name: 12 }, "name: must be a name, got 12 (put it in quotes)"],
    ["a NUL", { run: "a\0b" }, "run: must not contain a NUL character"],
    [
      "groups beside workers that are all alike",
      { gang: { workers: 2, taskGroups: [{ name: "a" }] } },
      "gang.workers: must be stated for each group if gang.taskGroups is given",
    ],
    [
      "two groups of a name",
      { gang: { taskGroups: [{ name: "a" }, { name: "a" }] } },
      "gang.taskGroups[1].name: a is already the name of another group of the gang",
    ],
    [
      "a group with more at least than at most",
      { gang: { taskGroups: [{ name: "a", workers: 2, min: 3 }] } },
      "gang.taskGroups[0].min: must be at most workers, 2, got 3",
    ],
    [
      "slices that do not make a group",
      {
        gang: {
          taskGroups: [{ name: "a", workers: 4, min: 3, fabric: { slices: [{ workers: 2, within: "leaf" }] } }],
        },
      },
      "gang.taskGroups[0].fabric.slices[0].workers: must divide min, which is 3, got 2",
    ],
    [
      "slices of a gang of groups",
      { gang: { taskGroups: [{ name: "a" }] }, fabric: { slices: [{ workers: 1, within: "leaf" }] } },
      "fabric.slices: must be stated for each group, in its fabric, if gang.taskGroups is given",
    ],
    ["a type twice", { accelerator: ["A", "A"] }, "accelerator: names A twice"],
  ])("refuses %s", (_, fields, expected) => {
    expect(problemsIn(train(fields))).toEqual([expected]);
  });

  it("reads where work may lie, when it may start and under which terms it gives way", () => {
    const document = documentIn(
      train({
        gang: { accelerators: 8, cores: 64 },
        elastic: { min: 2, max: 8 },
        fabric: { within: "spine", prefer: "leaf", slices: [{ workers: 2, within: "node" }] },
        selector: { zone: "a" },
        spread: { topologyKey: "rack" },
        preemptible: { minRuntime: "30m" },
        restartCost: "2m",
        after: [{ workload: "tokenize" }, { workload: "w7", on: "any" }],
        notBefore: "2027-03-01T08:00:00+01:00",
        deadline: "2027-03-02T08:00Z",
      }),
    );
    expect(document.kind === "workload" ? document.spec : null).toMatchObject({
      gang: { workers: 8, minWorkers: 2, accelerators: 8, coresMilli: 64_000 },
      fabric: { within: "spine", prefer: "leaf", slices: [{ workers: 2, within: "node" }] },
      nodeSelector: { zone: "a" },
      spread: { topologyKey: "rack", maxPerDomain: 1 },
      preemptible: true,
      minRuntimeMs: 1_800_000,
      restartCostMs: 120_000,
      after: [
        { workload: "tokenize", on: "ok" },
        { workload: "w7", on: "any" },
      ],
      notBeforeMs: 1_803_884_400_000,
      deadlineMs: 1_803_974_400_000,
    });
  });

  it.each<[string, object, object]>([
    ["both bounds from the number of workers", { gang: { workers: 4 } }, { workers: 4, minWorkers: undefined }],
    ["fewer", { gang: { workers: 4 }, elastic: { min: 2 } }, { workers: 4, minWorkers: 2 }],
    ["more", { gang: { workers: 4 }, elastic: { max: 8 } }, { workers: 8, minWorkers: 4 }],
    [
      "a number between the bounds",
      { gang: { workers: 4 }, elastic: { min: 2, max: 8 } },
      { workers: 8, minWorkers: 2 },
    ],
    ["equal bounds", { elastic: { min: 4, max: 4 } }, { workers: 4, minWorkers: undefined }],
    ["a part of one accelerator", { gang: { profile: "3g.40gb" } }, { accelerators: 1, profile: "3g.40gb" }],
    [
      "memory of one accelerator",
      { gang: { acceleratorMemory: "20GiB" } },
      { accelerators: 1, acceleratorMemoryMib: 20 * 1024 },
    ],
    ["a share of one accelerator", { gang: { share: 0.25 } }, { accelerators: 1, shareMilli: 250 }],
  ])("takes %s", (_, fields, gang) => {
    const document = documentIn(train(fields));
    const spec = document.kind === "workload" ? document.spec : undefined;
    expect({ minWorkers: undefined, ...spec?.gang }).toMatchObject(gang);
    expect(workloadSpec.parse(spec)).toEqual(spec);
  });

  it.each<[object, string]>([
    [{ elastic: {} }, "elastic: needs min, max or both"],
    [{ elastic: { min: 4, max: 2 } }, "elastic.min: must be at most max, 2, got 4"],
    [
      { gang: { workers: 1 }, elastic: { min: 2 } },
      "gang.workers: must be at least elastic.min, 2, got 1; leave it out if elastic states both min and max",
    ],
    [{ elastic: { minimum: 4, max: 8 } }, "elastic.minimum: unknown field; did you mean min?"],
    [
      { gang: { profile: "3g.40gb", share: 0.5 } },
      "gang.profile: cannot be combined with a share: give only one of them",
    ],
    [
      { gang: { profile: "1g.10gb", accelerators: 2 } },
      "gang.profile: is a part of one accelerator: leave gang.accelerators out or set it to 1, got 2",
    ],
    [
      { gang: { acceleratorMemory: "20GiB", share: 0.5 } },
      "gang.acceleratorMemory: cannot be combined with a share: give only one of them",
    ],
    [
      { gang: { acceleratorMemory: "20GiB", profile: "3g.40gb" } },
      "gang.profile: cannot be combined with accelerator memory: give only one of them",
    ],
    [
      { gang: { acceleratorMemory: "20GiB", accelerators: 2 } },
      "gang.acceleratorMemory: is of the memory of one accelerator: leave gang.accelerators out or set it to 1, got 2",
    ],
    [{ gang: { share: 1 } }, "gang.share: must be below 1; leave it out for whole accelerators"],
    [{ gang: { share: 0.0005 } }, "gang.share: must be a whole number of thousandths of an accelerator, got 0.0005"],
    [
      { gang: { share: 0.5, accelerators: 2 } },
      "gang.share: is the part of one accelerator: leave gang.accelerators out or set it to 1, got 2",
    ],
    [{ fabric: {} }, "fabric: needs within, prefer or slices"],
    [
      { gang: { workers: 5 }, fabric: { slices: [{ workers: 2, within: "leaf" }] } },
      "fabric.slices[0].workers: must divide gang.workers, which is 5, got 2",
    ],
    [
      { elastic: { min: 1, max: 8 }, fabric: { slices: [{ workers: 2, within: "leaf" }] } },
      "fabric.slices[0].workers: must divide elastic.min, which is 1, got 2",
    ],
    [
      { elastic: { min: 2, max: 7 }, fabric: { slices: [{ workers: 2, within: "leaf" }] } },
      "fabric.slices[0].workers: must divide elastic.max, which is 7, got 2",
    ],
    [
      { elastic: { max: 8 }, fabric: { slices: [{ workers: 2, within: "leaf" }] } },
      "fabric.slices[0].workers: must divide gang.workers, which is 1, got 2",
    ],
    [
      {
        gang: { workers: 12 },
        fabric: {
          slices: [
            { workers: 6, within: "spine" },
            { workers: 4, within: "leaf" },
          ],
        },
      },
      "fabric.slices[1].workers: must divide the workers of the slice around it, which is 6, got 4",
    ],
    [{ selector: { rack: 7 } }, "selector.rack: must be a name, got 7 (put it in quotes)"],
    [
      { preemptible: "yes" },
      'preemptible: must be true, false, aboveGuarantee or a mapping like { minRuntime: 30m }, got "yes"',
    ],
    [
      { preemptible: { minRuntime: "30m", grace: "2m" } },
      "preemptible.grace: unknown field; did you mean grace, beside preemptible?",
    ],
    [
      { preemptible: { minRuntime: "30m" }, minRuntime: "1h" },
      "minRuntime: states 1h, but preemptible.minRuntime another time: keep one of them",
    ],
    [
      { after: [{ workload: "a", on: "okay" }] },
      'after[0].on: must be ok, failed or any, got "okay"; did you mean ok?',
    ],
    [{ after: ["a"] }, 'after[0]: must be a mapping with the fields workload, on, artifact, got "a"'],
    [
      { notBefore: "2027-03-01 08:00" },
      'notBefore: write an instant with its offset, like 2027-03-01T08:00:00Z or 2027-03-01T08:00:00+01:00, got "2027-03-01 08:00"',
    ],
    [
      { deadline: "8h" },
      "deadline: must be an instant like 2027-03-01T08:00:00Z, because a duration is possible only in a schedule, got 8h",
    ],
    [
      { startWindow: { cheapest: "4h", latestStart: "90m" } },
      "startWindow.latestStart: must be an instant like 2027-03-01T08:00:00Z, because a duration is possible only in a schedule, got 1h30m",
    ],
    [{ deadline: "2027-02-29T08:00:00Z" }, 'deadline: is no instant of the calendar, got "2027-02-29T08:00:00Z"'],
    [
      { notBefore: "2027-03-01T08:00:00Z", deadline: "2027-03-01T08:00:00Z" },
      "deadline: must be later than notBefore, 2027-03-01T08:00:00Z",
    ],
  ])("refuses %j and says what to do", (fields, expected) => {
    expect(problemsIn(train(fields))).toEqual([expected]);
  });

  it("reads the names of secrets, and not their values", () => {
    const secrets = { env: { TOKEN: "hub/token" }, envFrom: ["metrics"], pull: ["registry.example"] };
    expect(documentIn(train({ secrets }))).toMatchObject({ spec: { secrets } });
    const broken = { env: { TOKEN: "hub/token", RANK: "hub/rank", KEY: "hub" }, envFrom: ["Metrics"] };
    expect(problemsIn(train({ secrets: broken })).map((problem) => problem.split(":")[0])).toEqual([
      "secrets.env.RANK",
      "secrets.env.KEY",
      "secrets.envFrom",
    ]);
    expect(problemsIn(train({ env: { TOKEN: "x" }, secrets }))).toEqual([
      "secrets.env.TOKEN: is in env too; state one of them",
    ]);
  });

  it("takes no elastic tasks: each is a gang of its own", () => {
    const batch = { kind: "batch", name: "a", run: "true", tasks: 4 };
    expect(problemsIn({ ...batch, elastic: { min: 1, max: 2 } })).toEqual([
      "elastic: is only for kind: train; the tasks of a batch are already independent of each other",
    ]);
    const spec = { kind: "batch", name: "a", run: "true", taskCount: 4, gang: { workers: 2, minWorkers: 1 } };
    expect(workloadSpec.safeParse(spec).error?.issues.map(({ path }) => path.join("."))).toEqual(["gang.minWorkers"]);
  });

  it("tells all problems at once", () => {
    expect(problemsIn({ kind: "train", gang: { workers: 0, gpu: 1 }, walltime: 60, x: 1 })).toHaveLength(6);
  });

  it("does not let a value obey the terminal or fill the screen", () => {
    const [problem = ""] = problemsIn(train({ priority: `\u001b[2J\u009b\u202e${"x".repeat(10_000)}` }));
    expect(problem).not.toMatch(/[^ -~…]/);
    expect(problem.length).toBeLessThan(300);
  });
});
