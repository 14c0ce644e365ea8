/**
 * A simulated cluster built from events: a fleet, teams, and work that already runs. The events are replayed into an
 * engine as from a journal. Then the engine runs rounds, and executors perform every effect at once.
 */
import { CHAIN_START, chainAfter, attemptId, nodeId, poolName, siteName, teamName, workloadId } from "@headroom/model";
import type {
  Attempt,
  Effect,
  Event,
  Input,
  NodeSpec,
  Observation,
  Policy,
  Team,
  WorkerAllocation,
  Workload,
  WorkloadSpec,
} from "@headroom/model";
import { createEngine, replayEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";

/** A node as the scenario states it; absent amounts are zero. */
export type StagedNode = Partial<Omit<NodeSpec, "id" | "pool">> & {
  readonly name: string;
  readonly acceleratorType?: string;
  /** Memory of each accelerator in MiB; absent: not stated. */
  readonly acceleratorMemoryMib?: number;
};
/** A running worker, with the name of its node. */
export type StagedWorker = Omit<WorkerAllocation, "node"> & { readonly node: string };
export type StagedSpec = Partial<Omit<WorkloadSpec, "kind" | "team" | "name">> & {
  readonly name: string;
  readonly team: string;
};

const MINUTE_MS = 60_000;
/** Time in ms of the first round, later than every submission. */
const FIRST_ROUND_MS = 1_000_000 * MINUTE_MS;

export class Stage {
  readonly #events: Event[] = [];
  #engine: Engine | null = null;
  #nowMs = FIRST_ROUND_MS;
  #pools = new Set<string>();
  #workloads = 0;
  #observations: Observation[] = [];
  /** Ends of work that was terminating at the start. Executors report these ends after the first round. */
  #terminating: Observation[] = [];
  readonly #levels: readonly string[];

  constructor(policy: Policy, levels: readonly string[] = []) {
    this.#levels = levels;
    this.#fact({ kind: "siteDefined", version: 2, atMs: 0, site: { name: siteName("site"), fabricLevels: levels } });
    this.#fact({ kind: "policySet", version: 6, atMs: 0, policy });
  }

  #fact(event: Event): void {
    this.#events.push(event);
  }

  addNode({ name, acceleratorType = "GPU", acceleratorMemoryMib, ...amounts }: StagedNode): void {
    const memory = acceleratorMemoryMib === undefined ? {} : { acceleratorMemoryMib };
    const pool = poolName(`pool-${[acceleratorType, ...Object.values(memory)].join("-")}`);
    if (!this.#pools.has(pool)) {
      this.#pools.add(pool);
      this.#fact({
        kind: "poolDefined",
        version: 3,
        atMs: 0,
        pool: {
          name: pool,
          site: siteName("site"),
          executor: "simulated",
          acceleratorType,
          priceMicroUsdPerHour: 0,
          ...memory,
        },
      });
    }
    const fabric = this.#levels.map((_, index) => amounts.fabric?.[index] ?? "");
    const node = { acceleratorCount: 0, coresMilli: 0, memoryMib: 0, ...amounts, id: nodeId(name), pool, fabric };
    this.#fact({ kind: "nodeJoined", version: 2, atMs: 0, node });
  }

  loseNode(name: string): void {
    this.#fact({ kind: "nodeLost", version: 1, atMs: 0, nodeId: nodeId(name), detail: "not ready" });
  }

  addTeam(
    team: Omit<Team, "name" | "parent" | "limit"> & {
      readonly name: string;
      readonly parent: string | null;
      readonly limit?: Team["limit"];
    },
  ): void {
    const { name, parent, limit, ...rest } = team;
    const defined: Team = {
      ...rest,
      name: teamName(name),
      parent: parent === null ? null : teamName(parent),
      limit: limit ?? {},
    };
    this.#fact({ kind: "teamDefined", version: 4, atMs: 0, team: defined });
  }

  /** Submits work and returns its workload id. The queue has the order of these calls. */
  submit(spec: StagedSpec): string {
    const id = `w${++this.#workloads}`;
    this.#fact({
      kind: "workloadSubmitted",
      version: 4,
      atMs: 0,
      workloadId: workloadId(id),
      spec: specOf(spec),
      actor: "scenario",
    });
    return id;
  }

  /** Records that the workload runs with these workers. */
  run(id: string, acceleratorType: string, workers: readonly StagedWorker[]): void {
    const attempt = attemptId(`${id}.1`);
    const placed: readonly WorkerAllocation[] = workers.map((worker) => ({ ...worker, node: nodeId(worker.node) }));
    this.#fact({
      kind: "gangPlaced",
      version: 2,
      atMs: 0,
      attemptId: attempt,
      workloadId: workloadId(id),
      task: 0,
      number: 1,
      acceleratorType,
      workers: placed,
    });
    this.#fact({ kind: "attemptStarted", version: 1, atMs: 0, attemptId: attempt });
  }

  /**
   * Records that all workers except the first `kept` are terminating. They end after the first round; with `stays` they
   * never end.
   */
  terminate(id: string, workers: readonly StagedWorker[], { kept, stays }: TerminatingWorkers): void {
    const attempt = attemptId(`${id}.1`);
    if (kept === 0)
      this.#fact({ kind: "attemptStopRequested", version: 3, atMs: 0, attemptId: attempt, reason: "preempted" });
    else
      this.#fact({
        kind: "gangShrinkRequested",
        version: 2,
        atMs: 0,
        attemptId: attempt,
        workers: kept,
        reason: "preempted",
      });
    if (stays) return;
    const exits = workers.map((_, worker) => ({ kind: "signalled", worker, signal: "SIGTERM" }) as const);
    this.#terminating.push(
      kept === 0 ? { kind: "attemptExited", attemptId: attempt, exits } : { kind: "workersLeft", attemptId: attempt },
    );
  }

  get engine(): Engine {
    if (this.#engine === null) {
      const engine = createEngine();
      const text = JSON.stringify(this.#events);
      const group = { firstSequence: 1, count: this.#events.length, text, chain: chainAfter(CHAIN_START, text) };
      replayEngine(engine, [group]);
      this.#engine = engine;
    }
    return this.#engine;
  }

  /**
   * Sends one batch with the executors' observations of the last batch and these inputs, and runs the round after it.
   */
  round(inputs: readonly Input[] = []): readonly Event[] {
    this.#nowMs += MINUTE_MS;
    const observations = this.#observations;
    this.#observations = this.#terminating;
    this.#terminating = [];
    const { events, effects } = this.engine.receive([...observations, ...inputs, { kind: "tick" }], this.#nowMs);
    this.engine.advance();
    this.#observations.push(
      ...effects.flatMap((effect) => observe(effect, this.engine.state.attempts.get(effect.attemptId))),
    );
    return events;
  }

  workload(id: string): Workload {
    const found = this.engine.state.workloads.get(workloadId(id));
    if (found === undefined) throw new Error(`no workload ${id}`);
    return found;
  }

  /** The attempt of the workload that runs or starts; `null`: there is none, or it is being stopped. */
  attempt(id: string): Attempt | null {
    const { activeAttempts } = this.workload(id);
    const attempts = activeAttempts.flatMap((active) => this.engine.state.attempts.get(active) ?? []);
    return attempts.find(({ stop }) => stop === null) ?? null;
  }
}

interface TerminatingWorkers {
  readonly kept: number;
  readonly stays: boolean;
}

/** Simulates executors that perform every effect at once. */
function observe(effect: Effect, attempt: Attempt | undefined): readonly Observation[] {
  const { attemptId: id } = effect;
  switch (effect.kind) {
    case "launchGang":
      return [{ kind: "attemptRunning", attemptId: id }];
    case "stopGang":
      return [
        {
          kind: "attemptExited",
          attemptId: id,
          exits: (attempt?.workers ?? []).map((_, worker) => ({ kind: "signalled", worker, signal: "SIGTERM" })),
        },
      ];
    case "shrinkGang":
      return [{ kind: "workersLeft", attemptId: id }];
    case "replaceWorkers":
      return [{ kind: "workersJoined", attemptId: id }];
    case "growGang":
    case "checkpointGang":
      return [];
  }
}

export function specOf({ team, ...spec }: StagedSpec): WorkloadSpec {
  return {
    kind: "train",
    run: "true",
    dir: null,
    env: {},
    gang: { workers: 1, accelerators: 0, coresMilli: 0, memoryMib: 0 },
    acceleratorTypes: [],
    priority: 0,
    walltimeMs: null,
    retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 },
    graceTimeoutMs: 30_000,
    checkpointDir: null,
    ...spec,
    team: teamName(team),
  };
}

/** The accelerators of a node from index `first` on, as text of an accelerator set. The text for none is empty. */
export function acceleratorsFrom(first: number, count: number): string {
  if (count === 0) return "";
  return count === 1 ? `${first}` : `${first}-${first + count - 1}`;
}
