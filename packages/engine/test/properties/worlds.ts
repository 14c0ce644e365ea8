/**
 * Generated worlds: a fleet of unlike nodes, a tree of teams with limits, any combination of policy settings, and a
 * story. A story is a list of batches of commands, observations and signals, some of them late, repeated or invalid. It
 * is data that `play.ts` interprets against the current state, so a shrunk story is still valid.
 */
import fc from "fast-check";
import { gangOfGroups } from "@headroom/model";
import type {
  AntiAffinitySpec,
  CachedInput,
  DataPlace,
  DataSpec,
  FabricSpec,
  TaskGroup,
  Policy,
  SpreadSpec,
  Team,
  WorkerShape,
  WorkloadChanges,
  WorkloadSpec,
} from "@headroom/model";
import { spec, team } from "../lab/make.ts";
import { policies } from "./policies.ts";

export const types = ["H100", "A100", ""] as const;
export const teamNames = ["default", "t1", "t2", "t3", "t4"] as const;

export interface NodeGene {
  readonly type: (typeof types)[number];
  readonly acceleratorCount: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
  readonly spine: string;
  readonly leaf: string;
  readonly zone: string;
  readonly workersMax: number | null;
}

/** One step of a story. `pick` selects among the entities that exist by then; `late` prefers ended ones. */
export type Move =
  | { readonly kind: "submit"; readonly spec: WorkloadSpec; readonly key: number | null }
  | { readonly kind: "stop" | "removeTeam" | "resume" | "lost" | "hold" | "release"; readonly pick: number }
  | { readonly kind: "change"; readonly pick: number; readonly changes: WorkloadChanges }
  | { readonly kind: AttemptNews; readonly pick: number; readonly late: boolean }
  /** An attempt with a stop request has stopped. */
  | { readonly kind: "obey"; readonly pick: number }
  | { readonly kind: "exit"; readonly pick: number; readonly late: boolean; readonly codes: readonly number[] }
  | { readonly kind: "drain"; readonly pick: number; readonly requeue: boolean }
  | { readonly kind: "apply"; readonly teams: readonly Team[]; readonly workloads: readonly WorkloadSpec[] }
  | { readonly kind: "policy"; readonly policy: Policy }
  /** The site, or the pool of a type, changes its data rules and its stored data. */
  | { readonly kind: "data"; readonly pick: number; readonly data: DataPlace }
  | { readonly kind: "cache"; readonly pick: number; readonly inputs: readonly CachedInput[] }
  | { readonly kind: "seen"; readonly pick: number; readonly node: NodeGene | null }
  /** A tariff that begins now and lasts this long. */
  | { readonly kind: "tariff"; readonly pick: number; readonly microUsdPerKwh: number; readonly lastsMs: number }
  /** The pool of a type keeps this many hot spares from now on; 0: none. */
  | { readonly kind: "hotSpares"; readonly pick: number; readonly hotSpares: number }
  | { readonly kind: "tick" };

type AttemptNews =
  | "running"
  | "ready"
  | "unready"
  | "gone"
  | "progress"
  | "checkpoint"
  | "artifact"
  | "left"
  | "joined"
  | "unjoined";

export interface Step {
  readonly waitMs: number;
  readonly moves: readonly Move[];
}

export interface World {
  readonly policy: Policy;
  readonly nodes: readonly NodeGene[];
  readonly teams: readonly Team[];
  /** Data rules of the pool of each type, and of the site (last). */
  readonly data: readonly DataPlace[];
  /** Number of hot spares that the pool of each type keeps. */
  readonly hotSpares: readonly number[];
  /** Whether accelerators may be divided into MIG slices. */
  readonly isDivided: boolean;
  readonly steps: readonly Step[];
}

const amounts = (max: number): fc.Arbitrary<Team["limit"]> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant({}) },
    { weight: 2, arbitrary: fc.record({ H100: fc.integer({ min: 0, max }) }) },
    { weight: 2, arbitrary: fc.record({ accelerators: fc.integer({ min: 0, max }) }) },
    { weight: 1, arbitrary: fc.record({ H100: fc.integer({ min: 0, max }), A100: fc.integer({ min: 0, max: 6 }) }) },
    { weight: 1, arbitrary: fc.record({ cores: fc.constantFrom(4000, 16_000), memory: fc.constantFrom(500, 2000) }) },
  );
