/**
 * Plays Kueue's selections of victims, with and without fair sharing, and compares the exact victims of the incoming
 * workload and the preemption ground.
 */
import { gangOfGroups, presets } from "@headroom/model";
import type { PreemptionGround, Policy, TeamPreemption } from "@headroom/model";
import type { Scenario } from "../scenario-file.ts";
import { Stage, acceleratorsFrom } from "../stage.ts";

type Quotas = Readonly<Record<string, number>>;
/** `null`: unlimited. */
type StatedQuotas = Readonly<Record<string, number | null>>;
interface Queue {
  readonly name: string;
  readonly parent: string | null;
  readonly quota?: number | null;
  readonly limit?: number | null;
  readonly lendingLimit?: number | null;
  readonly quotaByFlavor?: StatedQuotas;
  readonly limitByFlavor?: StatedQuotas;
  readonly lendingLimitByFlavor?: StatedQuotas;
  readonly weight?: number | null;
  readonly preemptionPolicy?: {
    readonly withinClusterQueue?: string;
    readonly reclaimWithinCohort?: string;
    readonly borrowWithinCohort?: { readonly policy?: string; readonly maxPriorityThreshold?: number };
  };
}
interface Job {
  readonly name: string;
  readonly queue: string;
  readonly priority: number;
  readonly pods: number;
  /** GPUs of each pod; absent: the job states amounts for each flavor. */
  readonly gpusPerPod?: number;
  readonly flavor?: string;
  readonly [field: string]: unknown;
}
interface QuotaScenario extends Scenario {
  readonly queues: readonly Queue[];
  readonly runningJobs: readonly Job[];
  readonly pendingJobs: readonly Job[];
  /** The flavor that the incoming workload gets. */
  readonly assignmentFlavor?: string;
  readonly fairSharingStrategies?: readonly string[];
  readonly expected: { readonly victims: Readonly<Record<string, string>>; readonly incomingCanProceed?: boolean };
}

const reasons: Readonly<Record<PreemptionGround, string>> = {
  withinTeam: "InClusterQueue",
  reclaimGuarantee: "InCohortReclamation",
  reclaimShare: "InCohortFairSharing",
  reclaimWhileBorrowing: "InCohortReclaimWhileBorrowing",
};
const FLAVOR = "default";

export function playKueueQuota(scenario: Scenario): string[] {
  const world = scenario as QuotaScenario;
  const stage = new Stage(policyFor(world));
  const jobs = [...world.runningJobs, ...world.pendingJobs];
  const unit = unitOf(world);
  const flavors = [
    ...new Set([
      FLAVOR,
      ...world.queues.flatMap((queue) => Object.keys(queue.quotaByFlavor ?? {})),
      ...jobs.flatMap((job) => [...requestsOf(world, job).keys()]),
    ]),
  ];
  // Capacity of each flavor: one node with twice the requests of all jobs, so that only quotas limit placement.
  const total = 2 * jobs.reduce((sum, job) => sum + job.pods * Math.max(...requestsOf(world, job).values()) * unit, 0);
  for (const flavor of flavors)
    stage.addNode({ name: `node-${flavor}`, acceleratorType: flavor, acceleratorCount: Math.ceil(total) });
  for (const queue of declared(world.queues)) stage.addTeam(teamOf(queue, unit));
  const next = new Map<string, number>();
  const names = new Map<string, string>();
  for (const job of jobs) {
    const isRunning = world.runningJobs.includes(job);
    const requests = [...requestsOf(world, job)].map(([flavor, amount]) => ({
      flavor,
      shape: { accelerators: Math.round(amount * unit), coresMilli: 0, memoryMib: 0 },
    }));
    const [first = { flavor: FLAVOR, shape: { accelerators: 0, coresMilli: 0, memoryMib: 0 } }] = requests;
    const taskGroups = requests.map(({ flavor, shape }) => ({
      name: flavor,
      workers: job.pods,
      acceleratorTypes: [flavor],
      ...shape,
    }));
    const id = stage.submit({
      name: job.name,
      team: job.queue,
      priority: job.priority,
      acceleratorTypes: requests.length === 1 && flavors.length > 1 ? [first.flavor] : [],
      gang: requests.length > 1 ? gangOfGroups(taskGroups) : { workers: job.pods, ...first.shape },
    });
    names.set(id, job.name);
    if (!isRunning) continue;
    const workers = requests.flatMap(({ flavor, shape: { accelerators } }, taskGroup) =>
      Array.from({ length: job.pods }, () => {
        const from = next.get(flavor) ?? 0;
        next.set(flavor, from + accelerators);
        const place = { node: `node-${flavor}`, accelerators: acceleratorsFrom(from, accelerators) };
        return requests.length > 1 ? { ...place, taskGroup } : place;
      }),
    );
    stage.run(id, first.flavor, workers);
  }
  return compare(stage, world, names);
}

