/**
 * Generated worlds in which a workload waits: a small fleet with a fabric, labels and two accelerator types, a tree of
 * teams with limits and guarantees, running work, and work that cannot start for one of many reasons. A world depends
 * only on its seed. Rounds have run until nothing changed.
 */
import { createEngine, waitingTaskCount } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { defaultPolicy, nodeId, presets, siteName } from "@headroom/model";
import type { Input, NodeSpec, Policy, Pool, Team, WorkloadId, WorkloadSpec } from "@headroom/model";
import { applied, command, node, pool, spec, team, Dice } from "@headroom/engine/testing";
import { GIB_MIB, HOUR_MS, MICRO_USD, situations } from "./situations.ts";
import type { Changes, Situation } from "./situations.ts";

/** A driver without checks; the property tests check worlds of this kind. */
class Life {
  readonly engine = createEngine();
  nowMs = 0;

  receive(...inputs: readonly Input[]): void {
    this.engine.receive(inputs, this.nowMs);
    this.engine.advance();
  }

  passTo(untilMs: number): void {
    for (let wake = this.engine.nextWakeAtMs(); wake !== null && wake < untilMs; wake = this.engine.nextWakeAtMs()) {
      this.nowMs = Math.max(this.nowMs, wake);
      this.receive({ kind: "tick" });
    }
    this.nowMs = untilMs;
  }
}

export interface PendingCase {
  readonly seed: number;
  readonly engine: Engine;
  /** Snapshot of the engine, which stays unchanged. Each tried change restores an engine from it. */
  readonly snapshot: Uint8Array;
  readonly nowMs: number;
  readonly workloadId: WorkloadId;
}

const preset = (name: string): Policy =>
  name === "within guarantees" ? withinGuarantees : (presets.get(name) as Policy);

const withinGuarantees: Policy = {
  ...defaultPolicy,
  teams: { order: [], usageHalfLifeMs: null, ...defaultPolicy.teams, nonPreemptible: "guarantee" },
};

function policyOf(dice: Dice, names: readonly string[]): Policy {
  const base = preset(dice.pick(names));
  if (base.name !== "default" || dice.roll(4) > 0) return base;
  const { eviction = { preemptible: { belowPriority: null }, checkpointTimeoutMs: 0 } } = base;
  const preemptible = { ...eviction.preemptible, belowPriority: dice.pick([1, null]) };
  return { ...base, name: "eager", eviction: { ...eviction, preemptible } };
}

const labelsOf = (dice: Dice): NonNullable<NodeSpec["labels"]> => ({
  zone: dice.pick(["a", "b"]),
  disk: dice.pick(["ssd", "hdd"]),
});

function nodesOf(dice: Dice): NodeSpec[] {
  const count = dice.between(3, 6);
  return Array.from({ length: count }, (_, index) => {
    const type = index > 1 && dice.roll(5) < 2 ? "A100" : "H100";
    const spine = `s${index >> 2}`;
    const labels = labelsOf(dice);
    return node(`n${index}`, type, {
      id: nodeId(`n${index}`),
      fabric: [spine, `${spine}-l${(index >> 1) & 1}`],
      acceleratorCount: 4,
      coresMilli: 16_000,
      memoryMib: 64 * GIB_MIB,
      labels,
    });
  });
}

const poolOf = (type: string, changes: Partial<Pool> = {}): Pool => ({
  ...pool(type),
  priceMicroUsdPerHour: 2 * MICRO_USD,
  ...changes,
});

function teamsOf(dice: Dice, { guarantees = 3, limits = 6, ...of }: Situation): Team[] {
  const { guarantee = (each) => each.between(1, 6), limit = (each) => each.between(2, 8), budget } = of;
  const isOneOf = (teams: number): boolean => teams > 0 && dice.roll(teams) === 0;
  const terms = (): Omit<Team, "name" | "parent"> => ({
    limit: isOneOf(limits) ? { H100: limit(dice) } : {},
    ...(isOneOf(guarantees) ? { guarantee: { accelerators: guarantee(dice) } } : {}),
    ...(budget === undefined ? {} : { budget: budget(dice) }),
  });
  return [
    { ...team("t1"), ...terms() },
    { ...team("t2"), ...terms() },
    { ...team("t3", "t1"), ...terms() },
  ];
}

/** One team in six has a user limit; all work belongs to one user. */
const withUserLimit = (dice: Dice, of: Team): Team =>
  dice.roll(6) === 0 ? { ...of, userLimit: { accelerators: dice.between(1, 6), cores: 40_000 } } : of;

