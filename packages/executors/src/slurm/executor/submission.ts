/** The arguments of `sbatch` for a gang: exactly the nodes and amounts that were decided. */
import type { LaunchGang, NodeId, WorkerAllocation } from "@headroom/model";
import { acceleratorIndices, shapeOf } from "@headroom/model";
import type { GangPart } from "../../job-protocol/attempt-records.ts";
import type { FileOwner } from "../../job-protocol/untrusted-files.ts";
import { RefusedGang } from "../../job-protocol/refused-gang.ts";
import type { SlurmSettings } from "../settings.ts";
import type { ClusterNode } from "./cluster-nodes.ts";

/** The resources that the workers of a gang need on one node. */
export interface NodeShare {
  readonly node: ClusterNode;
  readonly ranks: readonly number[];
  readonly accelerators: number;
  readonly cores: number;
  readonly memoryMib: number;
}

/** The nodes of a gang, that of rank 0 first: the batch script runs there. */
export function sharesOf(launch: LaunchGang, nodes: ReadonlyMap<NodeId, ClusterNode>): readonly NodeShare[] {
  const ranksByNode = new Map<NodeId, number[]>();
  for (const [rank, { node }] of launch.workers.entries()) {
    const ranks = ranksByNode.get(node);
    if (ranks === undefined) ranksByNode.set(node, [rank]);
    else ranks.push(rank);
  }
  return [...ranksByNode].map(([id, ranks]) => {
    const node = nodes.get(id);
    if (node === undefined) throw new Error(`the node ${id} is not in the last inventory of the cluster`);
    return shareOf(launch, node, ranks);
  });
}

function shareOf(launch: LaunchGang, node: ClusterNode, ranks: readonly number[]): NodeShare {
  let [accelerators, coresMilli, memoryMib] = [0, 0, 0];
  for (const rank of ranks) {
    const worker = launch.workers[rank];
    if (worker === undefined) continue;
    const shape = shapeOf(launch.spec.gang, worker);
    refuseParts(worker, shape);
    const count = acceleratorIndices(worker.accelerators).length;
    accelerators += count;
    coresMilli += shape.coresMilli > 0 ? shape.coresMilli : proportional(node.spec.coresMilli, count, node);
    memoryMib += shape.memoryMib > 0 ? shape.memoryMib : proportional(node.spec.memoryMib, count, node);
  }
  const cores = Math.min(
    Math.max(Math.ceil(coresMilli / 1_000), 1),
    Math.max(Math.floor(node.spec.coresMilli / 1_000), 1),
  );
  return {
    node,
    ranks,
    accelerators,
    cores,
    memoryMib: Math.min(Math.max(memoryMib, 1), Math.max(node.spec.memoryMib, 1)),
  };
}

/** Slurm would need `gres/shard` or MIG devices of its own for parts of accelerators. */
function refuseParts({ slice, shareMilli }: WorkerAllocation, shape: ReturnType<typeof shapeOf>): void {
  if (slice !== undefined || shareMilli !== undefined || shape.shareMilli !== undefined)
    throw new RefusedGang("Slurm gives out whole accelerators; request whole ones for this pool");
}

/**
 * Amount of a worker that requested none: its part of the node by accelerators. Slurm would otherwise give it one core, and all
 * memory of the node. A worker without accelerators gets one sixteenth.
 */
function proportional(amount: number, accelerators: number, { spec }: ClusterNode): number {
  const part = spec.acceleratorCount > 0 && accelerators > 0 ? accelerators / spec.acceleratorCount : 1 / 16;
  return Math.floor(amount * part);
}

export const partsOfShares = (shares: readonly NodeShare[]): readonly GangPart[] =>
  shares.map(({ node, ranks, accelerators, cores, memoryMib }) => ({
    node: node.name,
    ranks,
    amounts: { accelerators, cores, memoryMib },
  }));

/** The user and the account of a job. */
export interface SubmissionUser {
  /** `null`: the user of the control plane. */
  readonly runAs: FileOwner | null;
  /** Absent: the default account of the user. */
  readonly account?: string | undefined;
}

export interface SubmissionNames {
  readonly jobName: string;
  readonly comment: string;
  /** File for what the supervisors print. */
  readonly outputFile: string;
  readonly script: string;
  readonly scriptArgs: readonly string[];
}

/**
 * Nodes with equal shares form a component; several components form a heterogeneous job
 * (slurm.schedmd.com/heterogeneous_jobs.html). The first component has the node of rank 0 first.
 */
export function submissionArgs(
  launch: LaunchGang,
  shares: readonly NodeShare[],
  names: SubmissionNames,
  settings: SlurmSettings,
  { runAs, account }: SubmissionUser,
): readonly string[] {
  const components = [...Map.groupBy(shares, shapeKey).values()];
  const shared = [
    `--job-name=${names.jobName}`,
    `--comment=${names.comment}`,
    "--no-requeue",
    "--chdir=/",
    "--open-mode=append",
    `--output=${names.outputFile}`,
    ...optional("account", account),
    ...(runAs === null ? [] : [`--uid=${runAs.uid}`, `--gid=${runAs.gid}`]),
    ...optional("qos", settings.qos),
    ...optional("reservation", settings.reservation),
    ...optional("constraint", settings.constraint),
    ...timeLimit(launch, settings),
  ];
  const options = components.flatMap((component, index) => [
    ...(index > 0 ? [":"] : []),
    ...shared,
    ...componentArgs(component),
  ]);
  return ["--parsable", ...options, names.script, ...names.scriptArgs];
}

function componentArgs(component: readonly NodeShare[]): readonly string[] {
  const [first] = component;
  if (first === undefined) return [];
  const { node, accelerators, cores, memoryMib } = first;
  const gres = node.gresType === null ? `gpu:${accelerators}` : `gpu:${node.gresType}:${accelerators}`;
  return [
    `--partition=${node.partition}`,
    `--nodelist=${component.map((each) => each.node.name).join(",")}`,
    `--nodes=${component.length}`,
    `--ntasks=${component.length}`,
    "--ntasks-per-node=1",
    `--cpus-per-task=${cores}`,
    `--mem=${memoryMib}M`,
    ...(accelerators > 0 ? [`--gres=${gres}`] : []),
  ];
}

const shapeKey = ({ node, accelerators, cores, memoryMib }: NodeShare): string =>
  JSON.stringify([node.partition, node.gresType, accelerators, cores, memoryMib]);

const optional = (name: string, value: string | undefined): readonly string[] =>
  value === undefined ? [] : [`--${name}=${value}`];

/** Headroom ends a workload at its walltime; Slurm's limit comes after its grace period, should Headroom be away. */
function timeLimit({ spec }: LaunchGang, { timeLimitMinutes }: SlurmSettings): readonly string[] {
  if (spec.walltimeMs === null) return timeLimitMinutes === undefined ? [] : [`--time=${timeLimitMinutes}`];
  return [`--time=${Math.ceil((spec.walltimeMs + spec.graceTimeoutMs) / 60_000) + TIME_SLACK_MINUTES}`];
}

const TIME_SLACK_MINUTES = 10;
