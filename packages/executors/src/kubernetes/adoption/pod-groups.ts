/**
 * Pods of others as workloads: groups of pods that start together or not at all. Pure. A group is known by the labels and annotations with
 * which schedulers and job controllers name it; a pod without any is a group of its own. Requests that Headroom cannot honour are refused.
 */
import { createHash } from "node:crypto";
import { teamName } from "@headroom/model";
import type { TaskGroup, WorkerShape, WorkloadSpec } from "@headroom/model";
import { ADOPTED_WORK_VARIABLE } from "../../adoption.ts";
import type { ContainerSpec, KubernetesPod } from "../api/objects.ts";
import { ADOPTED_LABEL, ATTEMPT_LABEL, SCHEDULER_NAME } from "../executor/pod-names.ts";
import { teamOfNamespace } from "../executor/submitter-names.ts";
import { EXECUTOR_LABEL } from "../fleet/executor-label.ts";
import { requestedOf } from "../fleet/foreign-use.ts";
import type { GroupObjectState } from "./group-objects.ts";
import type { KubernetesSettings } from "../settings.ts";

interface GroupName {
  readonly label?: string;
  readonly annotation?: string;
  /** Resources of the object that has this name, the newest version first. Absent: none is read. */
  readonly objects?: readonly string[];
}

const COSCHEDULING: readonly string[] = [
  "scheduling.x-k8s.io/v1alpha1 podgroups",
  "scheduling.sigs.k8s.io/v1alpha1 podgroups",
];
const VOLCANO: readonly string[] = ["scheduling.volcano.sh/v1beta1 podgroups"];

/**
 * Names of groups, most specific first: the coscheduling plugin, Volcano, KAI, Kueue, JobSet, Kubeflow's operators, Ray, Job.
 * `label`: a label; otherwise an annotation.
 */
const GROUP_NAMES: readonly GroupName[] = [
  { label: "pod-group.scheduling.sigs.k8s.io", objects: COSCHEDULING },
  { label: "pod-group.scheduling.sigs.k8s.io/name", objects: COSCHEDULING },
  { label: "scheduling.x-k8s.io/pod-group", objects: COSCHEDULING },
  { annotation: "scheduling.k8s.io/group-name", objects: VOLCANO },
  { annotation: "scheduling.volcano.sh/group-name", objects: VOLCANO },
  { annotation: "pod-group-name", objects: ["scheduling.run.ai/v2alpha2 podgroups"] },
  { label: "kueue.x-k8s.io/pod-group-name" },
  { label: "jobset.sigs.k8s.io/jobset-name", objects: ["jobset.x-k8s.io/v1alpha2 jobsets"] },
  { label: "training.kubeflow.org/job-name" },
  { label: "ray.io/cluster" },
  { label: "batch.kubernetes.io/job-name" },
  { label: "job-name" },
];

/** Labels and annotations that state how many pods a group has at least. Without one, the pods that exist are the group. */
const GROUP_SIZES: readonly string[] = [
  "headroom.dev/pod-group-size",
  "kueue.x-k8s.io/pod-group-total-count",
  "pod-group.scheduling.sigs.k8s.io/min-available",
];

/** As for the task groups of a workload (`GROUPS_MAX` of the resource schema). */
const SHAPES_MAX = 8;
/** Pods of a group; larger ones would hold up the API server. */
const PODS_MAX = 1_024;
/** Kubernetes' default (`terminationGracePeriodSeconds`). */
const GRACE_S = 30;
const NAME_MAX = 63;
const KEY_CHARS = 24;

export interface Member {
  readonly name: string;
  readonly uid: string;
  /** Container whose log is that of the worker. */
  readonly container: string;
  readonly shape: WorkerShape;
  /** Resource with which the pod requests accelerators; `null`: it requests none. */
  readonly resource: string | null;
}

export interface PodGroup {
  readonly key: string;
  /** `groupKeyOf` its pods. */
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  /** In the order of the workload's task groups, then by name. */
  readonly members: readonly Member[];
  readonly actor: string;
  readonly spec: WorkloadSpec;
}

export type GroupReading =
  | { readonly kind: "group"; readonly group: PodGroup }
  /** Its owner must change something. */
  | { readonly kind: "refused"; readonly reason: string }
  /** More pods must come first. */
  | { readonly kind: "incomplete"; readonly reason: string };