/** A spec for work that fills the fleet. */
function runningSpec(dice: Dice, index: number, fill?: Situation["fill"]): WorkloadSpec {
  const { gang, ...changes } = fill?.(dice) ?? {};
  return spec(`run${index}`, {
    team: dice.pick(["default", "t1", "t2", "t3"]),
    acceleratorTypes: dice.pick([[], [], ["H100"], ["A100", "H100"]]),
    priority: dice.pick([-1, 0, 0, 1]),
    walltimeMs: dice.pick([null, HOUR_MS, 3 * HOUR_MS, 10 * HOUR_MS]),
    ...(dice.roll(2) === 0 ? { preemptible: true } : {}),
    ...changes,
    gang: {
      workers: dice.pick([1, 1, 1, 2]),
      accelerators: dice.pick([1, 1, 2, 4]),
      coresMilli: dice.pick([0, 1000, 4000, 6000]),
      memoryMib: dice.pick([0, 8, 24]) * GIB_MIB,
      ...gang,
    },
  });
}

/** Situations take turns by weight, so that each occurs within some hundred cases; the worlds are random. */
const weighted = situations.flatMap((situation) => Array.from({ length: situation.weight }, () => situation));

function waitingSpec(dice: Dice, name: string, constraint: Changes): WorkloadSpec {
  return spec(name, {
    team: dice.pick(["default", "t1", "t2", "t3"]),
    acceleratorTypes: dice.pick([[], ["H100"], ["H100"]]),
    walltimeMs: dice.pick([null, 2 * HOUR_MS, 8 * HOUR_MS]),
    ...(dice.roll(4) === 0 ? { preemptible: true } : {}),
    ...(dice.roll(6) === 0 ? { taskCount: 2 } : {}),
    ...constraint,
  });
}

/** The case of a seed; `null`: no workload waits for something that could change. */
export function pendingCase(seed: number): PendingCase | null {
  const dice = new Dice(seed);
  const life = new Life();
  const situation = weighted[seed % weighted.length] as Situation;
  const nodes = nodesOf(dice);
  const pools = situation.pools?.(dice) ?? {};
  const site = { name: siteName("dc"), fabricLevels: ["spine", "leaf"] };
  // A separate generator, so that the other random choices stay the same.
  const userDice = new Dice(seed * 7919);
  life.receive(
    applied({
      sites: [site],
      pools: ["H100", "A100"].map((type) => poolOf(type, pools[type])),
      teams: teamsOf(dice, situation).map((each) => (situation.limits === 0 ? each : withUserLimit(userDice, each))),
      calendar: situation.calendar?.(dice) ?? [],
    }),
    command({ kind: "setPolicy", policy: policyOf(dice, situation.policies) }),
    ...nodes.map((each): Input => ({ kind: "nodeSeen", node: each })),
  );
  const drained = situation.drained?.(dice) ?? 0;
  for (let count = 0; count < drained; count++)
    life.receive(command({ kind: "drainNode", nodeId: dice.pick(nodes).id, running: "wait" }));
  const running = dice.between(situation.running >> 1, situation.running);
  for (let index = 0; index < running; index++)
    submit(life, runningSpec(dice, index, situation.fill), dice.roll(40) * 60_000);
  const others = dice.roll(3);
  for (let index = 0; index < others; index++)
    submit(life, waitingSpec(dice, `wait${index}`, dice.pick(weighted).target(dice)), dice.roll(5) * 60_000);
  if (situation.before !== undefined) submit(life, waitingSpec(dice, "before", situation.before(nodes)), 0);
  submit(life, waitingSpec(dice, "target", situation.target(dice)), dice.roll(5) * 60_000);
  markClean(life);
  const { state } = life.engine;
  const pending = [...state.workloads.values()].filter(
    (workload) => workload.endedAtMs === null && waitingTaskCount(workload) > 0,
  );
  const last = pending.find((workload) => workload.spec.name === "target");
  const target = situation.asksFirst === true ? pending[0] : (last ?? pending[0]);
  if (target === undefined) return null;
  const { engine, nowMs } = life;
  return { seed, engine, snapshot: engine.snapshot(), nowMs, workloadId: target.id };
}

function submit(life: Life, of: WorkloadSpec, thenMs: number): void {
  life.receive(command({ kind: "submitWorkload", spec: of }));
  markClean(life);
  life.passTo(life.nowMs + thenMs);
}

/** Reports launched attempts as running and stopped attempts as ended, until the engine requests nothing more. */
function markClean(life: Life): void {
  for (let round = 0; round < 20; round++) {
    const due = answers(life.engine);
    life.receive(...(due.length === 0 ? [{ kind: "tick" } as const] : due));
    if (due.length === 0) return;
  }
  throw new Error("it does not come to rest");
}

/** The reports with which executors would answer the pending effects of a state. */
export function answers({ state }: Engine): readonly Input[] {
  return [...state.attempts.values()].flatMap((attempt): readonly Input[] => {
    const { id: attemptId, stop, terminating, startedAtMs } = attempt;
    if (stop !== null) return [{ kind: "attemptExited", attemptId, exits: [{ kind: "exited", worker: 0, code: 143 }] }];
    if (terminating !== undefined) return [{ kind: "workersLeft", attemptId }];
    return startedAtMs === null ? [{ kind: "attemptRunning", attemptId }] : [];
  });
}