const limits = amounts(12);
const oneIn = <T>(times: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: times - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

type Rights = NonNullable<Team["preemption"]>;
const preemption: fc.Arbitrary<Rights> = fc.record({
  within: fc.constantFrom<Rights["within"]>("never", "lowerPriority"),
  reclaim: fc.constantFrom<Rights["reclaim"]>("never", "lowerPriority", "any"),
});

/** Optional fields of a team besides its limit; a field that is left out is left out of the record too. */
const teamShare: fc.Arbitrary<Partial<Team>> = fc
  .record({
    guarantee: oneIn(2, amounts(8)),
    userLimit: oneIn(4, amounts(8)),
    weight: oneIn(3, fc.constantFrom(0, 0.5, 1, 2)),
    lendingLimit: oneIn(3, amounts(4)),
    borrowingLimit: oneIn(3, amounts(4)),
    priority: oneIn(3, fc.integer({ min: 0, max: 2 })),
    preemption: oneIn(3, preemption),
  })
  .map(defined);

type Defined<T> = { readonly [Key in keyof T]?: Exclude<T[Key], undefined> };

function defined<T extends object>(record: T): Defined<T> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** The parent is any other team, so some sets of teams contain cycles and some name a missing parent. */
const anyTeam: fc.Arbitrary<Team> = fc
  .tuple(fc.constantFrom(...teamNames), fc.constantFrom(null, null, ...teamNames), limits, teamShare)
  .map(([name, parent, limit, more]) => ({ ...team(name, parent, limit), ...more }));

const treeOfTeams: fc.Arbitrary<readonly Team[]> = fc
  .array(fc.tuple(fc.nat(), limits, teamShare), { minLength: 1, maxLength: 4 })
  .map((genes) =>
    genes.map(([parent, limit, more], index) => ({
      ...team(`t${index + 1}`, parent % (index + 1) === 0 ? null : `t${parent % (index + 1)}`, limit),
      ...more,
    })),
  );

const nodeGenes: fc.Arbitrary<NodeGene> = fc
  .record({
    type: fc.constantFrom(...types, "H100" as const, "H100" as const),
    acceleratorCount: fc.constantFrom(1, 2, 4, 8, 8, 40),
    coresMilli: fc.constantFrom(4000, 16_000),
    memoryMib: fc.constantFrom(1000, 64_000),
    spine: fc.constantFrom("s1", "s1", "s2"),
    leaf: fc.constantFrom("l1", "l2"),
    zone: fc.constantFrom("a", "b", "c"),
    workersMax: fc.constantFrom(null, null, null, 2),
  })
  .map((gene) => (gene.type === "" ? { ...gene, acceleratorCount: 0 } : gene));

const levels = ["spine", "leaf", "node"] as const;
const fabric: fc.Arbitrary<FabricSpec> = fc.oneof(
  fc.record({ within: fc.constantFrom(...levels) }),
  fc.record({ prefer: fc.constantFrom(...levels) }),
  fc.record({ within: fc.constantFrom(...levels), prefer: fc.constantFrom(...levels, "group") }),
  fc.record({
    slices: fc.record({ workers: fc.constantFrom(1, 2), within: fc.constantFrom(...levels) }).map((slice) => [slice]),
  }),
);
const spread: fc.Arbitrary<SpreadSpec> = fc.record({
  topologyKey: fc.constantFrom("zone", "rack"),
  maxPerDomain: fc.constantFrom(1, 2),
});

/** Profiles that all divisible devices support, and one that none supports. */
const profiles = fc.constantFrom("1g.10gb", "1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb", "1g.5gb");

/** Some fractions are stated by memory. */
const fraction = (
  shareMilli: number,
  { memoryMib }: Pick<WorkerShape, "memoryMib">,
): Pick<WorkerShape, "shareMilli" | "acceleratorMemoryMib"> =>
  memoryMib > 0 ? { acceleratorMemoryMib: shareMilli * 64 } : { shareMilli };

/** Workers with whole accelerators or a part of one; some gangs are elastic. */
const gangs: fc.Arbitrary<WorkloadSpec["gang"]> = fc
  .record({
    workers: fc.constantFrom(1, 1, 1, 2, 3, 4),
    accelerators: fc.constantFrom(0, 1, 1, 1, 2, 2, 4, 8, 33),
    coresMilli: fc.constantFrom(0, 0, 500, 4000),
    memoryMib: fc.constantFrom(0, 0, 500),
    shareMilli: fc.constantFrom(undefined, undefined, undefined, 250, 500, 700),
    profile: oneIn(8, profiles),
    least: fc.nat({ max: 8 }),
    curve: fc.option(fc.array(fc.constantFrom(500, 1000, 1900, 2600, 2600, 4500), { minLength: 4, maxLength: 4 })),
  })
  .map(({ shareMilli, profile, least, curve, ...gang }) => ({
    ...gang,
    ...(shareMilli === undefined || profile !== undefined ? {} : { accelerators: 1, ...fraction(shareMilli, gang) }),
    ...(profile === undefined ? {} : { accelerators: 1, profile }),
    ...(least > 0 && least < gang.workers ? { minWorkers: least } : {}),
    ...(least > 0 && least < gang.workers && curve !== null ? { throughputMilli: curve.slice(0, gang.workers) } : {}),
  }));

/** Task groups with unlike workers that start together, each with its own minimum, types and constraints. */
const groups: fc.Arbitrary<readonly TaskGroup[]> = fc
  .array(
    fc
      .record({
        workers: fc.constantFrom(1, 1, 2, 3),
        accelerators: fc.constantFrom(0, 1, 1, 2, 4, 8),
        coresMilli: fc.constantFrom(0, 0, 500, 4000),
        memoryMib: fc.constantFrom(0, 0, 500),
        part: oneIn(
          5,
          fc.oneof(fc.constantFrom({ shareMilli: 250 }, { shareMilli: 700 }), fc.record({ profile: profiles })),
        ),
        minWorkers: oneIn(3, fc.constantFrom(1, 2)),
        acceleratorTypes: oneIn(4, fc.constantFrom(["H100"], ["A100", "H100"], ["H100", "A100"], [""])),
        fabric: oneIn(8, fabric),
      })
      .map(defined),
    { minLength: 1, maxLength: 3 },
  )
  .map((genes) =>
    genes.map(({ minWorkers, workers = 1, accelerators = 0, coresMilli = 0, memoryMib = 0, part, ...gene }, index) => ({
      ...gene,
      ...part,
      name: `g${index}`,
      workers,
      accelerators: part === undefined ? accelerators : 1,
      coresMilli,
      memoryMib,
      ...(minWorkers !== undefined && minWorkers < workers ? { minWorkers } : {}),
    })),
  );

const dataRules = ["restricted", "export"] as const;
const datasets = ["s3://a", "s3://a/v1", "s3://b"] as const;
const dataSpecs: fc.Arbitrary<DataSpec> = fc
  .record({
    inputs: oneIn(2, fc.subarray([...datasets], { minLength: 1 })),
    rule: oneIn(2, fc.constantFrom(...dataRules)),
  })
  .map(defined);
export const dataPlaces: fc.Arbitrary<DataPlace> = fc
  .record({
    rules: oneIn(2, fc.subarray([...dataRules])),
    holds: oneIn(2, fc.subarray([...datasets])),
  })
  .map(defined);

const cachedInputs: fc.Arbitrary<readonly CachedInput[]> = fc
  .subarray([...datasets])
  .chain((uris) =>
    fc.tuple(...uris.map((uri) => fc.constantFrom(1, 20, 4_000).map((mib) => ({ uri, digest: null, mib })))),
  );

const setNames = ["x", "y"] as const;
const antiAffinity: fc.Arbitrary<AntiAffinitySpec> = fc
  .record({
    sets: oneIn(2, fc.subarray([...setNames], { minLength: 1 })),
    from: oneIn(
      2,
      fc.array(
        fc.oneof(
          fc.record({ set: fc.constantFrom(...setNames), within: fc.constantFrom(...levels) }),
          fc.record({ set: fc.constantFrom(...setNames), topologyKey: fc.constantFrom("zone", "rack") }),
        ),
        { minLength: 1, maxLength: 2 },
      ),
    ),
    exclusive: oneIn(4, fc.constant(true as const)),
  })
  .map(defined);

const constraints = fc
  .record({
    fabric: oneIn(5, fabric),
    spread: oneIn(8, spread),
    nodeSelector: oneIn(8, fc.record({ zone: fc.constantFrom("a", "b") })),
    data: oneIn(8, dataSpecs),
    preemptible: fc.constantFrom(undefined, undefined, true, true, false),
    minRuntimeMs: fc.constantFrom(undefined, undefined, 400, 2000),
    restartCostMs: fc.constantFrom(undefined, 1000),
    onNodeLoss: fc.constantFrom(undefined, "restart" as const, "replace" as const, "replace" as const),
    checkpointOnRequest: fc.constantFrom(undefined, true as const),
    hold: fc.constantFrom<true | undefined>(undefined, undefined, undefined, undefined, undefined, undefined, true),
    notBeforeMs: fc.constantFrom(undefined, undefined, undefined, undefined, 1000, 9000),
    deadlineMs: fc.constantFrom(undefined, undefined, 5000, 20_000),
    produces: oneIn(4, fc.constant(["model"])),
    startWindow: oneIn(
      8,
      fc.constantFrom<NonNullable<WorkloadSpec["startWindow"]>>(
        { microUsdPerKwhMax: 100 },
        { cheapestMs: 2000, latestStartMs: 6000 },
        { gramsPerKwhMax: 200, cheapestMs: 500, cleanestMs: 4000, latestStartMs: 12_000 },
      ),
    ),
    after: oneIn(
      15,
      fc
        .oneof(
          fc.record({
            workload: fc.constantFrom("a", "b", "w1", "w2"),
            on: fc.constantFrom<"ok" | "failed" | "any">("ok", "failed", "any"),
          }),
          fc.constantFrom({ artifact: "model" }, { artifact: "model", workload: "a" }),
        )
        .map((each) => [each]),
    ),
  })
  .map(defined);

const specs: fc.Arbitrary<WorkloadSpec> = fc
  .record({
    name: fc.constantFrom("a", "b", "c", "d"),
    team: fc.constantFrom("default", "default", "default", "t1", "t1", "t1", "t2", "t2", "t3", "t4"),
    gang: gangs,
    acceleratorTypes: fc.constantFrom([], [], [], ["H100"], ["H100"], ["A100", "H100"], ["A100", "H100"], ["B300"]),
    priority: fc.integer({ min: -1, max: 2 }),
    walltimeMs: fc.constantFrom(null, 1, 500, 5000),
    retries: fc.record({
      max: fc.integer({ min: 0, max: 2 }),
      backoffMs: fc.constantFrom(0, 1, 400),
      backoffMaxMs: fc.constantFrom(0, 500, 5000),
    }),
    taskCount: fc.constantFrom(null, null, 1, 3, 6),
    replicas: oneIn(7, fc.constantFrom({ min: 0, max: 3 }, { min: 1, max: 1 }, { min: 2, max: 4 })),
    readyMs: fc.constantFrom(500, 5000, 60_000),
    constraints,
    groups: oneIn(7, groups),
    antiAffinity: oneIn(9, antiAffinity),
  })
  .map(({ name, constraints: more, groups: unlike, antiAffinity: away, replicas, ...changes }) => {
    const near = spec(name, { ...changes, ...more, ...(replicas === undefined ? {} : { replicas }) });
    const keeps = away === undefined ? {} : { antiAffinity: away };
    const plain = { ...near, gang: { ...near.gang, ...keeps } };
    if (unlike === undefined) return plain;
    // In a gang with task groups, each group states its slices itself.
    const { slices: _slices, ...together } = plain.fabric ?? {};
    const { fabric: _fabric, ...rest } = plain;
    const asWhole = Object.keys(together).length === 0 ? {} : { fabric: together };
    return { ...rest, ...asWhole, gang: { ...gangOfGroups(unlike), ...keeps } };
  });

const pick = fc.nat({ max: 1000 });
const late = fc.integer({ min: 0, max: 9 }).map((roll) => roll === 0);
const submit: fc.Arbitrary<Move> = fc.record({
  kind: fc.constant("submit"),
  spec: specs,
  key: fc.constantFrom(null, null, null, 1, 2),
});
const exit: fc.Arbitrary<Move> = fc.record({
  kind: fc.constant("exit"),
  pick,
  late,
  codes: fc.array(fc.constantFrom(0, 0, 0, 1, -9), { minLength: 1, maxLength: 2 }),
});
const ofAttempt = (...kinds: AttemptNews[]): fc.Arbitrary<Move> =>
  fc.record({ kind: fc.constantFrom(...kinds), pick, late });

const changesOfWork: fc.Arbitrary<WorkloadChanges> = fc.record(
  {
    name: fc.constantFrom("a", "renamed"),
    priority: fc.constantFrom(-1, 0, 1, 9),
    walltimeMs: fc.constantFrom(null, 1, 500, 3000, 60_000),
    workers: fc.constantFrom(1, 2, 3, 4, 8),
    minWorkers: fc.constantFrom(null, 1, 2),
    hold: fc.boolean(),
    after: fc.constantFrom([], [{ workload: "a", on: "ok" as const }], [{ workload: "w2", on: "any" as const }]),
    notBeforeMs: fc.constantFrom(null, 1000, 9000),
    retries: fc.record({ max: fc.constant(5), backoffMs: fc.constant(1), backoffMaxMs: fc.constant(500) }),
    env: fc.constantFrom({ A: "1" }, { A: null, B: "2" }),
  },
  { requiredKeys: [] },
);

/** Changes of the number of tasks or replicas, most of which are refused for other kinds of work. */
const changesOfCounts: fc.Arbitrary<WorkloadChanges> = fc.oneof(
  fc.record({ taskCount: fc.constantFrom(1, 4, 9) }),
  fc.record({ replicas: fc.constantFrom({ min: 0, max: 2 }, { min: 1, max: 5 }, { min: 3, max: 1 }) }),
  fc.record({ replicaCount: fc.constantFrom(0, 1, 2, 3, 5) }),
  fc.record({ replicaCount: fc.constantFrom(0, 1, 2, 3, 5) }),
);

export const moves: fc.Arbitrary<Move> = fc.oneof(
  { weight: 10, arbitrary: submit },
  { weight: 8, arbitrary: exit },
  { weight: 8, arbitrary: ofAttempt("running") },
  { weight: 1, arbitrary: ofAttempt("ready", "ready", "unready") },
  { weight: 3, arbitrary: ofAttempt("gone", "progress", "checkpoint", "artifact", "left", "joined", "unjoined") },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("obey" as const), pick }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("hold" as const, "release" as const), pick }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("change" as const), pick, changes: changesOfWork }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("change" as const), pick, changes: changesOfCounts }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("stop" as const), pick }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("lost" as const, "resume" as const), pick }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("seen" as const), pick, node: fc.option(nodeGenes) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("drain" as const), pick, requeue: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("removeTeam" as const), pick }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("policy" as const), policy: policies }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("apply" as const),
      teams: fc.array(anyTeam, { maxLength: 3 }),
      workloads: fc.array(specs, { maxLength: 2 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("tariff" as const),
      pick,
      microUsdPerKwh: fc.constantFrom(50, 100, 200),
      lastsMs: fc.constantFrom(1, 500, 8000),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Move>({ kind: "tick" }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("data" as const), pick, data: dataPlaces }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("cache" as const), pick, inputs: cachedInputs }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("hotSpares" as const), pick, hotSpares: fc.constantFrom(0, 1, 1, 2) }),
  },
);

