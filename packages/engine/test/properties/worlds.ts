/**
 * Generated worlds: a fleet of unlike nodes, a team tree with limits, any combination of the policy's knobs, and a story of
 * commands, observations and signals in batches, with late, repeated and nonsensical ones among them. A story is data; what
 * it means is decided against the state at hand (`moves.ts`), so a shrunk story still makes sense.
 */
import fc from "fast-check";
import type { OrderKey, Policy, Team, WorkloadSpec } from "../../src/index.ts";
import { spec, team } from "../lab/make.ts";

export const types = ["H100", "A100", ""] as const;
export const teamNames = ["default", "t1", "t2", "t3", "t4"] as const;

export interface NodeGene {
  readonly type: (typeof types)[number];
  readonly acceleratorCount: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
}

/** One thing that happens. `pick` chooses among whatever there is by then; `late` prefers what is over. */
export type Move =
  | { readonly kind: "submit"; readonly spec: WorkloadSpec; readonly key: number | null }
  | { readonly kind: "stop" | "removeTeam" | "resume" | "lost"; readonly pick: number }
  | { readonly kind: "running" | "gone" | "progress" | "checkpoint"; readonly pick: number; readonly late: boolean }
  | { readonly kind: "exit"; readonly pick: number; readonly late: boolean; readonly codes: readonly number[] }
  | { readonly kind: "drain"; readonly pick: number; readonly requeue: boolean }
  | { readonly kind: "apply"; readonly teams: readonly Team[]; readonly workloads: readonly WorkloadSpec[] }
  | { readonly kind: "policy"; readonly policy: Policy }
  | { readonly kind: "seen"; readonly pick: number; readonly node: NodeGene | null }
  | { readonly kind: "tick" };

export interface Step {
  readonly waitMs: number;
  readonly moves: readonly Move[];
}

export interface World {
  readonly policy: Policy;
  readonly nodes: readonly NodeGene[];
  readonly teams: readonly Team[];
  readonly steps: readonly Step[];
}

const policies: fc.Arbitrary<Policy> = fc.record({
  name: fc.constant("random"),
  order: fc.uniqueArray(fc.constantFrom<OrderKey>("submitted", "priority", "walltime")),
  whenHeadBlocked: fc.constantFrom("stop", "skip"),
  placement: fc.constantFrom("pack", "spread"),
  exceedsFleet: fc.constantFrom("hold", "hold", "reject"),
});

const limits: fc.Arbitrary<Team["limit"]> = fc.oneof(
  fc.constant({}),
  fc.record({ H100: fc.integer({ min: 0, max: 12 }) }),
  fc.record({ H100: fc.integer({ min: 0, max: 12 }), A100: fc.integer({ min: 0, max: 6 }) }),
);

/** A parent is any other team, so that some sets make circles and some name what is not there. */
const anyTeam: fc.Arbitrary<Team> = fc
  .tuple(fc.constantFrom(...teamNames), fc.constantFrom(null, null, ...teamNames), limits)
  .map(([name, parent, limit]) => team(name, parent, limit));

const treeOfTeams: fc.Arbitrary<readonly Team[]> = fc
  .array(fc.tuple(fc.nat(), limits), { maxLength: 4 })
  .map((genes) =>
    genes.map(([parent, limit], index) =>
      team(`t${index + 1}`, parent % (index + 1) === 0 ? null : `t${parent % (index + 1)}`, limit),
    ),
  );

const nodeGenes: fc.Arbitrary<NodeGene> = fc
  .record({
    type: fc.constantFrom(...types, "H100" as const, "H100" as const),
    acceleratorCount: fc.constantFrom(1, 2, 4, 8, 8, 40),
    coresMilli: fc.constantFrom(4000, 16_000),
    memoryMib: fc.constantFrom(1000, 64_000),
  })
  .map((gene) => (gene.type === "" ? { ...gene, acceleratorCount: 0 } : gene));

const specs: fc.Arbitrary<WorkloadSpec> = fc
  .record({
    name: fc.constantFrom("a", "b", "c", "d"),
    team: fc.constantFrom("default", "default", "t1", "t1", "t1", "t2", "t2", "t3", "t4"),
    gang: fc.record({
      workers: fc.constantFrom(1, 1, 1, 2, 3),
      accelerators: fc.constantFrom(0, 1, 1, 1, 2, 2, 4, 8, 33),
      coresMilli: fc.constantFrom(0, 500, 4000),
      memoryMib: fc.constantFrom(0, 500),
    }),
    acceleratorTypes: fc.constantFrom([], [], [], ["H100"], ["H100"], ["A100", "H100"], ["A100", "H100"], ["B300"]),
    priority: fc.integer({ min: -1, max: 2 }),
    walltimeMs: fc.constantFrom(null, 1, 500, 5000),
    retries: fc.record({
      max: fc.integer({ min: 0, max: 2 }),
      backoffMs: fc.constantFrom(0, 1, 400),
      backoffMaxMs: fc.constantFrom(0, 500, 5000),
    }),
    taskCount: fc.constantFrom(null, null, 1, 3, 6),
  })
  .map(({ name, ...changes }) => spec(name, changes));

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
const ofAttempt = (...kinds: ("running" | "gone" | "progress" | "checkpoint")[]): fc.Arbitrary<Move> =>
  fc.record({ kind: fc.constantFrom(...kinds), pick, late });

export const moves: fc.Arbitrary<Move> = fc.oneof(
  { weight: 10, arbitrary: submit },
  { weight: 8, arbitrary: exit },
  { weight: 8, arbitrary: ofAttempt("running") },
  { weight: 2, arbitrary: ofAttempt("gone", "progress", "checkpoint") },
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
  { weight: 1, arbitrary: fc.constant<Move>({ kind: "tick" }) },
);

export const steps = (maxLength: number): fc.Arbitrary<readonly Step[]> =>
  fc.array(
    fc.record({
      waitMs: fc.constantFrom(0, 0, 1, 399, 400, 1000, 5000),
      moves: fc.array(moves, { minLength: 1, maxLength: 3 }),
    }),
    // Long stories: short ones come of shrinking, and little happens in them.
    { maxLength, size: "max" },
  );

export const worlds: fc.Arbitrary<World> = fc.record({
  policy: policies,
  nodes: fc.array(nodeGenes, { minLength: 1, maxLength: 6 }),
  teams: treeOfTeams,
  steps: steps(40),
});