/** Requests of one pod by flavor: an amount of the job's flavor, or the amounts that the job states for each flavor. */
function requestsOf({ assignmentFlavor, runningJobs }: QuotaScenario, job: Job): ReadonlyMap<string, number> {
  const isAmounts = (value: unknown): value is Quotas =>
    typeof value === "object" &&
    value !== null &&
    Object.values(value).length > 0 &&
    Object.values(value).every((amount) => typeof amount === "number");
  const byFlavor = Object.values(job).find(isAmounts);
  if (byFlavor !== undefined) return new Map(Object.entries(byFlavor).filter(([, amount]) => amount > 0));
  const assigned = runningJobs.includes(job) ? undefined : assignmentFlavor;
  return new Map([[job.flavor ?? assigned ?? FLAVOR, job.gpusPerPod ?? 1]]);
}

function policyFor({ dialect, fairSharingStrategies }: QuotaScenario): Policy {
  if (dialect === "kueue-classic-hierarchical") return presets.get("kueue-classic") as Policy;
  const policy = presets.get("kueue-fair-sharing") as Policy;
  if (fairSharingStrategies === undefined) return policy;
  const [first, second] = fairSharingStrategies.map((name) => name === "LessThanInitialShare");
  if (first === true) return { ...policy, strategy: "kueue-fair-sharing-initial" };
  return second === true ? policy : { ...policy, strategy: "kueue-fair-sharing-final" };
}

/** Adds parents that are not declared as queues: roots without a quota. */
function declared(queues: readonly Queue[]): readonly Queue[] {
  const names = new Set(queues.map(({ name }) => name));
  const missing = new Set(queues.flatMap(({ parent }) => (parent !== null && !names.has(parent) ? [parent] : [])));
  return [...[...missing].map((name): Queue => ({ name, parent: null, quota: 0 })), ...queues];
}

/** Largest amount that is played with one accelerator for each unit. */
const AMOUNT_MAX = 100_000;

/** Greatest common divisor; fractions have the divisor 1. */
function commonDivisor(left: number, right: number): number {
  if (!Number.isInteger(left) || !Number.isInteger(right)) return 1;
  return right === 0 ? left : commonDivisor(right, left % right);
}

/** Number of accelerators for each unit of the scenario, chosen so that every amount is a whole number. */
function unitOf(world: QuotaScenario): number {
  const { queues, runningJobs, pendingJobs } = world;
  const byFlavor = queues.flatMap((queue) => [queue.quotaByFlavor, queue.limitByFlavor, queue.lendingLimitByFlavor]);
  const amounts = [
    ...[...runningJobs, ...pendingJobs].flatMap((job) => [...requestsOf(world, job).values()]),
    ...queues.flatMap(({ quota, limit, lendingLimit }) => [quota ?? 0, limit ?? 0, lendingLimit ?? 0]),
    ...byFlavor.flatMap((amounts_ = {}) => Object.values(amounts_).map((amount) => amount ?? 0)),
  ];
  // A quota of memory is stated in bytes. Its common unit stands for one accelerator, so that 4 GiB are not 4 billion.
  const common = amounts.filter((amount) => amount > 0).reduce(commonDivisor, 0);
  const isLarge = amounts.some((amount) => amount > AMOUNT_MAX);
  if (isLarge && Math.max(...amounts) / common <= AMOUNT_MAX) return 1 / common;
  if (isLarge)
    throw new Error(`an amount of the scenario is larger than ${AMOUNT_MAX} units: state it in larger units`);
  const isWhole = (unit: number): boolean => amounts.every((amount) => Number.isInteger(amount * unit));
  return [1, 2, 4, 5, 8, 10, 20, 25, 40, 50, 100, 1000].find(isWhole) ?? 1000;
}

