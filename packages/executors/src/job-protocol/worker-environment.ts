/**
 * The environment of each worker. It contains variables of the user's session that programs need, then the workload's
 * variables, then Headroom's variables, which cannot be overridden. Variables of npm, Node and the control plane are
 * not inherited.
 */
import { acceleratorIndices, artifactTitle, groupAt, minWorkersOf, parseArtifactRef, shapeOf } from "@headroom/model";
import type { LaunchGang, WorkerAllocation } from "@headroom/model";
import path from "node:path";

/** Numbers of a worker's accelerators, as the vendor's runtime counts them. */
export interface VisibleDevices {
  readonly vendor: "nvidia" | "amd" | "none";
  readonly indices: readonly number[];
}

export interface AttemptPlace {
  readonly progressFile: string;
  /** Path of the checkpoint request; the file exists only after a request. */
  readonly checkpointRequestFile: string;
  readonly checkpointDir: string;
  /** Absent or `null`: the work finds its checkpoints itself, or has none. */
  readonly resume?: { readonly path: string; readonly step: number } | null;
  /** Environment of the control plane. A few of its variables are used. */
  readonly session: Readonly<Record<string, string | undefined>>;
  /** Devices by rank. */
  readonly devices: readonly VisibleDevices[];
}

type WorkerEnvironment = Record<string, string>;

const SESSION_NAMES = ["HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR"];
const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * Environments by rank. The supervisor adds `MASTER_PORT`, which it chooses at the last moment. `joinerNumber`
 * distinguishes workers that had the same rank one after another; 0: the worker was launched with the gang.
 */
export function workerEnvironments(
  launch: LaunchGang,
  place: AttemptPlace,
  joinerNumber: (rank: number) => number = () => 0,
): WorkerEnvironment[] {
  const session = sessionEnvironment(place.session);
  return launch.workers.map((_, rank) => ({
    ...session,
    MLFLOW_RUN_CONTEXT: runContext(launch),
    ...launch.spec.env,
    ...gangVariables(launch, rank),
    ...deviceVariables(place.devices[rank]),
    ...partVariables(launch, rank),
    HEADROOM_WORKLOAD_ID: launch.workloadId,
    HEADROOM_WORKLOAD_NAME: launch.spec.name,
    HEADROOM_ATTEMPT_ID: launch.attemptId,
    HEADROOM_WORKER_ID: `${launch.attemptId}/${rank}.${joinerNumber(rank)}`,
    HEADROOM_TASK_INDEX: String(launch.task),
    HEADROOM_CHECKPOINT_DIR: place.checkpointDir,
    HEADROOM_CHECKPOINT_REQUEST_FILE: place.checkpointRequestFile,
    HEADROOM_PROGRESS_FILE: place.progressFile,
    ...checkpointVariables(launch),
    ...resumeVariables(place),
    ...artifactVariables(launch),
  }));
}

/**
 * Tags that MLflow's Python client sets on the runs that it starts, so that a run names its workload and attempt. A
 * workload can set other ones.
 */
const runContext = ({ workloadId, attemptId }: LaunchGang): string =>
  JSON.stringify({ "headroom.workload_id": workloadId, "headroom.attempt_id": attemptId });

const checkpointVariables = ({ checkpointEveryMs }: LaunchGang): WorkerEnvironment =>
  checkpointEveryMs === undefined ? {} : { HEADROOM_CHECKPOINT_EVERY_SECONDS: String(checkpointEveryMs / 1_000) };

const resumeVariables = ({ resume }: AttemptPlace): WorkerEnvironment =>
  resume == null ? {} : { HEADROOM_RESUME_CHECKPOINT: resume.path, HEADROOM_RESUME_STEP: String(resume.step) };

/**
 * Variables with the locations of artifacts that the workload waited for: `HEADROOM_ARTIFACT_MODEL` for the artifact
 * `model`, and with `_VERSION` the id of a registered one. `MODEL_DIR` is the artifact that an endpoint serves.
 */
function artifactVariables({ artifacts = [], spec }: LaunchGang): WorkerEnvironment {
  const nameOf = (name: string): string => `HEADROOM_ARTIFACT_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}`;
  const served = spec.kind === "serve" ? parseArtifactRef(spec.servedModel ?? "") : null;
  const inputs = (spec.data?.inputs ?? []).map((input, position) => [`HEADROOM_INPUT_${position}`, input] as const);
  const model = served === null ? undefined : artifacts.find(({ name }) => name === artifactTitle(served));
  return {
    // Names of data sets that nothing brings to the node are no paths.
    ...Object.fromEntries(inputs.filter(([, input]) => path.isAbsolute(input))),
    ...Object.fromEntries(artifacts.map(({ name, path: at }) => [nameOf(name), at])),
    ...Object.fromEntries(
      artifacts.flatMap(({ name, version }) => (version === undefined ? [] : [[`${nameOf(name)}_VERSION`, version]])),
    ),
    ...(model === undefined ? {} : { MODEL_DIR: model.path }),
  };
}