export const steps = (maxLength: number): fc.Arbitrary<readonly Step[]> =>
  fc.array(
    fc.record({
      waitMs: fc.constantFrom(0, 0, 1, 399, 400, 1000, 5000),
      moves: fc.array(moves, { minLength: 1, maxLength: 3 }),
    }),
    // Only long stories: shrinking still produces short ones, and in a short story little happens.
    { maxLength, size: "max" },
  );

const anyWorlds: fc.Arbitrary<World> = fc.record({
  policy: policies,
  nodes: fc.array(nodeGenes, { minLength: 1, maxLength: 6 }),
  teams: treeOfTeams,
  data: fc.array(dataPlaces, { minLength: types.length + 1, maxLength: types.length + 1 }),
  hotSpares: fc.oneof(
    { weight: 4, arbitrary: fc.constant([0, 0, 0]) },
    {
      weight: 1,
      arbitrary: fc.array(fc.constantFrom(0, 1, 1, 2), { minLength: types.length, maxLength: types.length }),
    },
  ),
  isDivided: fc.constantFrom(false, false, true),
  steps: steps(40),
});

/**
 * Without MIG devices, nearly all requests for slices would wait forever and block other work: they request whole
 * accelerators instead.
 */
export const worlds: fc.Arbitrary<World> = anyWorlds.map((world) =>
  world.isDivided
    ? world
    : { ...world, steps: world.steps.map((each) => ({ ...each, moves: each.moves.map(undivided) })) },
);

function undivided(move: Move): Move {
  if (move.kind === "submit") return { ...move, spec: withoutParts(move.spec) };
  return move.kind === "apply" ? { ...move, workloads: move.workloads.map(withoutParts) } : move;
}

function withoutParts({ gang, ...rest }: WorkloadSpec): WorkloadSpec {
  const { profile: _profile, taskGroups, ...plain } = gang;
  const whole = taskGroups?.map(({ profile: _part, ...group }) => group);
  return { ...rest, gang: { ...plain, ...(whole === undefined ? {} : { taskGroups: whole }) } };
}
