/** KAI's scenarios on the preset `kai`: steady states after rounds, or the intermediate state after one phase. */
import { presets } from "@headroom/engine";
import type { Phase, Policy } from "@headroom/engine";
import type { Scenario } from "../scenario-file.ts";
import { Stage, acceleratorsFrom } from "../stage.ts";

interface Pod {
  readonly state: string;
  readonly node?: string;
  readonly taskOrder?: number;
  readonly gpuIndexes?: readonly string[];
}
interface Job {
  readonly name: string;
  readonly queue: string;
  readonly priority: number;
  readonly preemptible: boolean;
  readonly gangMin: number;
  readonly pods: number;
  readonly gpusPerPod: number;
  readonly cpuMillisPerPod?: number;
  readonly memoryPerPod?: number;
  readonly submittedMinutesAgo: number;
  readonly topologyConstraint?: { readonly required?: string | null; readonly preferred?: string | null };
  readonly podList: readonly Pod[];
}
interface Queue {
  readonly name: string;
  readonly parent: string | null;
  readonly quota: number | null;
  readonly limit: number | null;
  readonly weight: number | null;
  readonly priority: number | null;
  readonly quotaCpuMillis?: number | null;
  readonly limitCpuMillis?: number | null;
  readonly quotaMemory?: number | null;
  readonly limitMemory?: number | null;
}
interface Node {
  readonly name: string;
  readonly gpus: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly cpuMillis?: number;
  readonly memoryBytes?: number;
}
interface Expectation {
  readonly outcome?: string;
  readonly node?: string;
  readonly gpusTotal?: number;
}
interface KaiScenario extends Scenario {
  readonly nodes: readonly Node[];
  readonly queues: readonly Queue[];
  readonly runningJobs: readonly Job[];
  readonly pendingJobs: readonly Job[];
  readonly topologies?: readonly { readonly levels: readonly string[] }[];
  readonly action?: string;
  readonly roundsUntilMatch?: number;
  readonly stableRoundsAfter?: number;
  readonly expected: {
    readonly jobs?: Readonly<Record<string, Expectation>>;
    readonly tasks?: Readonly<Record<string, Expectation & { readonly uncheckedInSource?: string }>>;
  };
}

/** Bytes in one unit of memory here: the dialect counts quotas in 10^6 bytes. */
const MEMORY_UNIT = 1_000_000;
const NODE_CORES = 20_000;
const NODE_BYTES = 20_000_000_000;
const POD_BYTES = 1_000_000_000;
/** Weight of a queue that states none. */
const QUEUE_PRIORITY = 100;

const actionPhases: Readonly<Record<string, Phase>> = {
  allocate: "place",
  consolidation: "consolidate",
  reclaim: "reclaim",
  preempt: "preempt",
  stalegangeviction: "drop-incomplete",
};

export function playKai(scenario: Scenario): string[] {
  const world = scenario as KaiScenario;
  const policy = policyFor(world);
  const levels = world.topologies?.[0]?.levels ?? [];
  const stage = new Stage(policy, levels);
  for (const node of world.nodes) addNode(stage, node, levels);
  for (const queue of world.queues) addTeam(stage, queue);
  const staged = stageJobs(stage, world);
  const rounds = world.mode === "single-action" ? 1 : (world.roundsUntilMatch ?? 1);
  for (let round = 0; round < rounds; round++) stage.round();
  const differences = compare(stage, world, staged);
  if (world.mode === "single-action") return differences;
  for (let round = 1; round <= (world.stableRoundsAfter ?? 0); round++) {
    stage.round();
    differences.push(...compare(stage, world, staged).map((text) => `${round} rounds later: ${text}`));
  }
  return differences;
}

function policyFor({ mode, action }: KaiScenario): Policy {
  const policy = presets.get("kai") as Policy;
  if (mode !== "single-action") return policy;
  const phase = actionPhases[(action ?? "").toLowerCase()];
  if (phase === undefined) throw new Error(`no phase for the action ${action}`);
  return { ...policy, phases: [phase] };
}

