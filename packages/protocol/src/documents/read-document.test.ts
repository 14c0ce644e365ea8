import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyRequest } from "../apply.ts";
import { workloadSpec, type WorkloadSpec } from "../workload-spec.ts";
import {
  checkDocuments,
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
    ["a field that is not honoured yet", { elastic: { min: 2 } }, "elastic: is not supported yet"],
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
      "gang: must be a mapping with the fields workers, accelerators, cores, memory, got an empty value",
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
const anySpec: fc.Arbitrary<WorkloadSpec> = fc.oneof(
  fc.record({ kind: fc.constant("train" as const), ...common }),
  fc.record({ kind: fc.constant("batch" as const), ...common, taskCount: fc.integer({ min: 1, max: 1_000_000 }) }),
);

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
    const anyTeam = fc.record({
      name,
      parent: fc.option(name),
      limit: fc.dictionary(name, fc.nat({ max: 1_000 }), { noNullPrototype: true }),
    });
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