/** The inverse of a large unit is rounded, so its products are too. */
const scaled = (amount: number, unit: number): number => (unit < 1 ? Math.round(amount * unit) : amount * unit);

function teamOf(queue: Queue, unit: number) {
  const amounts = (one: number | null | undefined, byFlavor: StatedQuotas | undefined): Quotas => {
    if (byFlavor !== undefined)
      return Object.fromEntries(
        Object.entries(byFlavor).flatMap(([name, amount]) => (amount == null ? [] : [[name, scaled(amount, unit)]])),
      );
    return one == null ? {} : { [FLAVOR]: scaled(one, unit) };
  };
  const { withinClusterQueue, reclaimWithinCohort, borrowWithinCohort } = queue.preemptionPolicy ?? {};
  const preemption: TeamPreemption = {
    within: withinClusterQueue === "LowerPriority" ? "lowerPriority" : "never",
    reclaim:
      reclaimWithinCohort === "Any" ? "any" : reclaimWithinCohort === "LowerPriority" ? "lowerPriority" : "never",
    ...(borrowWithinCohort === undefined || borrowWithinCohort.policy === "Never"
      ? {}
      : { whileBorrowing: { priorityMax: borrowWithinCohort.maxPriorityThreshold ?? Number.MAX_SAFE_INTEGER } }),
  };
  return {
    name: queue.name,
    parent: queue.parent,
    guarantee: amounts(queue.quota, queue.quotaByFlavor),
    borrowingLimit: beyond(amounts(queue.limit, queue.limitByFlavor), amounts(queue.quota, queue.quotaByFlavor)),
    lendingLimit: amounts(queue.lendingLimit, queue.lendingLimitByFlavor),
    weight: queue.weight ?? 1,
    preemption,
  };
}

/** Borrowing limits by flavor. The scenario states a limit as the sum of quota and borrowing limit. */
const beyond = (limits: Quotas, quotas: Quotas): Quotas =>
  Object.fromEntries(Object.entries(limits).map(([name, limit]) => [name, limit - (quotas[name] ?? 0)]));

function compare(stage: Stage, { expected, pendingJobs }: QuotaScenario, names: ReadonlyMap<string, string>): string[] {
  const victims: Record<string, string> = {};
  const proceeding = new Set<string>();
  for (const event of stage.round()) {
    if (event.kind === "gangPlaced") proceeding.add(event.workloadId);
    if (event.kind === "placementNominated") proceeding.add(event.nomination.workloadId);
    if (event.kind !== "evictionPlanned") continue;
    for (const { attemptId, ground } of event.victims)
      victims[names.get(attemptId.split(".")[0] as string) ?? attemptId] = ground === undefined ? "?" : reasons[ground];
  }
  const text = (record: Readonly<Record<string, string>>): string =>
    Object.entries(record)
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, reason]) => `${name}: ${reason}`)
      .join(", ");
  const differences: string[] = [];
  if (text(expected.victims) !== text(victims))
    differences.push(`victims: expected {${text(expected.victims)}}, got {${text(victims)}}`);
  const proceeds = proceeding.size === pendingJobs.length;
  if (expected.incomingCanProceed !== undefined && expected.incomingCanProceed !== proceeds)
    differences.push(
      `incoming can ${expected.incomingCanProceed ? "" : "not "}proceed, and ${proceeds ? "does" : "does not"}`,
    );
  return differences;
}