/** Facts about the cluster beside the pods. */
export interface GroupContext {
  readonly executor: string;
  readonly settings: Pick<
    KubernetesSettings,
    "namespace" | "namespaces" | "adoptTeams" | "adoptPriorities" | "nodeLabels" | "fabricLabels"
  >;
  /** Accelerator types of the nodes by the resource that pods request. */
  readonly types: ReadonlyMap<string, ReadonlySet<string>>;
  /** The object of the group: `PodGroup` or `JobSet`. */
  readonly object: GroupObjectState;
}

/** Whether a pod of others waits for Headroom to place it. */
export const waitsForUs = ({ metadata, spec, status }: KubernetesPod): boolean =>
  spec?.schedulerName === SCHEDULER_NAME &&
  spec.nodeName === undefined &&
  metadata.deletionTimestamp === undefined &&
  (status?.phase ?? "Pending") === "Pending" &&
  (spec.schedulingGates ?? []).length === 0 &&
  !isCreatedByUs(metadata.labels);

/** Pods that an executor created carry an attempt, and no mark of adoption. */
const isCreatedByUs = (labels: Readonly<Record<string, string>> = {}): boolean =>
  labels[ATTEMPT_LABEL] !== undefined && labels[ADOPTED_LABEL] === undefined;

/** Namespace and name of the pod's group. */
export function groupKeyOf(pod: KubernetesPod): string {
  const { namespace = "", name } = pod.metadata;
  return `${namespace}/${statedGroup(pod)?.name ?? `pod:${name}`}`;
}

/** Paths at which the object of the pod's group may be; empty: nothing names one. */
export function groupObjectPaths(pod: KubernetesPod): readonly string[] {
  const namespace = encodeURIComponent(pod.metadata.namespace ?? "");
  const { name, objects } = statedGroup(pod) ?? { name: "", objects: [] };
  return objects.map((object) => {
    const [api, resource] = object.split(" ");
    return `/apis/${api}/namespaces/${namespace}/${resource}/${encodeURIComponent(name)}`;
  });
}

function statedGroup({
  metadata: { labels = {}, annotations = {} },
}: KubernetesPod): { readonly name: string; readonly objects: readonly string[] } | null {
  for (const { label, annotation, objects = [] } of GROUP_NAMES) {
    const name = label === undefined ? annotations[annotation ?? ""] : labels[label];
    if (name !== undefined && name !== "") return { name, objects };
  }
  return null;
}

/** `waiting`: pods of one group without a node; `startedCount`: further pods of the group that have a node and have not ended. */
export function readGroup(
  waiting: readonly KubernetesPod[],
  startedCount: number,
  context: GroupContext,
): GroupReading {
  const [first] = waiting;
  if (first === undefined) return { kind: "incomplete", reason: "it has no pods" };
  const namespace = first.metadata.namespace ?? "";
  const team = teamOfNamespace(namespace, context.settings);
  if (team === null)
    return refused(
      `the namespace ${namespace} is that of no team. Add it to adoptTeams of the executor ${context.executor}`,
    );
  const { object } = context;
  if (object === "unread") return { kind: "incomplete", reason: "the object of its group was not read yet" };
  const size = Math.max(object?.minMember ?? 0, ...waiting.map(statedSize));
  const count = waiting.length + startedCount;
  if (count < size) return { kind: "incomplete", reason: `${count} of ${size} pods of its group exist` };
  if (waiting.length > PODS_MAX)
    return refused(`its group has ${waiting.length} pods; at most ${PODS_MAX} are placed together`);
  const problem =
    waiting.map((pod) => problemOf(pod, context)).find((each) => each !== null) ?? selectorProblem(waiting);
  if (problem !== null) return refused(problem);
  return groupOf(waiting, { namespace, team }, context);
}

const refused = (reason: string): GroupReading => ({ kind: "refused", reason });

function statedSize({ metadata: { labels = {}, annotations = {} } }: KubernetesPod): number {
  const stated = GROUP_SIZES.map((name) => Number(annotations[name] ?? labels[name])).find(Number.isSafeInteger);
  return stated ?? 0;
}