function addNode(stage: Stage, node: Node, levels: readonly string[]): void {
  stage.addNode({
    name: node.name,
    acceleratorCount: node.gpus,
    coresMilli: (node.cpuMillis ?? NODE_CORES) * 1000,
    memoryMib: Math.floor((node.memoryBytes ?? NODE_BYTES) / MEMORY_UNIT),
    labels: node.labels,
    fabric: levels.map((level) => node.labels[level] ?? ""),
  });
}

function addTeam(stage: Stage, queue: Queue): void {
  const amounts = (
    accelerators: number | null,
    cores: number | null | undefined,
    memory: number | null | undefined,
  ) => ({
    ...(accelerators === null ? {} : { accelerators }),
    ...(cores == null ? {} : { cores }),
    ...(memory == null ? {} : { memory }),
  });
  stage.addTeam({
    name: queue.name,
    parent: queue.parent,
    guarantee: amounts(queue.quota, queue.quotaCpuMillis, queue.quotaMemory),
    limit: amounts(queue.limit, queue.limitCpuMillis, queue.limitMemory),
    weight: queue.weight ?? 0,
    priority: queue.priority ?? QUEUE_PRIORITY,
  });
}

interface StagedJob {
  readonly job: Job;
  readonly id: string;
  /** Indices in the job's list of pods, by the pod's rank as a worker. */
  readonly podByRank: readonly number[];
}

function stageJobs(stage: Stage, { runningJobs, pendingJobs }: KaiScenario): readonly StagedJob[] {
  const listed = [...runningJobs, ...pendingJobs].map((job, index) => ({ job, index }));
  const byAge = listed.toSorted(
    (left, right) => right.job.submittedMinutesAgo - left.job.submittedMinutesAgo || left.index - right.index,
  );
  const staged = byAge.map(({ job }): StagedJob => {
    const id = stage.submit({
      name: job.name,
      team: job.queue,
      priority: job.priority,
      preemptible: job.preemptible,
      gang: gangOf(job),
      ...fabricOf(job),
    });
    return { job, id, podByRank: ranksOf(job) };
  });
  const places = new SharedPlaces();
  for (const { job, id, podByRank } of staged) {
    const running = podByRank.filter((pod) => isRunning(job.podList[pod] as Pod));
    if (running.length === 0) continue;
    stage.run(
      id,
      "GPU",
      running.map((pod) => places.place(job, job.podList[pod] as Pod)),
    );
  }
  return staged;
}

function gangOf(job: Job) {
  const isShare = job.gpusPerPod > 0 && job.gpusPerPod < 1;
  return {
    workers: job.pods,
    accelerators: isShare ? 1 : job.gpusPerPod,
    ...(isShare ? { shareMilli: Math.round(job.gpusPerPod * 1000) } : {}),
    ...(job.gangMin < job.pods ? { minWorkers: job.gangMin } : {}),
    coresMilli: (job.cpuMillisPerPod ?? 1) * 1000,
    memoryMib: Math.floor((job.memoryPerPod ?? POD_BYTES) / MEMORY_UNIT),
  };
}

function fabricOf({ topologyConstraint }: Job) {
  if (topologyConstraint === undefined) return {};
  const { required, preferred } = topologyConstraint;
  return {
    fabric: { ...(required == null ? {} : { within: required }), ...(preferred == null ? {} : { prefer: preferred }) },
  };
}

const isRunning = ({ state, node }: Pod): boolean => state === "Running" && node !== undefined;

/** Running pods first, then by the order in which pods are taken. */
function ranksOf({ podList }: Job): readonly number[] {
  const order = (pod: Pod): number => pod.taskOrder ?? Number.NEGATIVE_INFINITY;
  return podList
    .map((pod, index) => ({ pod, index }))
    .toSorted(
      (left, right) =>
        Number(isRunning(right.pod)) - Number(isRunning(left.pod)) ||
        (order(right.pod) === order(left.pod) ? 0 : order(right.pod) - order(left.pod)) ||
        left.index - right.index,
    )
    .map(({ index }) => index);
}

