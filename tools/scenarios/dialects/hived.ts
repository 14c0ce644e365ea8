/**
 * Plays HiveD's scenarios with the preset `hived`. Jobs arrive one after another, each once a round has changed
 * nothing. Jobs are inspected in between.
 */
import { acceleratorIndices, commandId, presets, taskCountOf } from "@headroom/model";
import type {
  Attempt,
  Command,
  Input,
  Node as EngineNode,
  NodeSpec,
  Policy,
  ReservedTopology,
  WorkerAllocation,
  WorkloadSpec,
} from "@headroom/model";
import type { Scenario } from "../scenario-file.ts";
import { Stage, acceleratorsFrom, specOf } from "../stage.ts";
import type { StagedSpec } from "../stage.ts";

interface Node {
  readonly name: string;
  readonly gpus: number;
  readonly labels: { readonly gpuType: string; readonly pool: string };
  /** Text such as "2 pairs of 2 GPUs". */
  readonly intraNode?: string;
  readonly ready?: boolean;
}
interface Queue {
  readonly name: string;
  readonly parent: string | null;
  readonly cells?: readonly { readonly type: string; readonly count: number }[];
  readonly pinnedNodes?: readonly string[];
}
interface Job {
  readonly name: string;
  readonly queue: string;
  readonly priority: number;
  readonly pods: number;
  readonly gpusPerPod: number;
  readonly gpuType?: string | null;
  readonly gangMin?: number | null;
  readonly node?: string;
  readonly lazyPreemptionEnable?: boolean;
}
interface Wanted {
  readonly outcome?: string;
  readonly node?: string;
  readonly podsRunning?: number;
  readonly minNodesUsed?: number;
  readonly maxNodesUsed?: number;
}
interface Checks {
  readonly jobs?: Readonly<Record<string, Wanted | string>>;
  readonly podsRunning?: number;
  readonly sameNode?: readonly string[];
  readonly sameCell?: { readonly gpus: number; readonly jobs: readonly string[] };
  readonly becomesOpportunistic?: readonly string[];
  /** Number of retries. */
  readonly retries?: number;
}
interface Step extends Checks {
  readonly after: string;
  readonly event: Readonly<Record<string, string>>;
}
interface HivedScenario extends Scenario {
  readonly nodes: readonly Node[];
  readonly queues: readonly Queue[];
  readonly runningJobs: readonly Job[];
  readonly pendingJobs: readonly Job[];
  readonly expected: Checks & { readonly steps?: readonly Step[] };
}

/** Number of rounds after which a scenario fails if it still changes. */
const ROUNDS_MAX = 200;

export function playHived(scenario: Scenario): string[] {
  const play = new Play(scenario as HivedScenario);
  return play.run();
}

class Play {
  readonly #world: HivedScenario;
  readonly #stage: Stage;
  /** Ids of workloads by job. */
  readonly #ids = new Map<string, string>();
  /** Jobs with an evicted pod, in total and since the last step. */
  readonly #everEvicted = new Set<string>();
  #evicted = new Set<string>();
  readonly #waiting: Job[];

