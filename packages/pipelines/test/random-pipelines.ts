/** Random pipelines, the faults of their steps, and a driver that plays runs like the engine does. */
import { pipelineRunId, stepKey, teamName, workloadId } from "@headroom/model";
import type {
  ProducedArtifact,
  CachedStep,
  PipelineRun,
  PipelineSpec,
  PipelineStep,
  StepCondition,
  StepRun,
  WorkloadId,
  WorkloadSpec,
} from "@headroom/model";
import { firstSteps, nextActions, retryPlan, waitingStep } from "../src/index.ts";
import type { PipelineFacts, StepAction, WorkloadOutcome } from "../src/index.ts";

export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 2_654_435_761 + 1) >>> 0;
  }

  /** A whole number from 0 below `bound` (mulberry32). */
  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }
}

const spec = (name: string): WorkloadSpec => ({
  kind: "train",
  name,
  team: teamName("default"),
  run: "true",
  dir: null,
  env: {},
  gang: { workers: 1, accelerators: 0, coresMilli: 0, memoryMib: 0 },
  acceleratorTypes: [],
  priority: 0,
  walltimeMs: null,
  retries: { max: 0, backoffMs: 1, backoffMaxMs: 1 },
  graceTimeoutMs: 0,
  checkpointDir: null,
  produces: [`of-${name}`],
});

/** Steps in a random order, so that the order of the definition is not that of the graph. */
export function randomPipeline(dice: Dice): PipelineSpec {
  const count = 1 + dice.below(9);
  const steps = Array.from({ length: count }, (_, at): PipelineStep => {
    const after = Array.from({ length: at }, (_each, before) => `s${before}`).filter(() => dice.chance(35));
    const isApproval = dice.chance(8);
    const [first] = after;
    const when: StepCondition[] = [];
    if (first !== undefined && dice.chance(20)) {
      const is = (["succeeded", "failed", "skipped"] as const)[dice.below(3)] ?? "failed";
      when.push({ kind: "outcome", step: first, is });
    }
    if (dice.chance(10))
      when.push({ kind: "param", param: "mode", test: { operator: "eq", value: dice.chance(50) ? "x" : "y" } });
    const values = Array.from({ length: dice.below(4) }, (_each, item) => `i${item}`);
    return {
      name: `s${at}`,
      after,
      upstream: dice.chance(25) ? "ended" : "succeeded",
      when,
      ...(!isApproval && dice.chance(30) ? { forEach: { kind: "values", values } as const } : {}),
      ...(!isApproval && dice.chance(20) ? { atOnce: 1 + dice.below(2) } : {}),
      ...(!isApproval && dice.chance(30) ? { cache: true as const } : {}),
      spec: isApproval ? null : spec(`s${at}`),
    };
  });
  return {
    name: "random",
    team: teamName("default"),
    params: [{ name: "mode", default: "x" }],
    steps: shuffled(steps, dice),
    ...(dice.chance(30) ? { stepsAtOnce: 1 + dice.below(3) } : {}),
  };
}

function shuffled<Item>(items: readonly Item[], dice: Dice): readonly Item[] {
  const list = [...items];
  for (let at = list.length - 1; at > 0; at--) {
    const other = dice.below(at + 1);
    [list[at], list[other]] = [list[other] as Item, list[at] as Item];
  }
  return list;
}

/** The fate of a step in a try of the run: fixed by the seed, so that an oracle knows it too. */
export type Fate = (key: string, retryCount: number) => "succeeded" | "failed" | "cancelled";

export function randomFate(seed: number): Fate {
  return (key, retryCount) => {
    const dice = new Dice(
      seed * 31 +
        retryCount * 7 +
        Array.from(key, (char) => char.charCodeAt(0)).reduce((sum, code) => sum * 33 + code, 5),
    );
    if (dice.chance(70 + retryCount * 15)) return "succeeded";
    return dice.chance(70) ? "failed" : "cancelled";
  };
}

interface Submitted {
  readonly key: string;
  readonly retryCount: number;
  readonly order: number;
}

/** A run with its workloads. Every change goes through JSON, as if the control plane was killed before it. */
export class PlayedRun {
  run: PipelineRun;
  readonly submitted: Submitted[] = [];
  readonly faults: string[] = [];
  readonly #cache: Map<string, CachedStep>;
  readonly #outcomes = new Map<WorkloadId, WorkloadOutcome>();
  readonly #stopping = new Set<WorkloadId>();
  readonly #keys = new Map<WorkloadId, string>();
  readonly #fate: Fate;
  readonly #dice: Dice;
  #count = 0;

  constructor(
    pipeline: PipelineSpec,
    {
      id,
      fate,
      dice,
      cache,
    }: { readonly id: string; readonly fate: Fate; readonly dice: Dice; readonly cache: Map<string, CachedStep> },
  ) {
    this.#fate = fate;
    this.#dice = dice;
    this.#cache = cache;
    this.run = {
      id: pipelineRunId(id),
      pipeline,
      params: { mode: "x" },
      trigger: { kind: "manual" },
      actor: "ann",
      force: false,
      phase: "running",
      createdAtMs: 0,
      startedAtMs: 0,
      endedAtMs: null,
      cancelRequested: false,
      retryCount: 0,
      expanded: [],
      steps: new Map(firstSteps(pipeline).map((own) => [own.step, own])),
    };
  }

