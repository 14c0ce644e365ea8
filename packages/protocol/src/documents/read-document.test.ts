import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { INSTANT_MS_MAX } from "./instants.ts";
import { applyRequest } from "../apply.ts";
import { workloadSpec, type WorkloadSpec } from "../workload-spec.ts";
import {
  checkDocuments,
  checkFabricLevels,
  documentJsonSchema,
  fleetDocument,
  pathText,
  readDocument,
  teamDocument,
  workloadDocument,
} from "./index.ts";
import type { HeadroomDocument } from "./index.ts";

/** Each problem as `path: message`, the way a user sees it but for the line. */
function problemsIn(value: unknown): string[] {
  const reading = readDocument(value);
  return reading.ok ? [] : reading.problems.map(({ path, message }) => `${pathText(path)}: ${message}`);
}

function documentIn(value: unknown): HeadroomDocument {
  const reading = readDocument(value);
  if (!reading.ok) throw new Error(reading.problems.map(({ message }) => message).join("; "));
  return reading.document;
}

const train = (fields: object): object => ({ kind: "train", name: "a", run: "true", ...fields });

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
      checkpoint: { dir: "ckpt" },
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
    ["a field that is not honoured yet", { model: { preset: "x" } }, "model: is not supported yet"],
    ["a negative count", { gang: { workers: -2 } }, "gang.workers: must be between 1 and 20000, got -2"],
    ["a huge count", { gang: { workers: 1e300 } }, "gang.workers: must be between 1 and 20000, got 1e+300"],
    ["no number at all", { gang: { workers: NaN } }, "gang.workers: must be between 1 and 20000, got NaN"],
    ["a fraction", { gang: { accelerators: 1.5 } }, "gang.accelerators: must be a whole number, got 1.5"],
    [
      "a reserved variable",
      { env: { RANK: "1" } },
      "env.RANK: is set by Headroom for every worker and cannot be given",
    ],
    [
      "an empty mapping",
      { gang: null },
      "gang: must be a mapping with the fields workers, accelerators, share, cores, memory, got an empty value",
    ],
    ["a list for a mapping", { env: [] }, "env: must be a mapping, got a list of 0 entries"],
    [
      "an object store",
      { checkpoint: { dir: "s3://b" } },
      'checkpoint.dir: must be a path on the nodes; object stores are not supported yet, got "s3://b"',
    ],
    ["a number for a name", { name: 12 }, "name: must be a name, got 12 (put it in quotes)"],
    ["a NUL", { run: "a\0b" }, "run: must not contain a NUL character"],
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
        spread: { over: "rack" },
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
      spread: { over: "rack", maxPerDomain: 1 },
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
      "gang.workers: must be at least elastic.min, 2, got 1; leave it out where elastic says both",
    ],
    [{ elastic: { minimum: 4, max: 8 } }, "elastic.minimum: unknown field; did you mean min?"],
    [{ gang: { share: 1 } }, "gang.share: must be below 1; leave it out for whole accelerators"],
    [{ gang: { share: 0.0005 } }, "gang.share: must be a whole number of thousandths of an accelerator, got 0.0005"],
    [
      { gang: { share: 0.5, accelerators: 2 } },
      "gang.share: is the part of one accelerator: leave gang.accelerators out or make it 1, got 2",
    ],
    [{ fabric: {} }, "fabric: needs within, prefer or slices"],
    [{ selector: { rack: 7 } }, "selector.rack: must be a name, got 7 (put it in quotes)"],
    [{ preemptible: "yes" }, 'preemptible: must be true, false or a mapping like { minRuntime: 30m }, got "yes"'],
    [
      { preemptible: { minRuntime: "30m", grace: "2m" } },
      "preemptible.grace: unknown field; did you mean grace, beside preemptible?",
    ],
    [
      { preemptible: { minRuntime: "30m" }, minRuntime: "1h" },
      "minRuntime: says 1h and preemptible.minRuntime another: keep one of them",
    ],
    [
      { after: [{ workload: "a", on: "okay" }] },
      'after[0].on: must be ok, failed or any, got "okay"; did you mean ok?',
    ],
    [{ after: ["a"] }, 'after[0]: must be a mapping with the fields workload, on, got "a"'],
    [
      { notBefore: "2027-03-01 08:00" },
      'notBefore: write an instant with its offset, like 2027-03-01T08:00:00Z or 2027-03-01T08:00:00+01:00, got "2027-03-01 08:00"',
    ],
    [{ deadline: "2027-02-29T08:00:00Z" }, 'deadline: is no instant of the calendar, got "2027-02-29T08:00:00Z"'],
    [
      { notBefore: "2027-03-01T08:00:00Z", deadline: "2027-03-01T08:00:00Z" },
      "deadline: must lie after notBefore, 2027-03-01T08:00:00Z",
    ],
  ])("refuses %j and says what to do", (fields, expected) => {
    expect(problemsIn(train(fields))).toEqual([expected]);
  });

  it("takes no elastic tasks: each is a gang of its own", () => {
    const batch = { kind: "batch", name: "a", run: "true", tasks: 4 };
    expect(problemsIn({ ...batch, elastic: { min: 1, max: 2 } })).toEqual([
      "elastic: is for kind: train only; the tasks of a batch are independent of each other already",
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

describe("kinds", () => {
  it.each<[unknown, string]>([
    [{ kind: "trian" }, 'kind: must be train, batch, fleet or team, got "trian"; did you mean train?'],
    [{ kind: "serve" }, "kind: serve is not supported yet"],
    [{}, "kind: is required"],
    [[], ': must be a mapping with a kind, like "kind: train", got a list of 0 entries'],
    [null, ': must be a mapping with a kind, like "kind: train", got an empty value'],
  ])("refuses %j", (value, expected) => {
    expect(problemsIn(value)).toEqual([expected]);
  });
});

describe("teams and fleets", () => {
  it("takes the parent from a path and refuses another one", () => {
    expect(documentIn({ kind: "team", name: "research/nlp", limit: { H100: 4 } })).toEqual({
      kind: "team",
      team: { name: "research/nlp", parent: "research", limit: { H100: 4 } },
    });
    expect(problemsIn({ kind: "team", name: "research/nlp", parent: "product" })).toEqual([
      'parent: must be research, which the name research/nlp implies, got "product"',
    ]);
    expect(problemsIn({ kind: "team", name: "a", limit: { H100: -1 } })).toEqual([
      "limit.H100: must be between 0 and 100000000, got -1",
    ]);
  });

  it("reads everything that a team can have, amounts in the units of people", () => {
    const document = documentIn({
      kind: "team",
      name: "research",
      guarantee: { "H100-SXM": 128, accelerators: 160.5, cores: 512.25, memory: "64GiB" },
      limit: { "H100-SXM": 256 },
      weight: 2.5,
      lendingLimit: { "H100-SXM": 64 },
      borrowingLimit: { cores: 100 },
      priority: "high",
      preemption: { reclaim: "lowerPriority", whileBorrowing: { priorityMax: -10 } },
      shapes: [{ within: "H100-SXM", accelerators: 8, count: 4, nodes: ["n1", "n2"] }],
    });
    expect(document).toEqual({
      kind: "team",
      team: {
        name: "research",
        parent: null,
        guarantee: { "H100-SXM": 128, accelerators: 160.5, cores: 512_250, memory: 65_536 },
        limit: { "H100-SXM": 256 },
        weight: 2.5,
        lendingLimit: { "H100-SXM": 64 },
        borrowingLimit: { cores: 100_000 },
        priority: 100,
        preemption: { within: "lowerPriority", reclaim: "lowerPriority", whileBorrowing: { priorityMax: -10 } },
        shapes: [{ within: "H100-SXM", accelerators: 8, count: 4, nodes: ["n1", "n2"] }],
      },
    });
    const { team } = document as { readonly team: unknown };
    expect(applyRequest.parse({ teams: [team] }).teams).toEqual([team]);
  });

  it.each<[object, string]>([
    [{ quota: { H100: 4 } }, "quota: unknown field; did you mean guarantee?"],
    [{ budget: 4 }, "budget: is not supported yet"],
    [
      { guarantee: { memory: 64 } },
      "guarantee.memory: needs a unit: write memory like 512MiB, 900GiB or 1.5TiB, got 64",
    ],
    [{ guarantee: { cores: 0.0001 } }, "guarantee.cores: must be a whole number of thousandths of a core, got 0.0001"],
    [{ limit: { H100: 0.0001 } }, "limit.H100: must be a whole number of thousandths of an accelerator, got 0.0001"],
    [
      { limit: { "a  b": 1 } },
      'limit["a  b"]: is no name of an accelerator type, and not accelerators, cores or memory',
    ],
    [{ weight: -1 }, "weight: must be a number between 0 and 1000000, got -1"],
    [{ preemption: { within: "lower" } }, 'preemption.within: must be never or lowerPriority, got "lower"'],
    [{ shapes: [{ within: "leaf", accelerators: 8 }] }, "shapes[0].count: is required"],
  ])("refuses %j of a team", (fields, expected) => {
    expect(problemsIn({ kind: "team", name: "a", ...fields })).toEqual([expected]);
  });

  const pool = {
    name: "h100",
    executor: "simulated",
    accelerator: "H100-SXM",
    nodes: 4,
    perNode: 8,
    cores: 64,
    memory: "1TiB",
    price: "2.10 USD/h",
  };

  it("reads sites and pools; the level of the nodes is not a level of the fabric", () => {
    expect(
      documentIn({ kind: "fleet", sites: [{ name: "dc1", fabric: ["spine", "leaf", "node"], pools: [pool] }] }),
    ).toEqual({
      kind: "fleet",
      fleet: {
        sites: [{ name: "dc1", fabricLevels: ["spine", "leaf"] }],
        pools: [
          {
            name: "h100",
            site: "dc1",
            executor: "simulated",
            acceleratorType: "H100-SXM",
            priceMicroUsdPerHour: 2_100_000,
          },
        ],
        simulatedNodes: [{ pool: "h100", nodeCount: 4, acceleratorCount: 8, coresMilli: 64_000, memoryMib: 1_048_576 }],
      },
    });
  });

  it("refuses pools that say what nothing would look at, or the same name twice", () => {
    const sites = [{ name: "dc1", pools: [{ name: "here", nodes: 3 }, pool, pool] }];
    expect(problemsIn({ kind: "fleet", sites })).toEqual([
      "sites[0].pools[0].nodes: cannot be declared for executor local: its nodes are found by themselves",
      "sites[0].pools[2].name: names the pool h100 twice",
    ]);
  });
});

describe("between documents", () => {
  const team = (name: string, parent: string | null): HeadroomDocument => ({
    kind: "team",
    team: { name, parent, limit: {} },
  });
  const told = (documents: readonly HeadroomDocument[]): string[] =>
    checkDocuments(documents).map(({ document, path, message }) => `${document} ${pathText(path)}: ${message}`);

  it("tells teams that contain each other once, where the first of them is declared", () => {
    expect(told([team("x", "a"), team("a", "b"), team("b", "c"), team("c", "a")])).toEqual([
      "1 parent: teams contain each other: a → b → c → a",
    ]);
    expect(told([team("a", "a")])).toEqual(["0 parent: teams contain each other: a → a"]);
    expect(told([team("a", null), team("b", "a"), team("c", "elsewhere")])).toEqual([]);
  });

  it("tells levels of the fabric that neither the fleet nor a document has", () => {
    const workload = documentIn(train({ fabric: { within: "leef", slices: [{ workers: 2, within: "rail" }] } }));
    const fleet = documentIn({
      kind: "fleet",
      sites: [{ name: "dc1", fabric: ["spine", "leaf", "node"], pools: [{ name: "p" }] }],
    });
    const levels = (documents: readonly HeadroomDocument[], known: readonly string[]): string[] =>
      checkFabricLevels(documents, known).map(
        ({ document, path, message }) => `${document} ${pathText(path)}: ${message}`,
      );
    expect(levels([fleet, workload], ["rail"])).toEqual([
      "1 fabric.within: no site has the level leef; did you mean leaf? (there is rail, spine, leaf, node)",
    ]);
    expect(levels([workload], ["leef"])).toEqual([
      "0 fabric.slices[0].within: no site has the level rail (there is leef, node)",
    ]);
    expect(levels([documentIn(train({ fabric: { within: "node" } }))], [])).toEqual([]);
  });

  it("tells what is declared twice", () => {
    const workload = documentIn(train({}));
    expect(told([workload, team("a", null), workload])).toEqual([
      "2 name: the workload a of team default is declared twice",
    ]);
  });
});

const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}$/);
const text = fc
  .string({ minLength: 1, maxLength: 30, unit: "grapheme" })
  .filter((each) => each.trim() !== "" && !each.includes("\0"));
const common = {
  name,
  team: fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/")),
  run: text,
  dir: fc.option(text.map((each) => `/${each}`)),
  env: fc.dictionary(
    fc.stringMatching(/^[a-z_][a-z0-9_]{0,8}$/),
    fc.string({ maxLength: 10 }).filter((each) => !each.includes("\0")),
    { noNullPrototype: true },
  ),
  gang: fc.record({
    workers: fc.integer({ min: 1, max: 20_000 }),
    accelerators: fc.integer({ min: 0, max: 1_024 }),
    coresMilli: fc.integer({ min: 0, max: 100_000_000 }),
    memoryMib: fc.integer({ min: 0, max: 1_073_741_824 }),
  }),
  acceleratorTypes: fc.uniqueArray(name, { maxLength: 4 }),
  priority: fc.integer({ min: -1_000, max: 1_000 }),
  walltimeMs: fc.option(fc.integer({ min: 1, max: 315_360_000_000 })),
  retries: fc.record({
    max: fc.integer({ min: 0, max: 1_000 }),
    backoffMs: fc.integer({ min: 0, max: 86_400_000 }),
    backoffMaxMs: fc.integer({ min: 0, max: 315_360_000_000 }),
  }),
  graceTimeoutMs: fc.integer({ min: 0, max: 86_400_000 }),
  checkpointDir: fc.option(text.map((each) => `/${each}`)),
};
const wishes = {
  fabric: fc
    .record(
      {
        within: name,
        prefer: name,
        slices: fc.array(fc.record({ workers: fc.integer({ min: 1, max: 64 }), within: name }), { maxLength: 4 }),
      },
      { requiredKeys: [] },
    )
    .filter((levels) => Object.keys(levels).length > 0),
  nodeSelector: fc.dictionary(name, name, { noNullPrototype: true, minKeys: 1, maxKeys: 4 }),
  spread: fc.record({ over: name, maxPerDomain: fc.integer({ min: 1, max: 64 }) }),
  preemptible: fc.boolean(),
  minRuntimeMs: fc.nat({ max: 1e9 }),
  restartCostMs: fc.nat({ max: 1e9 }),
  after: fc.array(
    fc.record({ workload: name, on: fc.constantFrom("ok" as const, "failed" as const, "any" as const) }),
    {
      minLength: 1,
      maxLength: 3,
    },
  ),
  notBeforeMs: fc.nat({ max: 2 ** 40 }),
  deadlineMs: fc.integer({ min: 2 ** 40 + 1, max: INSTANT_MS_MAX }),
};
const requiredKeys = Object.keys(common) as (keyof typeof common)[];
/** An elastic gang, a gang of shares, or a plain one. */
const anyGang = (spec: WorkloadSpec, least: number, isShared: boolean): WorkloadSpec => {
  const { gang } = spec;
  if (isShared) return { ...spec, gang: { ...gang, accelerators: 1, shareMilli: Math.min(999, least) } };
  return spec.kind === "train" && least < gang.workers ? { ...spec, gang: { ...gang, minWorkers: least } } : spec;
};
const anySpec: fc.Arbitrary<WorkloadSpec> = fc
  .tuple(
    fc.oneof(
      fc.record(
        { kind: fc.constant("train" as const), ...common, ...wishes },
        { requiredKeys: ["kind", ...requiredKeys] },
      ),
      fc.record(
        {
          kind: fc.constant("batch" as const),
          ...common,
          ...wishes,
          taskCount: fc.integer({ min: 1, max: 1_000_000 }),
        },
        { requiredKeys: ["kind", "taskCount", ...requiredKeys] },
      ),
    ),
    fc.integer({ min: 1, max: 30_000 }),
    fc.boolean(),
  )
  .map(([spec, least, isShared]) => anyGang(spec, least, isShared));

describe("properties", () => {
  it("a workload written as a document reads back as the same workload, and the API takes it", () => {
    fc.assert(
      fc.property(anySpec, (spec) => {
        expect(documentIn(workloadDocument(spec))).toEqual({ kind: "workload", spec });
        expect(applyRequest.safeParse({ workloads: [spec] }).error).toBeUndefined();
      }),
    );
  });

  it("a team and a fleet written as documents read back the same", () => {
    const amounts = fc.dictionary(
      fc.oneof(name, fc.constantFrom("accelerators", "cores", "memory")),
      fc.nat({ max: 100_000_000 }),
      {
        noNullPrototype: true,
        minKeys: 1,
      },
    );
    const anyTeam = fc.record(
      {
        name,
        parent: fc.option(name),
        limit: amounts,
        guarantee: amounts,
        weight: fc.integer({ min: 0, max: 8_000 }).map((milli) => milli / 1000),
        lendingLimit: amounts,
        borrowingLimit: amounts,
        priority: fc.integer({ min: -200, max: 200 }),
        preemption: fc.record({
          within: fc.constantFrom("never" as const, "lowerPriority" as const),
          reclaim: fc.constantFrom("never" as const, "lowerPriority" as const, "any" as const),
        }),
        shapes: fc.array(
          fc.record(
            {
              within: name,
              accelerators: fc.integer({ min: 1, max: 64 }),
              count: fc.integer({ min: 1, max: 64 }),
              nodes: fc.array(name, { maxLength: 3 }),
            },
            { requiredKeys: ["within", "accelerators", "count"] },
          ),
          { minLength: 1, maxLength: 2 },
        ),
      },
      { requiredKeys: ["name", "parent", "limit"] },
    );
    const anyPool = fc.record({
      name,
      site: fc.constant("here"),
      executor: fc.constantFrom("local" as const, "simulated" as const),
      acceleratorType: name,
      priceMicroUsdPerHour: fc.nat(),
    });
    fc.assert(
      fc.property(
        anyTeam,
        fc.uniqueArray(anyPool, { minLength: 1, maxLength: 4, selector: (pool) => pool.name }),
        (team, pools) => {
          expect(documentIn(teamDocument(team))).toEqual({ kind: "team", team });
          const simulated = pools.filter(({ executor }) => executor === "simulated");
          const simulatedNodes = simulated.map((pool) => ({
            pool: pool.name,
            nodeCount: 3,
            acceleratorCount: 8,
            coresMilli: 1_500,
            memoryMib: 1_025,
          }));
          const fleet = { sites: [{ name: "here", fabricLevels: ["leaf"] }], pools, simulatedNodes };
          expect(documentIn(fleetDocument(fleet))).toEqual({ kind: "fleet", fleet });
        },
      ),
    );
  });

  it("never throws, and says something about whatever it does not take", () => {
    const known = fc.constantFrom(
      "kind",
      "name",
      "run",
      "gang",
      "sites",
      "limit",
      "env",
      "retries",
      "tasks",
      "workers",
      "pools",
      "walltime",
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.anything(),
        fc.constantFrom("train", "batch", "team", "fleet", "1h"),
        fc.dictionary(known, tie("tree")),
        fc.array(tie("tree")),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(known, tree), fc.constantFrom("train", "batch", "team", "fleet"), (fields, kind) => {
        const reading = readDocument({ ...fields, kind });
        return reading.ok || (reading.problems.length > 0 && reading.problems.every(({ message }) => message !== ""));
      }),
    );
  });
});

describe("the JSON Schema", () => {
  it("knows every kind, closes every mapping and describes every field", () => {
    const kinds = documentJsonSchema()["oneOf"] as {
      properties: Record<string, Record<string, unknown>>;
      additionalProperties: unknown;
    }[];
    expect(kinds.map(({ properties }) => properties["kind"]?.["const"])).toEqual(["train", "batch", "fleet", "team"]);
    for (const { properties, additionalProperties } of kinds) {
      expect(additionalProperties).toBe(false);
      const undescribed = Object.keys(properties).filter(
        (field) => typeof properties[field]?.["description"] !== "string",
      );
      expect(undescribed).toEqual([]);
    }
  });
});
