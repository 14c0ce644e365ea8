/** The nodes of a cluster as an inventory: nodes with equal accelerators as pools, labels as levels of the fabric. Pure. */
import { nodeId, poolName, siteName, withdrawnDetail } from "@headroom/model";
import type { ExecutorId, ForeignUseReport, NodeId, NodeSpec, Pool, Site } from "@headroom/model";
import { familyOfType } from "@headroom/perf/accelerator-types";
import type { Inventory } from "../../executor.ts";
import type { KubernetesNode, KubernetesPod, Taint, Toleration } from "../api/objects.ts";
import type { KubernetesSettings } from "../settings.ts";
import type { NodeAccelerators } from "./accelerators.ts";
import { acceleratorsOf } from "./accelerators.ts";
import type { NodeUse } from "./foreign-use.ts";
import { noUse, useByNode } from "./foreign-use.ts";
import { EXECUTOR_LABEL } from "./executor-label.ts";
import { coresMilliOf, countOf, memoryMibOf } from "./quantity.ts";

/** A node at Kubernetes, as a pod needs it. */
export interface KubernetesFleetNode {
  readonly id: NodeId;
  readonly name: string;
  readonly accelerators: NodeAccelerators | null;
  readonly spec: NodeSpec;
  /** Why the node takes no new work; `null`: it takes work. */
  readonly outOfService: string | null;
  /** Resources that pods of others request on the node. */
  readonly foreign: NodeUse;
}

export interface ClusterView {
  /** Nodes that take work, and nodes that do not but run attempts of this executor. */
  readonly inventory: Inventory;
  readonly nodes: ReadonlyMap<NodeId, KubernetesFleetNode>;
  /** Facts that the inventory cannot state, each as a sentence. */
  readonly notes: readonly string[];
}

export interface ClusterObjects {
  readonly nodes: Iterable<KubernetesNode>;
  readonly pods: Iterable<KubernetesPod>;
  /** Whether the pod belongs to this executor. */
  readonly isOwn: (pod: KubernetesPod) => boolean;
}

type FleetSettings = Pick<
  KubernetesSettings,
  "accelerators" | "adoptPods" | "fabricLabels" | "nodeLabels" | "nodeSelector" | "tolerations"
>;

/** Taints that GPU operators and clouds put on nodes with accelerators, which admission plugins let such pods tolerate. */
export const ACCELERATOR_TOLERATIONS: readonly Toleration[] = [
  { key: "nvidia.com/gpu", operator: "Exists" },
  { key: "amd.com/gpu", operator: "Exists" },
  { key: "google.com/tpu", operator: "Exists" },
];

/** Taints that repeat the condition `Ready`, and stay for some seconds after it has changed. */
const READY_TAINTS: readonly Toleration[] = ["not-ready", "unreachable"].map((state) => ({
  key: `node.kubernetes.io/${state}`,
  operator: "Exists",
}));

export function readCluster(objects: ClusterObjects, executor: ExecutorId, settings: FleetSettings): ClusterView {
  const site: Site = { name: siteName(executor), fabricLevels: levelNames(settings.fabricLabels) };
  const selected = [...objects.nodes].filter((node) => isSelected(node, settings.nodeSelector));
  const found = new Map(selected.map((node) => [node.metadata.name, acceleratorsOf(node, settings.accelerators)]));
  const acceleratorOf = (name: string): string | null => found.get(name)?.accelerators?.resource ?? null;
  const pods = [...objects.pods];
  const foreign = useByNode(
    pods.filter((pod) => !objects.isOwn(pod)),
    acceleratorOf,
  );
  const own = useByNode(
    pods.filter((pod) => objects.isOwn(pod)),
    acceleratorOf,
  );
  const poolByType = new Map<string, Pool>();
  const pools = new Map<string, Pool>();
  const nodes = new Map<NodeId, KubernetesFleetNode>();
  const specs: NodeSpec[] = [];
  for (const node of selected.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))) {
    const { name } = node.metadata;
    const accelerators = found.get(name)?.accelerators ?? null;
    const type = accelerators?.type ?? "";
    const pool = poolByType.get(type) ?? poolOf(type, site, executor);
    poolByType.set(type, pool);
    const outOfService = whyOutOfService(node, settings.tolerations);
    const spec = specOf(node, { pool, accelerators, executor, settings });
    const use = foreign.get(name) ?? noUse;
    nodes.set(spec.id, { id: spec.id, name, accelerators, spec, outOfService, foreign: use });
    const ownPods = own.get(name)?.pods ?? 0;
    if (outOfService !== null && ownPods === 0) continue;
    pools.set(pool.name, pool);
    // A node that takes no new work goes on with the workers that it has.
    specs.push(outOfService === null ? spec : { ...spec, workersMax: ownPods });
  }
  const notes = [...found].flatMap(([name, { others }]) =>
    others.length === 0 ? [] : [`The node ${name} has further accelerators that are not used: ${others.join(", ")}.`],
  );
  const foreignUse = specs.flatMap((spec) => {
    const { name = "", foreign: use = noUse, outOfService = null } = nodes.get(spec.id) ?? {};
    return useOf(spec.id, outOfService === null ? use : restOf(spec, own.get(name) ?? noUse));
  });
  return { inventory: { sites: [site], pools: [...pools.values()], nodes: specs, foreignUse }, nodes, notes };
}

/**
 * All of a node that own pods do not hold. The engine changes the amounts of a node only while it is empty, so this is what keeps new
 * work away from a node that is out of service and runs work.
 */