/** `null`: Headroom can place the pod as it demands. */
function problemOf({ metadata, spec }: KubernetesPod, { settings }: GroupContext): string | null {
  const known = new Set([...settings.nodeLabels, ...settings.fabricLabels, "kubernetes.io/hostname"]);
  const selected = Object.keys(spec?.nodeSelector ?? {}).find((label) => !known.has(label));
  if (selected !== undefined)
    return `the pod ${metadata.name} selects nodes by ${selected}, which is none of nodeLabels of the executor. Add it there`;
  if (Array.isArray(spec?.resourceClaims) && spec.resourceClaims.length > 0)
    return `the pod ${metadata.name} has resourceClaims (DRA), which are not honoured. Request the accelerators as resources`;
  if (requires(spec?.affinity))
    return `the pod ${metadata.name} has required affinity, which is not honoured. Use nodeSelector`;
  const spreads = Array.isArray(spec?.topologySpreadConstraints) ? spec.topologySpreadConstraints : [];
  if (spreads.some((each) => each?.whenUnsatisfiable !== "ScheduleAnyway"))
    return `the pod ${metadata.name} has topologySpreadConstraints, which are not honoured. Use ScheduleAnyway`;
  return null;
}

/** Whether an affinity has rules that a scheduler must keep (`requiredDuringSchedulingIgnoredDuringExecution`). */
function requires(affinity: unknown): boolean {
  if (typeof affinity !== "object" || affinity === null) return false;
  return Object.values(affinity).some(
    (kind: unknown) =>
      typeof kind === "object" && kind !== null && "requiredDuringSchedulingIgnoredDuringExecution" in kind,
  );
}

function selectorProblem(pods: readonly KubernetesPod[]): string | null {
  const byName = ([a]: [string, string], [b]: [string, string]): number => (a < b ? -1 : 1);
  const texts = new Set(
    pods.map(({ spec }) => JSON.stringify(Object.entries(spec?.nodeSelector ?? {}).toSorted(byName))),
  );
  return texts.size > 1 ? "the pods of its group select different nodes. Give all of them one nodeSelector" : null;
}

interface Owner {
  readonly namespace: string;
  readonly team: string;
}

function groupOf(waiting: readonly KubernetesPod[], owner: Owner, context: GroupContext): GroupReading {
  const read: Member[] = [];
  for (const pod of waiting) {
    const member = memberOf(pod, context.types);
    if (typeof member === "string") return refused(member);
    read.push(member);
  }
  const shapes = new Map<string, Member[]>();
  for (const member of read.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const text = JSON.stringify([member.shape, member.resource]);
    shapes.set(text, [...(shapes.get(text) ?? []), member]);
  }
  if (shapes.size > SHAPES_MAX)
    return refused(
      `the pods of its group have ${shapes.size} different requests; at most ${SHAPES_MAX} are placed together`,
    );
  const members = [...shapes.values()].flat();
  const uids = members.map(({ uid }) => uid).toSorted();
  const hash = createHash("sha256")
    .update(JSON.stringify([context.executor, owner.namespace, uids]))
    .digest("hex");
  const key = `${context.executor}:${hash.slice(0, KEY_CHARS)}`;
  const [first] = waiting;
  const id = first === undefined ? "" : groupKeyOf(first);
  const name = nameOf(id);
  const parts = { key, name, ...owner, groups: [...shapes.values()], pods: waiting };
  const spec = specOf(parts, context);
  return {
    kind: "group",
    group: { key, id, namespace: owner.namespace, name, members, actor: actorOf(owner.namespace), spec },
  };
}

/** The user of workloads that stand for pods: who created a pod is not in its object. */
const actorOf = (namespace: string): string => `kubernetes:${namespace}`;

/** A text: why the pod is refused. */
function memberOf(pod: KubernetesPod, types: GroupContext["types"]): Member | string {
  const { metadata, spec } = pod;
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  const devices = [...new Set(containers.flatMap(extendedResources))].filter((name) => requestedOf(pod, name) > 0);
  const unknown = devices.find((name) => !types.has(name));
  if (unknown !== undefined)
    return `the pod ${metadata.name} requests ${unknown}, which is the accelerator of no node. List it in accelerators of the executor if nodes have it`;
  const [resource = null, second] = devices;
  if (second !== undefined)
    return `the pod ${metadata.name} requests ${resource} and ${second}; one kind of accelerator is placed`;
  const container = spec?.containers?.find(({ resources }) =>
    resource === null
      ? true
      : resources?.requests?.[resource] !== undefined || resources?.limits?.[resource] !== undefined,
  );
  return {
    name: metadata.name,
    uid: metadata.uid ?? "",
    container: (container ?? spec?.containers?.[0])?.name ?? "",
    shape: {
      accelerators: resource === null ? 0 : Math.ceil(requestedOf(pod, resource)),
      coresMilli: Math.ceil(1_000 * requestedOf(pod, "cpu") - 1e-6),
      memoryMib: Math.ceil(requestedOf(pod, "memory") / 2 ** 20 - 1e-6),
    },
    resource,
  };
}

