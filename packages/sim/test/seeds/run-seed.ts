/**
 * One seed: a random world with random actions, checked in every round (safety). Then all obstacles are removed, and
 * all work that can run must end (liveness).
 */
import { hashText } from "@headroom/model";
import type { AttemptId, Event, Input, LaunchGang, WorkloadId } from "@headroom/model";
import { readyTask } from "@headroom/engine";
import type { Engine, ReadonlyState } from "@headroom/engine";
import { feasibility, requestOf } from "@headroom/engine-oracle";
import {
  Checkers,
  createSimulation,
  drawBelow,
  Violation,
  type EngineSource,
  type AttemptLives,
  type RunPlan,
  type Script,
  type SimulatedRound,
  type Simulation,
} from "@headroom/sim";
import { Actions, type Happening } from "./actions.ts";
import { Luck } from "./luck.ts";
import { waivedAtRandom } from "./policies.ts";
import { randomWorld, unlabelled, type World } from "./world.ts";

/**
 * `restored`: the engine is sometimes replaced by one restored from its snapshot. `crashed`: effects are also lost
 * then.
 */
export type Restarts = "none" | "restored" | "crashed";

/** Cases that one world covers: faults and evictions that the design promises to test often. */
export type Feature =
  | "reclaim"
  | "preemption"
  | "gangLoss"
  | "backfill"
  | "consolidation"
  | "defragmentation"
  | "nodeLoss"
  | "domainLoss"
  | "removal"
  | "orderFilled"
  | "proposalScored"
  | "silence"
  | "foreignWork"
  | "shrink"
  | "checkpoint"
  | "replacement"
  | "window"
  | "budget"
  | "budgetStop"
  | "startWindow"
  | "notice"
  | "hotSpare";

export interface SeedRun {
  readonly features: ReadonlySet<Feature>;
  readonly heedsNames: boolean;
  readonly digest: string;
  readonly chain: string;
  readonly groups: Checkers["groups"];
  readonly engine: Engine;
  readonly nowMs: number;
}

export interface SeedOptions {
  readonly seed: number;
  readonly restarts: Restarts;
  /** See `label`. */
  readonly salt?: string;
  readonly engines?: EngineSource;
  /** False: rounds are not checked, for tests that only need the journal of many worlds. */
  readonly isChecked?: boolean;
}

/** Maximum number of rounds, far more than any world needs. A world that never comes to rest exceeds it. */
const roundsMax = 3_000;

const emptyScript: Script = {
  length: 0,
  atMs: () => 0,
  input: () => {
    throw new Error("there is no script");
  },
};

export function runSeed({ seed, restarts, salt = "", engines, isChecked = true }: SeedOptions): SeedRun {
  const world = nonEmptyWorld(seed, salt);
  const actions = new Actions(new Luck(seed, "actions"), world, salt);
  const time = new Luck(seed, "time");
  const mishaps = new Luck(seed, "restarts");
  let simulation = createSimulation({
    startAtMs: 1000,
    fleet: world.fleet,
    teams: world.teams,
    policy: world.policy,
    script: emptyScript,
    executor: { startupMs: world.startupMs, stopMs: world.stopMs, plan: (launch) => planOf(world, seed, launch) },
    nodeFaults: null,
    observer: isChecked ? new Watch() : new JournalWatch(),
    ...(engines === undefined ? {} : { engines }),
  });
  for (let action = 0; action < world.actionCount; action++) {
    simulation = happen(simulation, actions.next(simulation.engine.state), restarts, mishaps);
    runUntil(simulation, simulation.nowMs + time.below(world.gapMaxMs + 1));
  }
  simulation = happen(simulation, actions.heal(simulation.engine.state), "none", mishaps);
  runUntil(simulation, Number.POSITIVE_INFINITY);
  mustBeDone(simulation.engine);
  mustRest(simulation);
  const { engine, observer, nowMs } = simulation;
  const { groups, features } = observer;
  return {
    digest: engine.digest(),
    chain: engine.state.chain,
    groups,
    features,
    heedsNames: world.heedsNames,
    engine,
    nowMs,
  };
}