  constructor(world: HivedScenario) {
    this.#world = world;
    this.#waiting = [...world.pendingJobs];
    this.#stage = new Stage(policyFor(world), ["pool"]);
    for (const { name, gpus, labels, intraNode = "" } of world.nodes) {
      const acceleratorGroups = [...intraNode.matchAll(/of (\d+)/g)].map(([, size]) => Number(size));
      this.#stage.addNode({
        name,
        acceleratorCount: gpus,
        acceleratorType: labels.gpuType,
        fabric: [labels.pool],
        acceleratorGroups,
      });
    }
    for (const { name, ready } of world.nodes) if (ready === false) this.#stage.loseNode(name);
    for (const { name, parent, cells = [], pinnedNodes = [] } of world.queues) {
      const reservedTopology = [...cells.map((cell) => shapeOf(world, cell)), ...pinnedShapes(world, pinnedNodes)];
      this.#stage.addTeam({ name, parent, reservedTopology });
    }
    this.#runStaged(world.runningJobs.filter(({ node }) => node !== undefined));
    for (const job of world.runningJobs) if (job.node === undefined) this.#submit(job);
  }

  /** Jobs that the scenario starts on a named node. Each takes the next free accelerators of its node. */
  #runStaged(jobs: readonly Job[]): void {
    const used = new Map<string, number>();
    for (const job of jobs) {
      const node = job.node as string;
      const id = this.#stage.submit(stagedSpec(job));
      const workers = Array.from({ length: job.pods }, () => {
        const first = used.get(node) ?? 0;
        used.set(node, first + job.gpusPerPod);
        return { node, accelerators: acceleratorsFrom(first, job.gpusPerPod) };
      });
      this.#stage.run(id, job.gpuType ?? "", workers);
      this.#ids.set(job.name, id);
    }
  }

  #submit(job: Job): void {
    const id = `w${this.#ids.size + 1}`;
    this.#ids.set(job.name, id);
    const command: Command = {
      kind: "submitWorkload",
      commandId: commandId(id),
      actor: "scenario",
      idempotencyKey: null,
      spec: specFor(job),
    };
    this.#settle([command]);
  }

  /** Runs rounds until one changes nothing. The first round gets these inputs. */
  #settle(inputs: readonly Input[]): void {
    const nameOf = new Map([...this.#ids].map(([name, id]) => [id, name]));
    let events = this.#stage.round(inputs);
    for (let round = 0; ; round++) {
      for (const event of events) {
        const isTaken = event.kind === "attemptStopRequested" || event.kind === "gangShrinkRequested";
        if (!isTaken && !(event.kind === "attemptEnded" && event.outcome === "lost")) continue;
        const name = nameOf.get(event.attemptId.split(".")[0] as string) as string;
        this.#evicted.add(name);
        this.#everEvicted.add(name);
      }
      if (events.length === 0) return;
      if (round === ROUNDS_MAX) throw new Error(`no rest after ${ROUNDS_MAX} rounds`);
      events = this.#stage.round();
    }
  }

  run(): string[] {
    const { steps = [] } = this.#world.expected;
    const later = new Set(steps.flatMap(({ event }) => event.submit ?? []));
    const differences = steps.flatMap((step) => {
      this.#submitUntil(step.event["submit"], later);
      const unknown = Object.entries(step.event).filter(([kind, name]) => !this.#happens(kind, name));
      const found = this.#check(step).map((text) => `after ${step.after}: ${text}`);
      this.#evicted = new Set();
      return [...unknown.map(([kind]) => `after ${step.after}: nothing is known of the event ${kind}`), ...found];
    });
    while (this.#waiting.length > 0) this.#submit(this.#waiting.shift() as Job);
    this.#evicted = this.#everEvicted;
    return [...differences, ...this.#check(this.#world.expected)];
  }

  /** Applies a step's event; false: the event is unknown. */
  #happens(kind: string, name: string): boolean {
    if (kind === "nodeNotReady")
      this.#settle([{ kind: "nodeUnreachable", nodeId: this.#node(name).id, detail: "not ready" }]);
    else if (kind === "nodeReady") this.#settle([{ kind: "nodeSeen", node: specOfNode(this.#node(name)) }]);
    else if (kind === "complete" || kind === "finish") this.#settle(this.#attempts(name).map(exited));
    return ["submit", "nodeNotReady", "nodeReady", "complete", "finish"].includes(kind);
  }

  /** Submits jobs in order up to the job that a step names. Without a name: all jobs that no step names. */
  #submitUntil(name: string | undefined, later: ReadonlySet<string>): void {
    while (this.#waiting.length > 0) {
      const [job] = this.#waiting as [Job];
      if (name === undefined && later.has(job.name)) return;
      if (name !== undefined && !this.#waiting.some((waiting) => waiting.name === name)) return;
      this.#waiting.shift();
      this.#submit(job);
    }
  }

  #node(name: string): EngineNode {
    const node = [...this.#stage.engine.state.nodes.values()].find(({ id }) => id === name);
    if (node === undefined) throw new Error(`no node ${name}`);
    return node;
  }

  #check({ jobs = {}, podsRunning, sameNode, sameCell, becomesOpportunistic = [], retries }: Checks): string[] {
    const differences: string[] = [];
    const expect = (holds: boolean, text: string): void => void (holds || differences.push(text));
    for (const [name, wanted] of Object.entries(jobs))
      differences.push(...this.#checkJob(name, typeof wanted === "string" ? { outcome: wanted } : wanted));
    const workers = (names: readonly string[]) => names.flatMap((name) => this.#workers(name));
    const running = workers([...this.#ids.keys()]).length;
    if (podsRunning !== undefined)
      expect(running === podsRunning, `expected ${podsRunning} pods to run, ${running} do`);
    if (sameNode !== undefined) {
      const nodes = new Set(workers(sameNode).map(({ node }) => node));
      expect(nodes.size === 1, `expected ${sameNode.join(", ")} on one node, they are on ${[...nodes].join(", ")}`);
    }
    if (sameCell !== undefined) {
      const cells = new Set(
        workers(sameCell.jobs).flatMap(({ node, accelerators }) =>
          acceleratorIndices(accelerators).map((index) => `${node} ${Math.floor(index / sameCell.gpus)}`),
        ),
      );
      expect(cells.size === 1, `expected one cell of ${sameCell.gpus}, got ${[...cells].join(", ")}`);
    }
    for (const name of becomesOpportunistic)
      expect(
        this.#attempts(name).some(({ opportunistic }) => opportunistic === true),
        `expected ${name} to go on as opportunistic`,
      );
    if (retries === undefined) return differences;
    for (const name of Object.keys(jobs)) {
      const tried = Math.max(1, ...this.#attempts(name).map(({ number }) => number));
      expect(tried === retries + 1, `expected ${name} to be tried again ${retries} times, it is at attempt ${tried}`);
    }
    return differences;
  }

  /** Attempts of the job that run or start and were not asked to stop. */
  #attempts(name: string): readonly Attempt[] {
    const id = this.#ids.get(name);
    if (id === undefined) return [];
    const { attempts } = this.#stage.engine.state;
    return this.#stage
      .workload(id)
      .activeAttempts.flatMap((active) => attempts.get(active) ?? [])
      .filter(({ stop }) => stop === null);
  }

  #workers(name: string): readonly WorkerAllocation[] {
    return this.#attempts(name).flatMap(({ workers }) => workers);
  }

  #checkJob(name: string, { outcome, node, podsRunning, minNodesUsed, maxNodesUsed }: Wanted): string[] {
    const id = this.#ids.get(name);
    if (id === undefined) return [`${name} was never submitted`];
    const workers = this.#workers(name);
    const nodes = new Set(workers.map((worker) => worker.node)).size;
    const { spec, endedAtMs } = this.#stage.workload(id);
    const pods = spec.gang.workers * taskCountOf(spec);
    const holds: Readonly<Record<string, boolean>> = {
      placed: workers.length === pods,
      "keeps-running": workers.length > 0 && !this.#evicted.has(name),
      "stays-pending": workers.length === 0 && endedAtMs === null,
      "partially-placed": workers.length > 0 && workers.length < pods,
      evicted: this.#evicted.has(name),
      preempted: this.#evicted.has(name),
      "evicted-and-requeued": this.#evicted.has(name) && endedAtMs === null,
    };
    const differences: string[] = [];
    const seen = `${workers.length} of ${pods} pods run on ${nodes} nodes${this.#evicted.has(name) ? ", some lost their place" : ""}`;
    if (outcome !== undefined && holds[outcome] !== true) differences.push(`${name}: expected ${outcome}, ${seen}`);
    if (node !== undefined && !workers.every((worker) => worker.node === node))
      differences.push(
        `${name}: expected all on ${node}, they are on ${workers.map((worker) => worker.node).join(", ")}`,
      );
    if (podsRunning !== undefined && workers.length !== podsRunning)
      differences.push(`${name}: expected ${podsRunning} pods, ${seen}`);
    if (minNodesUsed !== undefined && nodes < minNodesUsed)
      differences.push(`${name}: expected ${minNodesUsed} nodes or more, ${seen}`);
    if (maxNodesUsed !== undefined && nodes > maxNodesUsed)
      differences.push(`${name}: expected ${maxNodesUsed} nodes at most, ${seen}`);
    return differences;
  }
}

/** In HiveD each job has a setting for lazy preemption; in Headroom the policy has it. */
function policyFor({ runningJobs, pendingJobs }: HivedScenario): Policy {
  const policy = presets.get("hived") as Policy;
  const lazyPreemption = [...runningJobs, ...pendingJobs].some(
    ({ lazyPreemptionEnable }) => lazyPreemptionEnable === true,
  );
  return { ...policy, strategy: lazyPreemption ? "hived" : "hived-eager" };
}

/**
 * Reads the name of a cell. `X`: the whole chain X; `X.Y`: a node of it; `X.Y.Z`: a group of accelerators in a node,
 * with its size in its name.
 */
function shapeOf(
  { nodes }: HivedScenario,
  { type, count }: { readonly type: string; readonly count: number },
): ReservedTopology {
  const [chain, node, group] = type.split(".") as [string, string | undefined, string | undefined];
  const here = nodes.filter(({ labels }) => labels.pool === chain);
  const perNode = here[0]?.gpus ?? 0;
  const all = here.reduce((sum, { gpus }) => sum + gpus, 0);
  if (node === undefined) return { within: "pool", accelerators: all, count, domain: [chain] };
  if (group === undefined) return { within: "node", accelerators: perNode, count, domain: [chain] };
  return { within: "group", accelerators: Number(/\d+/.exec(group)?.[0] ?? 1), count, domain: [chain] };
}

function pinnedShapes({ nodes }: HivedScenario, pinned: readonly string[]): ReservedTopology[] {
  const bySize = Map.groupBy(
    nodes.filter(({ name }) => pinned.includes(name)),
    ({ gpus }) => gpus,
  );
  return [...bySize].map(([accelerators, here]) => ({
    within: "node",
    accelerators,
    count: here.length,
    nodes: here.map(({ name }) => name),
  }));
}

function stagedSpec({ name, queue, priority, pods, gpusPerPod, gpuType, gangMin }: Job): StagedSpec {
  const minWorkers = gangMin ?? 1;
  return {
    name,
    team: queue,
    priority,
    acceleratorTypes: typeof gpuType === "string" ? [gpuType] : [],
    gang: {
      workers: pods,
      accelerators: gpusPerPod,
      coresMilli: 0,
      memoryMib: 0,
      ...(minWorkers < pods ? { minWorkers } : {}),
    },
  };
}

/** Pods that are not a gang and name no type can have different types, so they become tasks of an array. */
function specFor(job: Job): WorkloadSpec {
  const staged = stagedSpec(job);
  const isLoose = typeof job.gpuType !== "string" && (job.gangMin ?? 1) === 1 && job.pods > 1;
  if (!isLoose) return specOf(staged);
  const gang = { workers: 1, accelerators: job.gpusPerPod, coresMilli: 0, memoryMib: 0 };
  return { ...specOf({ ...staged, gang }), kind: "batch", taskCount: job.pods };
}

const exited = ({ id, workers }: Attempt): Input => ({
  kind: "attemptExited",
  attemptId: id,
  exits: workers.map((_, worker) => ({ kind: "exited", worker, code: 0 })),
});

function specOfNode(node: EngineNode): NodeSpec {
  const { id, pool, fabric, acceleratorCount, coresMilli, memoryMib, labels, workersMax, acceleratorGroups } = node;
  const optional = {
    ...(labels === undefined ? {} : { labels }),
    ...(workersMax === undefined ? {} : { workersMax }),
    ...(acceleratorGroups === undefined ? {} : { acceleratorGroups }),
  };
  return { id, pool, fabric, acceleratorCount, coresMilli, memoryMib, ...optional };
}
