import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { gangOfGroups, type TaskGroup } from "./workload/gang.ts";
import { submittedSpec, type WorkloadSpec } from "./workload/workload.ts";
import { fleetDocument, readDocument, teamDocument, workloadDocument } from "./index.ts";
import { INSTANT_MS_MAX } from "./notation/instants.ts";
import { documentIn } from "./testing/reading.ts";

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
const constraints = {
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
  spread: fc.record({ topologyKey: name, maxPerDomain: fc.integer({ min: 1, max: 64 }) }),
  data: fc.record(
    { inputs: fc.uniqueArray(text, { minLength: 1, maxLength: 3 }), rule: name, store: name },
    { requiredKeys: [] },
  ),
  preemptible: fc.boolean(),
  minRuntimeMs: fc.nat({ max: 1e9 }),
  restartCostMs: fc.nat({ max: 1e9 }),
  onNodeLoss: fc.constantFrom("replace" as const, "restart" as const),
  checkpointOnRequest: fc.constant(true as const),
  after: fc.array(
    fc.oneof(
      fc.record({ workload: name, on: fc.constantFrom("ok" as const, "failed" as const, "any" as const) }),
      fc.record({ artifact: fc.constantFrom("model", "Best-1_x") }),
      fc.record({ artifact: fc.constantFrom("model", "Best-1_x"), workload: name }),
    ),
    {
      minLength: 1,
      maxLength: 3,
    },
  ),
  produces: fc.uniqueArray(fc.constantFrom("model", "report", "Best-1_x"), { minLength: 1 }),
  notBeforeMs: fc.nat({ max: 2 ** 40 }),
  deadlineMs: fc.integer({ min: 2 ** 40 + 1, max: INSTANT_MS_MAX }),
  startWindow: fc.oneof(
    fc.record({ microUsdPerKwhMax: fc.integer({ min: -1e8, max: 1e8 }), latestStartMs: fc.nat({ max: 2 ** 40 }) }),
    fc.record({ gramsPerKwhMax: fc.nat({ max: 1e5 }) }),
    fc.record({ cheapestMs: fc.integer({ min: 1, max: 1e9 }), latestStartMs: fc.nat({ max: 2 ** 40 }) }),
    fc.record({
      cheapestMs: fc.integer({ min: 1, max: 1e9 }),
      cleanestMs: fc.integer({ min: 1, max: 1e9 }),
      latestStartMs: fc.nat({ max: 2 ** 40 }),
    }),
  ),
};
const requiredKeys = Object.keys(common) as (keyof typeof common)[];
/** Draws an elastic gang, a gang with fractions or MIG profiles, or a plain gang. */
const anyGang = (spec: WorkloadSpec, least: number, isShared: boolean): WorkloadSpec => {
  const { gang } = spec;
  if (isShared && least % 3 === 0) return { ...spec, gang: { ...gang, accelerators: 1, profile: "1g.10gb" } };
  if (isShared && least % 3 === 1) return { ...spec, gang: { ...gang, accelerators: 1, acceleratorMemoryMib: least } };
  if (isShared) return { ...spec, gang: { ...gang, accelerators: 1, shareMilli: Math.min(999, least) } };
  if (spec.kind !== "train" || least >= gang.workers) return spec;
  // Every other gang has a throughput curve. Gangs with more sizes than a curve can name have none.
  const sizes = gang.workers % 2 === 0 && gang.workers <= 1024 ? gang.workers : 0;
  const curve = Array.from({ length: sizes }, (_, index) => (index + 1) * 1000 - ((index * least) % 997));
  return { ...spec, gang: { ...gang, minWorkers: least, ...(sizes > 0 ? { throughputMilli: curve } : {}) } };
};
const anyAntiAffinity = fc.record(
  {
    sets: fc.uniqueArray(name, { minLength: 1, maxLength: 3 }),
    from: fc.array(fc.oneof(fc.record({ set: name, within: name }), fc.record({ set: name, topologyKey: name })), {
      minLength: 1,
      maxLength: 3,
    }),
    exclusive: fc.constant(true as const),
  },
  { requiredKeys: [] },
);
const anyGroups = fc.uniqueArray(
  fc
    .record({
      name,
      workers: fc.integer({ min: 2, max: 2_000 }),
      accelerators: fc.integer({ min: 0, max: 64 }),
      coresMilli: fc.integer({ min: 0, max: 1_000_000 }),
      memoryMib: fc.integer({ min: 0, max: 1_000_000 }),
      acceleratorTypes: fc.option(fc.uniqueArray(name, { minLength: 1, maxLength: 3 }), { nil: undefined }),
      fabric: fc.option(fc.record({ within: name }), { nil: undefined }),
      isElastic: fc.boolean(),
    })
    .map(({ acceleratorTypes, fabric, isElastic, ...group }) => ({
      ...group,
      ...(acceleratorTypes === undefined ? {} : { acceleratorTypes }),
      ...(fabric === undefined ? {} : { fabric }),
      ...(isElastic ? { minWorkers: 1 } : {}),
    })),
  { minLength: 1, maxLength: 4, selector: (group) => group.name },
);