/** npm puts the tools of a package in front of the PATH of its scripts. Workloads must not inherit them. */
function sessionEnvironment(from: AttemptPlace["session"]): WorkerEnvironment {
  const environment: WorkerEnvironment = {};
  for (const name of SESSION_NAMES) {
    const value = from[name];
    if (value !== undefined) environment[name] = value;
  }
  const entries = (from["PATH"] ?? DEFAULT_PATH).split(path.delimiter);
  const own = entries.filter((entry) => !/(^|\/)(node_modules\/\.bin|node-gyp-bin)\/?$/.test(entry));
  environment["PATH"] = own.length > 0 ? own.join(path.delimiter) : DEFAULT_PATH;
  return environment;
}

/**
 * The variables that torchrun reads and sets (pytorch.org/docs/stable/elastic/run.html). A worker is a process, or the
 * agent of one `torchrun --nnodes $NNODES --nproc-per-node $NPROC_PER_NODE --node-rank $NODE_RANK`.
 */
function gangVariables({ workers, spec }: LaunchGang, rank: number): WorkerEnvironment {
  const node = workers[rank]?.node;
  const localRank = workers.slice(0, rank).filter((worker) => worker.node === node).length;
  const localCount = workers.filter((worker) => worker.node === node).length;
  return {
    RANK: String(rank),
    WORLD_SIZE: String(workers.length),
    LOCAL_RANK: String(localRank),
    LOCAL_WORLD_SIZE: String(localCount),
    GROUP_RANK: String(rank),
    NODE_RANK: String(rank),
    NNODES: String(workers.length),
    NPROC_PER_NODE: String(Math.max(shapeOf(spec.gang, workers[rank] ?? {}).accelerators, 1)),
    MASTER_ADDR: "127.0.0.1",
    HEADROOM_WORKERS_MIN: String(minWorkersOf(spec.gang)),
    HEADROOM_WORKERS_MAX: String(spec.gang.workers),
    ...groupVariables(workers, spec, rank),
  };
}

/**
 * Variables for a gang with task groups: the worker's group, and its index within the group. Ranks are counted over all
 * groups.
 */
function groupVariables(workers: LaunchGang["workers"], { gang }: LaunchGang["spec"], rank: number): WorkerEnvironment {
  const group = workers[rank]?.taskGroup;
  if (group === undefined) return {};
  const isOwn = (worker: WorkerAllocation): boolean => worker.taskGroup === group;
  return {
    HEADROOM_GROUP: groupAt(gang, group).name,
    HEADROOM_GROUP_RANK: String(workers.slice(0, rank).filter(isOwn).length),
    HEADROOM_GROUP_SIZE: String(workers.filter(isOwn).length),
  };
}

/**
 * Without accelerators, an empty list hides all devices. CUDA numbers devices by speed, unless a variable tells it to
 * number them like nvidia-smi. On AMD, HIP also reads `CUDA_VISIBLE_DEVICES` and counts within the devices that ROCr has left
 * visible, so there the variable has positions instead of indices (rocm.docs.amd.com, "GPU isolation techniques").
 */
function deviceVariables(devices: VisibleDevices | undefined): WorkerEnvironment {
  const { vendor, indices } = devices ?? { vendor: "none", indices: [] };
  const listed = indices.join(",");
  const cuda = vendor === "amd" ? indices.map((_, position) => position).join(",") : listed;
  return { CUDA_DEVICE_ORDER: "PCI_BUS_ID", CUDA_VISIBLE_DEVICES: cuda, ROCR_VISIBLE_DEVICES: listed };
}

/**
 * The MIG slice of a worker. The start script of the worker can create the MIG instance at this position, so
 * `CUDA_VISIBLE_DEVICES` names the whole device.
 */
function partVariables({ workers, spec }: LaunchGang, rank: number): WorkerEnvironment {
  const worker = workers[rank];
  if (worker?.slice === undefined) return {};
  const { profile = "" } = shapeOf(spec.gang, worker);
  return { HEADROOM_ACCELERATOR_PROFILE: profile, HEADROOM_ACCELERATOR_SLICE: String(worker.slice) };
}

/**
 * The devices with the indices of an allocation. `deviceIndices`: the vendor's index of each accelerator of the node;
 * absent: 0, 1, 2, …
 */
export function visibleDevices(
  allocation: WorkerAllocation,
  node: { readonly vendor: VisibleDevices["vendor"]; readonly deviceIndices: readonly number[] } | null,
): VisibleDevices {
  const indices = acceleratorIndices(allocation.accelerators);
  if (node === null) return { vendor: "none", indices };
  return { vendor: node.vendor, indices: indices.map((index) => node.deviceIndices[index] ?? index) };
}