/** A fleet without nodes tests nothing, so the next draw of the same seed is used. */
function nonEmptyWorld(seed: number, salt: string): World {
  for (let attempt = 0; ; attempt++) {
    const world = randomWorld(new Luck(seed, `world ${attempt}`), salt);
    if (world.fleet.nodes.length > 0) return world;
  }
}

/** The draw uses the workload's name without its salt, so that renaming changes no outcome. */
function planOf(world: World, seed: number, launch: LaunchGang): RunPlan {
  const name = unlabelled(launch.spec.name);
  const sequence = Number.parseInt(hashText(`${name} ${launch.task} ${launch.number}`).slice(0, 8), 16);
  const below = (bound: number, purpose: string): number => drawBelow({ seed, sequence, purpose }, bound);
  const fails = below(100, "fails") < world.failurePercent;
  return {
    durationMs: below(world.durationMaxMs + 1, "duration"),
    exitCode: fails ? below(3, "code") + 1 : 0,
    // Some attempts never write a checkpoint, some write it too late.
    ...(below(4, "saves") === 0 ? {} : { checkpointMs: below(1500, "checkpoint") }),
  };
}

/** Runs the checkers and records the cases that the run covers. */
class Watch extends Checkers {
  readonly features: Set<Feature> = new Set();

  constructor(lives?: AttemptLives) {
    super(lives, waivedAtRandom);
  }

  override onRound(round: SimulatedRound): void {
    super.onRound(round);
    for (const event of round.ready.events) this.#note(round, event);
    if (round.ready.events.filter(({ kind }) => kind === "nodeLost").length > 1) this.features.add("domainLoss");
  }

  #note({ engine: { state } }: SimulatedRound, event: Event): void {
    if (event.kind === "nodeLost") this.features.add("nodeLoss");
    if (event.kind === "nodeRemoved") this.features.add("removal");
    if (event.kind === "executorReturned") this.features.add("silence");
    if (event.kind === "foreignUseChanged") this.features.add("foreignWork");
    if (event.kind === "proposalScored") this.features.add("proposalScored");
    if (event.kind === "capacityOrderFilled") this.features.add("orderFilled");
    if (event.kind === "workersReplaced") this.features.add("replacement");
    if (event.kind === "windowBegan") this.features.add("window");
    if (event.kind === "budgetCrossed" && event.percent === 100) this.features.add("budget");
    if (event.kind === "attemptStopRequested" && event.reason === "budgetSpent") this.features.add("budgetStop");
    if (event.kind === "startWindowClosed") this.features.add("startWindow");
    if (event.kind === "calendarSet" && event.actor === "notice") this.features.add("notice");
    if (event.kind === "hotSpareReleased" && event.reason === "taken") this.features.add("hotSpare");
    if (event.kind === "checkpointWaitEnded" && event.outcome === "saved") this.features.add("checkpoint");
    if (event.kind === "gangShrinkRequested") this.features.add("shrink");
    if (event.kind === "evictionPlanned" && event.reason === "reclaimed") this.features.add("reclaim");
    if (event.kind === "evictionPlanned" && event.reason === "preempted") this.features.add("preemption");
    if (event.kind === "evictionPlanned" && event.reason === "migrated")
      this.features.add(event.pairsGathered === undefined ? "consolidation" : "defragmentation");
    if (event.kind === "attemptEnded" && event.outcome === "lost" && isGang(state, event))
      this.features.add("gangLoss");
    if (event.kind === "attemptStopRequested" && event.reason === "nodeLost") this.features.add("gangLoss");
    if (event.kind === "gangPlaced" && passesSomebody(state, event)) this.features.add("backfill");
  }

  override fork(): this {
    const copy = super.fork();
    for (const feature of this.features) copy.features.add(feature);
    return copy;
  }

  protected override make(lives: AttemptLives): this {
    return new Watch(lives) as this;
  }
}