/** The same workload with task groups. Only training is elastic, and slices are stated for each group. */
function inGroups({ fabric, onNodeLoss: _loss, ...spec }: WorkloadSpec, groups: readonly TaskGroup[]): WorkloadSpec {
  const { slices: _slices, ...together } = fabric ?? {};
  const whole = groups.map(({ minWorkers: _least, ...group }) => group);
  return {
    ...spec,
    ...(Object.keys(together).length === 0 ? {} : { fabric: together }),
    gang: gangOfGroups(spec.kind === "train" ? [...groups] : whole),
  };
}

/** The same workload with slice sizes that divide the gang. */
function inWholeSlices({ fabric, ...spec }: WorkloadSpec): WorkloadSpec {
  if (fabric?.slices === undefined) return fabric === undefined ? spec : { ...spec, fabric };
  let whole = commonDivisor(spec.gang.workers, spec.gang.minWorkers ?? spec.gang.workers);
  const slices = fabric.slices.map((slice) => {
    whole = commonDivisor(whole, slice.workers);
    return { ...slice, workers: whole };
  });
  return { ...spec, fabric: { ...fabric, slices } };
}

const commonDivisor = (left: number, right: number): number =>
  right === 0 ? left : commonDivisor(right, left % right);

const anySpec: fc.Arbitrary<WorkloadSpec> = fc
  .tuple(
    fc.oneof(
      fc.record(
        { kind: fc.constant("train" as const), ...common, ...constraints },
        { requiredKeys: ["kind", ...requiredKeys] },
      ),
      fc.record(
        {
          kind: fc.constant("batch" as const),
          ...common,
          ...constraints,
          taskCount: fc.integer({ min: 1, max: 1_000_000 }),
        },
        { requiredKeys: ["kind", "taskCount", ...requiredKeys] },
      ),
      fc.record(
        {
          kind: fc.constant("serve" as const),
          ...common,
          ...constraints,
          replicas: fc.constantFrom({ min: 0, max: 3 }, { min: 1, max: 1 }, { min: 2, max: 2 }),
          ready: fc.record({ path: fc.constantFrom("/health", "/v1/models?full=1"), timeoutMs: fc.constant(30_000) }),
          servedModel: fc.constantFrom("llama", "org/model-1"),
        },
        { requiredKeys: ["kind", "replicas", "ready", ...requiredKeys] },
      ),
    ),
    fc.integer({ min: 1, max: 30_000 }),
    fc.boolean(),
    fc.option(anyGroups, { freq: 3 }),
    fc.option(anyAntiAffinity, { freq: 3 }),
  )
  .map(([spec, least, isShared, groups, antiAffinity]) => {
    const made = groups === null ? anyGang(spec, least, isShared) : inGroups(spec, groups);
    return inWholeSlices(antiAffinity === null ? made : { ...made, gang: { ...made.gang, antiAffinity } });
  });

describe("properties", () => {
  it("a workload written as a document reads back as the same workload, and the API takes it", () => {
    fc.assert(
      fc.property(anySpec, (spec) => {
        expect(documentIn(workloadDocument(spec))).toEqual({ kind: "workload", spec });
        expect(submittedSpec.safeParse(spec).error).toBeUndefined();
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
        reservedTopology: fc.array(
          fc.record(
            {
              within: name,
              accelerators: fc.integer({ min: 1, max: 64 }),
              count: fc.integer({ min: 1, max: 64 }),
              acceleratorType: name,
              domain: fc.array(name, { maxLength: 3 }),
              nodes: fc.array(name, { maxLength: 3 }),
            },
            { requiredKeys: ["within", "accelerators", "count"] },
          ),
          { minLength: 1, maxLength: 2 },
        ),
      },
      { requiredKeys: ["name", "parent", "limit"] },
    );
    const labels = fc.dictionary(name, name, { noNullPrototype: true, minKeys: 1, maxKeys: 3 });
    const anyPool = fc.record(
      {
        name,
        site: fc.constant("here"),
        executor: fc.constantFrom("local" as const, "simulated" as const),
        acceleratorType: name,
        priceMicroUsdPerHour: fc.nat(),
        mig: fc.constantFrom("A100-40GB" as const, "H200-141GB" as const),
        labels,
        nodeLabels: fc.dictionary(name, labels, { noNullPrototype: true, minKeys: 1, maxKeys: 3 }),
        hotSpares: fc.integer({ min: 1, max: 3 }),
      },
      { requiredKeys: ["name", "site", "executor", "acceleratorType", "priceMicroUsdPerHour"] },
    );
    fc.assert(
      fc.property(
        anyTeam,
        fc.uniqueArray(anyPool, { minLength: 1, maxLength: 4, selector: (pool) => pool.name }),
        (team, pools) => {
          expect(documentIn(teamDocument(team))).toEqual({ kind: "team", team });
          const simulated = pools.filter(({ executor }) => executor === "simulated");
          const simulatedNodes = simulated.map((pool) => ({
            pool: pool.name,
            nodeCount: 4,
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