/** Accelerators of running pods: fractions of equal index on a node share one, others are packed. */
class SharedPlaces {
  readonly #nodes = new Map<
    string,
    { next: number; readonly rooms: Map<number, number>; readonly named: Map<string, number> }
  >();

  place({ gpusPerPod }: Job, pod: Pod): { node: string; accelerators: string } {
    const node = pod.node as string;
    let state = this.#nodes.get(node);
    if (state === undefined) {
      state = { next: 0, rooms: new Map(), named: new Map() };
      this.#nodes.set(node, state);
    }
    if (gpusPerPod === 0) return { node, accelerators: "" };
    if (gpusPerPod >= 1) {
      const first = state.next;
      state.next += gpusPerPod;
      return { node, accelerators: acceleratorsFrom(first, gpusPerPod) };
    }
    const milli = Math.round(gpusPerPod * 1000);
    const name = pod.gpuIndexes?.[0];
    let index = name === undefined ? undefined : state.named.get(name);
    if (name === undefined) {
      const fitting = [...state.rooms]
        .filter(([, room]) => room >= milli)
        .toSorted(([, left], [, right]) => left - right);
      index = fitting[0]?.[0];
    }
    index ??= state.next++;
    if (name !== undefined) state.named.set(name, index);
    state.rooms.set(index, (state.rooms.get(index) ?? 1000) - milli);
    return { node, accelerators: `${index}` };
  }
}

/** Outcomes of a pod that runs, or is about to without anybody leaving for it. */
const RUNNING = new Set(["placed", "keeps-running", "relocated-later", "per-pod: all pods reach Running"]);
const WAITING = new Set(["stays-pending", "evicted", "per-pod: all pods reach Pending"]);

function compare(stage: Stage, world: KaiScenario, staged: readonly StagedJob[]): string[] {
  const differences: string[] = [];
  const isTransitional = world.mode === "single-action";
  for (const { job, id, podByRank } of staged) {
    const pods = podStates(stage, id, job);
    podByRank.forEach((pod, rank) => {
      const expected = world.expected.tasks?.[`${job.name}-${pod}`] ?? world.expected.jobs?.[job.name];
      if (expected === undefined || "uncheckedInSource" in expected) return;
      const text = difference(expected, pods[rank] as PodState, isTransitional);
      if (text !== null) differences.push(`${job.name}-${pod}: ${text}`);
    });
  }
  return differences;
}

interface PodState {
  readonly state: "running" | "nominated" | "waiting";
  readonly node: string | null;
}

function podStates(stage: Stage, id: string, job: Job): readonly PodState[] {
  const attempt = stage.attempt(id);
  const promise = [...stage.engine.state.nominations.values()].find(({ workloadId }) => workloadId === id);
  const running = (attempt?.workers ?? []).map(({ node }): PodState => ({ state: "running", node }));
  const nominated = (promise?.workers ?? []).map(({ node }): PodState => ({ state: "nominated", node }));
  const pods = [...running, ...nominated];
  while (pods.length < job.pods) pods.push({ state: "waiting", node: null });
  return pods;
}

function difference({ outcome, node }: Expectation, pod: PodState, isTransitional: boolean): string | null {
  if (outcome === undefined) return null;
  const found = `${pod.state}${pod.node === null ? "" : ` on ${pod.node}`}`;
  const state = RUNNING.has(outcome) ? "running" : WAITING.has(outcome) ? "waiting" : "nominated";
  // Between rounds a promise is a pod that waits.
  const seen = !isTransitional && pod.state === "nominated" ? "waiting" : pod.state;
  if (seen !== state && !(outcome === "relocated-later" && pod.state === "nominated"))
    return `expected ${outcome}, is ${found}`;
  if (node !== undefined && state !== "waiting" && pod.node !== node)
    return `expected ${outcome} on ${node}, is ${found}`;
  return null;
}