/** Resources other than those of Kubernetes itself have a domain (kubernetes.io/docs, "Extended resources"). */
const extendedResources = ({ resources }: ContainerSpec): readonly string[] =>
  Object.keys({ ...resources?.requests, ...resources?.limits }).filter((name) => name.includes("/"));

interface SpecParts extends Owner {
  readonly key: string;
  readonly name: string;
  readonly groups: readonly (readonly Member[])[];
  readonly pods: readonly KubernetesPod[];
}

function specOf(
  { key, name, namespace, team, groups, pods }: SpecParts,
  { executor, types, settings, object }: GroupContext,
): WorkloadSpec {
  const [first] = pods;
  const { "kubernetes.io/hostname": host, ...selector } = first?.spec?.nodeSelector ?? {};
  const grace = Math.max(...pods.map(({ spec }) => spec?.terminationGracePeriodSeconds ?? GRACE_S));
  const deadlines = pods.map(({ spec }) => spec?.activeDeadlineSeconds ?? Infinity);
  const deadline = Math.max(...deadlines);
  const typesOf = ([member]: readonly Member[]): readonly string[] =>
    member?.resource == null ? [] : [...(types.get(member.resource) ?? [])].toSorted();
  const taskGroups = groups.map((members, index): TaskGroup => ({
    name: `pods-${index + 1}`,
    workers: members.length,
    ...shapeOf(members),
    acceleratorTypes: typesOf(members),
  }));
  const most = (of: (group: TaskGroup) => number): number => Math.max(...taskGroups.map(of));
  return {
    kind: "train",
    name,
    team: teamName(team),
    // An executor that does not know the key must start nothing.
    run: `exit 1 # pods of ${namespace}/${name}`,
    dir: null,
    env: { [ADOPTED_WORK_VARIABLE]: key },
    gang: {
      workers: pods.length,
      accelerators: most(({ accelerators }) => accelerators),
      coresMilli: most(({ coresMilli }) => coresMilli),
      memoryMib: most(({ memoryMib }) => memoryMib),
      ...(taskGroups.length > 1 ? { taskGroups } : {}),
    },
    acceleratorTypes: taskGroups.length === 1 ? (taskGroups[0]?.acceleratorTypes ?? []) : [],
    priority: priorityOf(pods, object, settings),
    walltimeMs: Number.isFinite(deadline) ? deadline * 1_000 : null,
    retries: { max: 0, backoffMs: 1_000, backoffMaxMs: 1_000 },
    graceTimeoutMs: Math.max(1, grace) * 1_000,
    checkpointDir: null,
    nodeSelector: {
      ...selector,
      ...(host === undefined ? {} : { "kubernetes.node": host }),
      [EXECUTOR_LABEL]: executor,
    },
  };
}

/**
 * The highest class of the pods. Any user of a namespace can name a class, so only those count that the settings list; a quota of the
 * cluster bounds the classes of pods, not those of group objects, so the object of the group can only lower the priority.
 */
function priorityOf(
  pods: readonly KubernetesPod[],
  object: GroupObjectState,
  { adoptPriorities = {} }: GroupContext["settings"],
): number {
  const stated = (name = ""): number => {
    if (name === "") return 0;
    return (Object.hasOwn(adoptPriorities, name) ? adoptPriorities[name] : adoptPriorities["*"]) ?? 0;
  };
  const own = Math.max(...pods.map(({ spec }) => stated(spec?.priorityClassName)));
  const className = object === null || object === "unread" ? undefined : object.priorityClassName;
  return className === undefined ? own : Math.min(own, stated(className));
}

const shapeOf = ([member]: readonly Member[]): WorkerShape =>
  member?.shape ?? { accelerators: 0, coresMilli: 0, memoryMib: 0 };

/** The group as the name of a workload. */
function nameOf(group: string): string {
  const stated = group.slice(group.indexOf("/") + 1).replace(/^pod:/, "");
  return (
    stated
      .replaceAll(/[^A-Za-z0-9._-]+/g, "-")
      .replace(/^[^A-Za-z0-9]+/, "")
      .slice(0, NAME_MAX) || "pods"
  );
}
