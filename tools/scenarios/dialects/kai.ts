/**
 * Plays KAI's scenarios with the preset `kai`, and compares steady states after several rounds, or the state after one
 * phase.
 */
import { gangOfGroups, presets } from "@headroom/model";
import type { GangSpec, Phase, Policy, WorkerAllocation } from "@headroom/model";
import type { Scenario } from "../scenario-file.ts";
import { Stage, acceleratorsFrom } from "../stage.ts";
import type { StagedWorker } from "../stage.ts";
import type { Expectation, Job, KaiScenario, MigInstances, Node, Pod, Queue, WithMig } from "./kai-scenario.ts";

/** Bytes in one unit of the scenario's memory quotas. */
const QUOTA_BYTES = 1_000_000;
const NODE_CORES = 20_000;
const NODE_BYTES = 20_000_000_000;
const POD_BYTES = 1_000_000_000;
/** Priority of a queue without a stated priority. */
const QUEUE_PRIORITY = 100;

/** GPU memory in MiB of nodes that state none. KAI has the same default. */
const GPU_MEMORY_MIB = 100;
const GPU = "GPU";
/** Whole GPUs of a node with the MIG strategy `single`; they are not divided further. */
const SINGLE = "GPU single";

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
  const unit = { levels, memory: memoryUnitOf(world) };
  for (const node of world.nodes) for (const part of partsOfNode(node, world)) addNode(stage, part, unit);
  for (const queue of world.queues) addTeam(stage, queue, unit);
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

/**
 * Bytes in one unit of memory: the unit of quotas, or a smaller one if an amount in the scenario is not a multiple of
 * it.
 */
function memoryUnitOf({ nodes, runningJobs, pendingJobs }: KaiScenario): number {
  const amounts = [
    ...nodes.map(({ memoryBytes = 0 }) => memoryBytes),
    ...[...runningJobs, ...pendingJobs].map(({ memoryPerPod = 0 }) => memoryPerPod),
  ];
  return amounts.every((amount) => amount % QUOTA_BYTES === 0) ? QUOTA_BYTES : 1;
}

function policyFor({ mode, action }: KaiScenario): Policy {
  const policy = presets.get("kai") as Policy;
  if (mode !== "single-action") return policy;
  const phase = actionPhases[(action ?? "").toLowerCase()];
  if (phase === undefined) throw new Error(`no phase for the action ${action}`);
  return { ...policy, phases: [phase] };
}

/**
 * One Headroom node for a part of a KAI node. A node with static MIG has a part for its whole GPUs, and one for each
 * profile.
 */
interface NodePart {
  readonly node: Node;
  readonly name: string;
  readonly acceleratorType: string;
  readonly acceleratorCount: number;
}

const migNode = (node: string, profile: string): string => `${node} ${profile}`;
const nodeOf = (name: string): string => name.split(" ")[0] as string;

/** Number of GPUs that KAI counts for a MIG instance: two for `2g`. */
const gpusOfInstance = (profile: string): number => Number(/(\d+)g\./.exec(profile)?.[1] ?? 1);

/** MIG instances of a node or a pod by profile. The resource name of a strategy states no instances. */
function instancesOf({ migInstances, mig }: WithMig): MigInstances {
  const stated = [migInstances, mig].find((value) => typeof value === "object" && value !== null) ?? {};
  if (!Array.isArray(stated)) return stated as MigInstances;
  const counts: Record<string, number> = {};
  for (const profile of stated as readonly string[]) counts[profile] = (counts[profile] ?? 0) + 1;
  return counts;
}

/**
 * MIG strategy of a node. `mixed`: no whole GPUs. `single`: every whole GPU counts as an instance. Empty: not stated.
 */
const strategyOf = ({ mig, migStrategy }: Node): string => migStrategy ?? (typeof mig === "string" ? mig : "");

function partsOfNode(node: Node, { runningJobs }: KaiScenario): NodePart[] {
  const instances = Object.entries(instancesOf(node));
  // If running pods have no MIG requests in KAI's own form, it is unknown which instances they hold.
  const isBlocked = runningJobs.some(({ podList }) =>
    podList.some((pod) => isLegacyMig(pod) && pod.node === node.name),
  );
  const strategy = strategyOf(node);
  const isMixed = instances.length > 0 || strategy === "mixed";
  return [
    {
      node,
      name: node.name,
      acceleratorType: strategy === "single" ? SINGLE : GPU,
      acceleratorCount: isMixed ? 0 : (node.gpus ?? 0),
    },
    ...instances.map(([profile, count]) => ({
      node,
      name: migNode(node.name, profile),
      acceleratorType: profile,
      acceleratorCount: isBlocked ? 0 : count * gpusOfInstance(profile),
    })),
  ];
}