/** Keeps the journal, and checks nothing. */
class JournalWatch extends Watch {
  override onRound({ ready }: SimulatedRound): void {
    if (ready.group !== null) this.groups.push(ready.group);
  }

  protected override make(): this {
    return new JournalWatch() as this;
  }
}

function isGang(state: ReadonlyState, { attemptId }: { readonly attemptId: AttemptId }): boolean {
  const workload = [...state.workloads.values()].find(({ endedAttempts }) =>
    endedAttempts.some(({ id }) => id === attemptId),
  );
  return (workload?.spec.gang.workers ?? 1) > 1;
}

/** Whether work starts while an earlier request still waits that has a protected start and could run on the fleet. */
function passesSomebody(state: ReadonlyState, { workloadId }: { readonly workloadId: WorkloadId }): boolean {
  const started = state.workloads.get(workloadId);
  if (started === undefined || (state.policy.backfill?.protectedStarts ?? 0) === 0) return false;
  const { couldEver } = feasibility(state);
  return [...state.workloads.values()].some(
    (other) =>
      other.ordinal < started.ordinal &&
      other.spec.priority >= started.spec.priority &&
      readyTask(other, state.nowMs) !== null &&
      couldEver(requestOf(other)),
  );
}

type Run = Simulation<Watch>;

function happen(simulation: Run, { inputs, dies, returns }: Happening, restarts: Restarts, mishaps: Luck): Run {
  for (const nodeId of dies) simulation.loseMachine(nodeId);
  for (const nodeId of returns) simulation.returnMachine(nodeId);
  const isHit = mishaps.chance(25);
  if (isHit && restarts === "crashed") return crash(simulation, inputs);
  simulation.receive(inputs);
  return isHit && restarts === "restored" ? simulation.fork() : simulation;
}

function crash(simulation: Run, inputs: readonly Input[]): Run {
  const recovered = simulation.crashAfter(inputs);
  if (recovered.engine.digest() !== simulation.engine.digest())
    throw new Violation("a restored engine has another digest");
  for (const { id, workers, stop } of recovered.engine.state.attempts.values()) {
    const running = recovered.workersOf(id);
    if (stop === null && running.length > 0 && JSON.stringify(running) !== JSON.stringify(workers))
      throw new Violation(`after a crash ${id} runs with ${running.length} workers, not with its ${workers.length}`);
  }
  return recovered;
}

function runUntil(simulation: Run, untilMs: number): void {
  if (!simulation.advance({ untilMs, maxRounds: roundsMax })) {
    throw new Violation(`no rest after ${roundsMax} rounds, at ${simulation.nowMs} ms`);
  }
}

/** Checks that all work that the repaired fleet can hold has ended, and so has all work that depended on it. */
function mustBeDone({ state }: Engine): void {
  const { couldEver } = feasibility(state);
  for (const workload of state.workloads.values()) {
    const waitsOn =
      workload.waitsFor?.some(({ workloadId }) => state.workloads.get(workloadId)?.endedAtMs === null) === true;
    if (workload.endedAtMs === null && !waitsOn && couldEver(requestOf(workload))) {
      throw new Violation(`${workload.id} is ${workload.phase} for ever although the fleet could hold it`);
    }
  }
}

/** Checks that nothing happens if only time passes (DESIGN §7.5). */
function mustRest(simulation: Run): void {
  const before = simulation.engine.state.sequence;
  for (let round = 1; round <= 5; round++) {
    simulation.advance({ untilMs: simulation.nowMs + 10 ** round, maxRounds: roundsMax });
    simulation.receive([{ kind: "tick" }]);
  }
  const { sequence } = simulation.engine.state;
  if (sequence !== before) throw new Violation(`at rest, and ${sequence - before} more events came with time alone`);
}