const restOf = ({ acceleratorCount, coresMilli, memoryMib }: NodeSpec, own: NodeUse): NodeUse => ({
  accelerators: Math.max(0, acceleratorCount - own.accelerators),
  coresMilli: Math.max(0, coresMilli - own.coresMilli),
  memoryMib: Math.max(0, memoryMib - own.memoryMib),
  pods: 0,
});

function useOf(nodeId: NodeId, { accelerators, coresMilli, memoryMib }: NodeUse): readonly ForeignUseReport[] {
  const isFree = accelerators === 0 && coresMilli === 0 && memoryMib === 0;
  return isFree ? [] : [{ nodeId, accelerators, coresMilli, memoryMib }];
}

/** Names of nodes are unique in a cluster only, so the id begins with the executor. */
export const nodeIdOf = (executor: ExecutorId, name: string): NodeId => nodeId(`${executor}-${name}`);

const isSelected = ({ metadata }: KubernetesNode, selector: Readonly<Record<string, string>>): boolean =>
  Object.entries(selector).every(([name, value]) => metadata.labels?.[name] === value);

/** The last part of each label's name; the whole name where two would be equal. */
function levelNames(labels: readonly string[]): readonly string[] {
  const short = labels.map((label) => label.split("/").at(-1) ?? label);
  return short.map((name, index) => (short.indexOf(name) === short.lastIndexOf(name) ? name : (labels[index] ?? name)));
}

function poolOf(type: string, site: Site, executor: ExecutorId): Pool {
  const family = type === "" ? undefined : familyOfType(type);
  return {
    name: poolName(plainName(`${executor}-${type === "" ? "cpu" : type}`)),
    site: site.name,
    executor,
    acceleratorType: type,
    ...(family === undefined || family === type ? {} : { acceleratorFamily: family }),
    priceMicroUsdPerHour: 0,
  };
}

const plainName = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9-]+/g, "-");

interface NodeParts {
  readonly pool: Pool;
  readonly accelerators: NodeAccelerators | null;
  readonly executor: ExecutorId;
  readonly settings: FleetSettings;
}

function specOf({ metadata, status }: KubernetesNode, parts: NodeParts): NodeSpec {
  const { pool, accelerators, executor, settings } = parts;
  const labels = metadata.labels ?? {};
  const shown = [...new Set([...settings.nodeLabels, ...settings.fabricLabels])].flatMap((name) => {
    const value = labels[name];
    return value === undefined || value === "" ? [] : [[name, value] as const];
  });
  const podsMax = countOf(status?.allocatable?.["pods"]);
  return {
    id: nodeIdOf(executor, metadata.name),
    pool: pool.name,
    // A node without any of the labels states no place: a required level must not gather such nodes in one domain.
    fabric: settings.fabricLabels.some((name) => labels[name] !== undefined)
      ? settings.fabricLabels.map((name) => labels[name] ?? "unlabelled")
      : [],
    acceleratorCount: accelerators?.count ?? 0,
    coresMilli: coresMilliOf(status?.allocatable?.["cpu"]),
    memoryMib: memoryMibOf(status?.allocatable?.["memory"]),
    labels: {
      ...Object.fromEntries(shown),
      "kubernetes.node": metadata.name,
      ...(settings.adoptPods ? { [EXECUTOR_LABEL]: executor } : {}),
    },
    ...(podsMax > 0 ? { workersMax: podsMax } : {}),
  };
}

/** Taints of Kubernetes itself repeat conditions and the cordon. */
export const OWN_TAINT: RegExp = /^node\.(?:cloudprovider\.)?kubernetes\.io\//;

/** `null`: the node takes new work. A cordon, and taints of people and their controllers, are withdrawals of a sound node. */
function whyOutOfService(node: KubernetesNode, tolerations: readonly Toleration[]): string | null {
  const { metadata, spec } = node;
  if (metadata.deletionTimestamp !== undefined) return "the node is being deleted";
  const ready = notReadyReason(node);
  if (ready !== null) return ready;
  if (spec?.unschedulable === true) return withdrawnDetail("the node is cordoned");
  const taints = untoleratedTaints(node, tolerations);
  const [taint] = taints;
  if (taint === undefined) return null;
  const reason = `the node has the taint ${taintText(taint)}, which pods do not tolerate`;
  return taints.some(({ key }) => OWN_TAINT.test(key)) ? reason : withdrawnDetail(reason);
}

/** Taints that keep the executor's pods from the node. */
export function untoleratedTaints(
  { spec }: Pick<KubernetesNode, "spec">,
  tolerations: readonly Toleration[],
): readonly Taint[] {
  const all = [...ACCELERATOR_TOLERATIONS, ...READY_TAINTS, ...tolerations];
  return (spec?.taints ?? []).filter(
    (each) => each.effect !== "PreferNoSchedule" && !all.some((toleration) => tolerates(toleration, each)),
  );
}

/** `null`: the kubelet says that the node is ready. */
export function notReadyReason({ status }: Pick<KubernetesNode, "status">): string | null {
  const ready = (status?.conditions ?? []).find(({ type }) => type === "Ready");
  if (ready?.status === "True") return null;
  const more = [ready?.reason, ready?.message].filter((text) => text !== undefined && text !== "").join(": ");
  return `the node is not ready${more === "" ? "" : ` (${more.slice(0, REASON_MAX)})`}`;
}

const REASON_MAX = 200;

/** kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration: an empty key with `Exists` matches all. */
function tolerates({ key, operator = "Equal", value = "", effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  if (key === undefined || key === "") return operator === "Exists";
  return key === taint.key && (operator === "Exists" || value === (taint.value ?? ""));
}

export const taintText = ({ key, value, effect }: Taint): string =>
  `${key}${value === undefined || value === "" ? "" : `=${value}`}:${effect}`;