const isLegacyMig = ({ legacyMig, isLegacyMigTask }: Pod): boolean => legacyMig === true || isLegacyMigTask === true;

interface Units {
  readonly levels: readonly string[];
  /** Bytes in one unit of memory. */
  readonly memory: number;
}

function addNode(stage: Stage, { node, ...part }: NodePart, { levels, memory }: Units): void {
  stage.addNode({
    ...part,
    acceleratorMemoryMib: node.gpuMemoryMiB ?? GPU_MEMORY_MIB,
    coresMilli: (node.cpuMillis ?? NODE_CORES) * 1000,
    memoryMib: Math.floor((node.memoryBytes ?? NODE_BYTES) / memory),
    labels: node.labels,
    fabric: levels.map((level) => node.labels[level] ?? ""),
  });
}

function addTeam(stage: Stage, queue: Queue, { memory: unit }: Units): void {
  const amounts = (
    accelerators: number | null,
    cores: number | null | undefined,
    memory: number | null | undefined,
  ) => ({
    ...(accelerators === null ? {} : { accelerators }),
    ...(cores == null ? {} : { cores }),
    ...(memory == null ? {} : { memory: (memory * QUOTA_BYTES) / unit }),
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
  /** Positions in the job's list of pods, by the rank of the pod's worker. */
  readonly podByRank: readonly number[];
  readonly groupOf: ((pod: number) => number) | null;
}

function stageJobs(stage: Stage, world: KaiScenario): readonly StagedJob[] {
  const { runningJobs, pendingJobs, nodes } = world;
  const listed = [...runningJobs, ...pendingJobs].map((job, index) => ({ job, index }));
  const byAge = listed.toSorted(
    (left, right) => right.job.submittedMinutesAgo - left.job.submittedMinutesAgo || left.index - right.index,
  );
  const memoryUnit = memoryUnitOf(world);
  const hasMig = nodes.some((node) => strategyOf(node) !== "" || Object.keys(instancesOf(node)).length > 0);
  const staged = byAge.map(({ job }): StagedJob => {
    const podByRank = ranksOf(job);
    const { gang, groupOf } = gangOf(job, podByRank, memoryUnit);
    const { types } = requestOf(job, job.podList[0] as Pod);
    const id = stage.submit({
      name: job.name,
      team: job.queue,
      priority: job.priority,
      preemptible: job.preemptible,
      gang,
      ...(hasMig ? { acceleratorTypes: typesFor(gang, types) } : {}),
      // KAI's scheduler ignores pods like these.
      ...(job.podList.some((pod) => isLegacyMig(pod) && !isPlaced(pod)) ? { hold: true } : {}),
      ...fabricOf(job),
    });
    return { job, id, podByRank, groupOf };
  });
  const places = new SharedPlaces(nodes);
  for (const { job, id, podByRank, groupOf } of staged) {
    const placed = podByRank.filter((pod) => isPlaced(job.podList[pod] as Pod));
    const [first] = placed;
    if (first === undefined) continue;
    const workers = placed.map((pod) => ({
      ...places.place(job, job.podList[pod] as Pod),
      ...(groupOf === null ? {} : { taskGroup: groupOf(pod) }),
    }));
    const [type = GPU] = requestOf(job, job.podList[first] as Pod).types;
    stage.run(id, type, workers);
    const kept = placed.filter((pod) => isRunning(job.podList[pod] as Pod)).length;
    const stays = job.deleteJobInTest === true || job.deletedInTest === true;
    if (kept < placed.length) stage.terminate(id, workers, { kept, stays });
  }
  return staged;
}

/**
 * Accelerator types that fit: the requested MIG profiles, else GPUs. Fractions cannot use GPUs under the strategy
 * `single`.
 */
function typesFor(gang: GangSpec, profiles: readonly string[]): readonly string[] {
  if (profiles.length > 0) return profiles;
  return gang.shareMilli === undefined && gang.acceleratorMemoryMib === undefined ? [GPU, SINGLE] : [GPU];
}

interface PodRequest {
  readonly accelerators: number;
  readonly shareMilli?: number;
  readonly acceleratorMemoryMib?: number;
  /** The profile of the requested MIG instances; empty: none. */
  readonly types: readonly string[];
}

function requestOf(job: Job, pod: Pod): PodRequest {
  const instances = Object.entries({ ...instancesOf(job), ...instancesOf(pod) }).filter(([, count]) => count > 0);
  const [first, second] = instances;
  if (second !== undefined) throw new Error(`a pod of ${job.name} has MIG instances of two profiles`);
  if (first !== undefined) return { accelerators: first[1] * gpusOfInstance(first[0]), types: [first[0]] };
  const memory = job.gpuMemoryMiBPerPod ?? 0;
  if (memory > 0) return { accelerators: 1, acceleratorMemoryMib: memory, types: [] };
  const gpus = pod.gpusPerPod ?? pod.gpus ?? job.gpusPerPod ?? 0;
  return gpus > 0 && gpus < 1
    ? { accelerators: 1, shareMilli: Math.round(gpus * 1000), types: [] }
    : { accelerators: gpus, types: [] };
}

/**
 * The gang of a job. Pods with different requests become task groups, in the order in which KAI starts pods. `groupOf`:
 * the group of a pod by its position in the list.
 */
function gangOf(job: Job, podByRank: readonly number[], memoryUnit: number) {
  const amounts = {
    coresMilli: (job.cpuMillisPerPod ?? 1) * 1000,
    memoryMib: Math.floor((job.memoryPerPod ?? POD_BYTES) / memoryUnit),
  };
  const requests = job.podList.map((pod) => requestOf(job, pod));
  const kinds = [...new Set(podByRank.map((pod) => JSON.stringify(requests[pod])))];
  const kindOf = (pod: number): number => kinds.indexOf(JSON.stringify(requests[pod]));
  const shapeOf = ({ types: _types, ...request }: PodRequest) => ({ ...request, ...amounts });
  const elastic = job.gangMin < job.pods ? { minWorkers: job.gangMin } : {};
  if (kinds.length === 1)
    return { gang: { workers: job.pods, ...shapeOf(requests[0] as PodRequest), ...elastic }, groupOf: null };
  const taskGroups = kinds.map((_, group) => {
    const own = podByRank.filter((pod) => kindOf(pod) === group);
    const least = podByRank.slice(0, job.gangMin).filter((pod) => kindOf(pod) === group).length;
    const request = requests[own[0] as number] as PodRequest;
    return {
      name: `kind-${group}`,
      workers: own.length,
      ...(least < own.length ? { minWorkers: least } : {}),
      ...(request.types.length > 0 ? { acceleratorTypes: request.types } : {}),
      ...shapeOf(request),
    };
  });
  return { gang: gangOfGroups(taskGroups), groupOf: kindOf };
}

function fabricOf({ topologyConstraint }: Job) {
  if (topologyConstraint === undefined) return {};
  const { required, preferred } = topologyConstraint;
  return {
    fabric: { ...(required == null ? {} : { within: required }), ...(preferred == null ? {} : { prefer: preferred }) },
  };
}

const isRunning = ({ state, node }: Pod): boolean => state === "Running" && node !== undefined;
const isReleasing = ({ state, node }: Pod): boolean => state === "Releasing" && node !== undefined;
const isPlaced = (pod: Pod): boolean => isRunning(pod) || isReleasing(pod);

/**
 * Positions of pods in rank order: running pods, terminating pods, then all others in the order in which KAI starts
 * them.
 */
function ranksOf({ podList }: Job): readonly number[] {
  const order = (pod: Pod): number => pod.taskOrder ?? Number.NEGATIVE_INFINITY;
  return podList
    .map((pod, index) => ({ pod, index }))
    .toSorted(
      (left, right) =>
        Number(isRunning(right.pod)) - Number(isRunning(left.pod)) ||
        Number(isReleasing(right.pod)) - Number(isReleasing(left.pod)) ||
        (order(right.pod) === order(left.pod) ? 0 : order(right.pod) - order(left.pod)) ||
        left.index - right.index,
    )
    .map(({ index }) => index);
}

/**
 * Accelerators of running pods. Fractions with the same index on a node share an accelerator; others fill one after
 * another.
 */
class SharedPlaces {
  readonly #nodes = new Map<
    string,
    { next: number; readonly rooms: Map<number, number>; readonly named: Map<string, number> }
  >();

  readonly #memories: ReadonlyMap<string, number>;

  constructor(nodes: readonly Node[]) {
    this.#memories = new Map(nodes.map(({ name, gpuMemoryMiB = GPU_MEMORY_MIB }) => [name, gpuMemoryMiB]));
  }

  place(job: Job, pod: Pod): StagedWorker {
    const { accelerators, shareMilli, acceleratorMemoryMib: memory, types } = requestOf(job, pod);
    const [profile] = types;
    const host = pod.node as string;
    const node = profile === undefined ? host : migNode(host, profile);
    let state = this.#nodes.get(node);
    if (state === undefined) {
      state = { next: 0, rooms: new Map(), named: new Map() };
      this.#nodes.set(node, state);
    }
    if (accelerators === 0) return { node, accelerators: "" };
    const milli =
      memory === undefined ? shareMilli : Math.ceil((memory * 1000) / (this.#memories.get(host) ?? GPU_MEMORY_MIB));
    if (milli === undefined) {
      const first = state.next;
      state.next += accelerators;
      return { node, accelerators: acceleratorsFrom(first, accelerators) };
    }
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
    return { node, accelerators: `${index}`, ...(memory === undefined ? {} : { shareMilli: milli }) };
  }
}

/** Outcomes of a pod that runs, or that starts without an eviction. */
const RUNNING = new Set(["placed", "keeps-running", "relocated-later", "per-pod: all pods reach Running"]);
const WAITING = new Set(["stays-pending", "evicted", "per-pod: all pods reach Pending"]);

function compare(stage: Stage, world: KaiScenario, staged: readonly StagedJob[]): string[] {
  const differences: string[] = [];
  const isTransitional = world.mode === "single-action";
  for (const staging of staged) {
    const { job, podByRank } = staging;
    const pods = podStates(stage, staging);
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

/** States of pods by rank. If pods have different requests, a state belongs to a pod of the same task group. */
function podStates(stage: Stage, { id, podByRank, groupOf }: StagedJob): readonly PodState[] {
  const attempt = stage.attempt(id);
  const promise = [...stage.engine.state.nominations.values()].find(({ workloadId }) => workloadId === id);
  const stateOf =
    (state: PodState["state"]) =>
    ({ node, taskGroup = 0 }: WorkerAllocation): PodState & { readonly taskGroup: number } => ({
      state,
      node: nodeOf(node),
      taskGroup,
    });
  const placed = [
    ...(attempt?.workers ?? []).map(stateOf("running")),
    ...(promise?.workers ?? []).map(stateOf("nominated")),
  ];
  return podByRank.map((pod) => {
    const at = groupOf === null ? 0 : placed.findIndex(({ taskGroup }) => taskGroup === groupOf(pod));
    const [state = { state: "waiting", node: null } as const] = at < 0 ? [] : placed.splice(at, 1);
    return state;
  });
}

/** The expected state of a pod: from the scenario's outcome, else from its status in KAI; `null`: not stated. */
function stateExpected({ outcome, sourceStatus = "" }: Expectation): PodState["state"] | null {
  if (outcome === undefined) return null;
  if (RUNNING.has(outcome)) return "running";
  if (WAITING.has(outcome) || /releas|terminat/i.test(outcome)) return "waiting";
  return sourceStatus === "Releasing" || sourceStatus === "Pending" ? "waiting" : "nominated";
}

function difference(expected: Expectation, pod: PodState, isTransitional: boolean): string | null {
  const { outcome, node } = expected;
  const state = stateExpected(expected);
  if (state === null) return null;
  const found = `${pod.state}${pod.node === null ? "" : ` on ${pod.node}`}`;
  // Between rounds, a nominated pod counts as waiting.
  const seen = !isTransitional && pod.state === "nominated" ? "waiting" : pod.state;
  if (seen !== state && !(outcome === "relocated-later" && pod.state === "nominated"))
    return `expected ${outcome}, is ${found}`;
  if (node !== undefined && state !== "waiting" && pod.node !== node)
    return `expected ${outcome} on ${node}, is ${found}`;
  return null;
}