  /** Plays to the end: workloads end in a random order, several at once, and some looks find nothing new. */
  play(): void {
    this.#advance();
    for (let turn = 0; turn < 10_000 && this.run.phase === "running"; turn++) {
      if (this.#dice.chance(30)) this.#restart();
      if (this.#dice.chance(20)) this.#advance();
      this.#endSome();
      this.#advance();
    }
    if (this.run.phase === "running") this.faults.push("the run does not end");
  }

  retry(): void {
    const { again, collapsed } = retryPlan(this.run, null);
    const steps = new Map(this.run.steps);
    for (const key of again) {
      const own = steps.get(key) as StepRun;
      steps.set(key, waitingStep(own.step, own.index, own.item));
    }
    for (const name of collapsed) {
      for (const [key, { step }] of steps) if (step === name) steps.delete(key);
      steps.set(name, waitingStep(name));
    }
    const expanded = this.run.expanded.filter((name) => !collapsed.includes(name));
    this.run = { ...this.run, phase: "running", retryCount: this.run.retryCount + 1, expanded, steps };
    this.play();
  }

  #restart(): void {
    const { steps, ...rest } = this.run;
    const stored = JSON.parse(JSON.stringify({ ...rest, steps: [...steps] })) as Omit<PipelineRun, "steps"> & {
      readonly steps: readonly [string, StepRun][];
    };
    this.run = { ...stored, steps: new Map(stored.steps) };
  }

  #advance(): void {
    const facts: PipelineFacts = {
      nowMs: 0,
      outcomeOf: (id) => this.#outcomes.get(id) ?? null,
      isStopping: (id) => this.#stopping.has(id),
      cached: (key) => this.#cache.get(key) ?? null,
      versionOf: () => null,
      proposalOf: () => null,
    };
    for (const action of nextActions(this.run, facts)) this.#perform(action);
    const left = nextActions(this.run, facts);
    if (left.length > 0) this.faults.push(`${left.length} actions were left: ${JSON.stringify(left[0])}`);
  }

  #perform(action: StepAction): void {
    const steps = new Map(this.run.steps);
    switch (action.kind) {
      case "expand":
        steps.delete(action.step);
        for (const [index, item] of action.items.entries())
          steps.set(stepKey(action.step, index), waitingStep(action.step, index, item));
        this.run = { ...this.run, steps, expanded: [...this.run.expanded, action.step] };
        return;
      case "submit": {
        const own = this.#stepOf(action.key);
        this.#checkInputs(own, action.artifacts);
        const id = workloadId(`${this.run.id}-w${++this.#count}`);
        this.submitted.push({ key: action.key, retryCount: this.run.retryCount, order: this.#count });
        this.#keys.set(id, action.key);
        steps.set(action.key, { ...own, phase: "running", workloadId: id, cacheKey: action.cacheKey, startedAtMs: 0 });
        break;
      }
      case "setAlias":
        throw new Error("random pipelines set no alias");
      case "requestApproval":
        steps.set(action.key, { ...this.#stepOf(action.key), phase: "awaitingApproval" });
        break;
      case "stop":
        this.#stopping.add(action.workloadId);
        return;
      case "settle": {
        const own = this.#stepOf(action.key);
        const { phase, reason, artifacts, workloadId: reused = own.workloadId } = action;
        steps.set(action.key, { ...own, phase, reason, artifacts, workloadId: reused });
        if (phase === "succeeded" && own.cacheKey !== null && own.workloadId !== null)
          this.#cache.set(own.cacheKey, { runId: this.run.id, workloadId: own.workloadId, artifacts });
        break;
      }
      case "end":
        this.run = { ...this.run, phase: action.phase };
        return;
    }
    this.run = { ...this.run, steps };
  }

  #stepOf(key: string): StepRun {
    const own = this.run.steps.get(key);
    if (own === undefined) throw new Error(`no step ${key}`);
    if (own.phase !== "waiting" && own.phase !== "running" && own.phase !== "awaitingApproval")
      this.faults.push(`${key} changes after it is ${own.phase}`);
    return own;
  }

  /** All artifacts of the steps before it are there when a step is submitted, and only those. */
  #checkInputs({ step }: StepRun, given: readonly ProducedArtifact[]): void {
    const after = this.run.pipeline.steps.find(({ name }) => name === step)?.after ?? [];
    const ahead = [...this.run.steps.values()].filter((own) => after.includes(own.step));
    const open = ahead.find(({ phase }) => phase === "waiting" || phase === "running" || phase === "awaitingApproval");
    if (open !== undefined) this.faults.push(`${step} runs before ${open.step} has ended`);
    const count = ahead.reduce((sum, { artifacts }) => sum + artifacts.length, 0);
    if (count !== given.length) this.faults.push(`${step} gets ${given.length} of ${count} artifacts`);
  }

  #endSome(): void {
    const open = [...this.run.steps.entries()].filter(
      ([, { phase }]) => phase === "running" || phase === "awaitingApproval",
    );
    for (const [key, own] of shuffled(open, this.#dice).slice(0, 1 + this.#dice.below(2))) {
      const phase = this.#fate(key, this.run.retryCount);
      if (own.phase === "awaitingApproval") {
        const steps = new Map(this.run.steps);
        steps.set(key, { ...own, phase: phase === "succeeded" ? "succeeded" : "failed" });
        this.run = { ...this.run, steps };
      } else if (own.workloadId !== null) {
        const artifacts = phase === "succeeded" ? [{ name: `of-${own.step}`, path: `/${own.workloadId}` }] : [];
        this.#outcomes.set(own.workloadId, { phase, endedAtMs: 0, artifacts });
      }
    }
  }
}
