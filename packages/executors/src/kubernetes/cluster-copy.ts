/** The copy of a cluster's nodes and pods that the executor works on, and what it says about one attempt. */
import type { ExecutorId, NodeId } from "@headroom/model";
import type { Connection } from "./api/connection.ts";
import type { NodeSignals, PastNodeSignals, UnwatchedPeriod } from "../node-signals.ts";
import type { Condition, KubernetesNode, KubernetesPod } from "./api/objects.ts";
import { Reflector } from "./api/reflector.ts";
import type { NodeHealth } from "./executor/gang-judge.ts";
import { ATTEMPT_LABEL, isOfInstallation, SCHEDULER_NAME } from "./executor/pod-names.ts";
import { acceleratorsOf } from "./fleet/accelerators.ts";
import type { ClusterView } from "./fleet/cluster-nodes.ts";
import { nodeIdOf, notReadyReason, readCluster } from "./fleet/cluster-nodes.ts";
import { kubernetesSignals, pastKubernetesSignals } from "./fleet/node-signals.ts";
import type { KubernetesSettings } from "./settings.ts";

export interface CopySetup {
  readonly id: ExecutorId;
  readonly connection: Connection;
  readonly settings: KubernetesSettings;
  readonly installation: string;
  /** `base`: the attempt whose pod has changed; `null`: any may have. */
  readonly onPods: (base: string | null) => void;
  /** Nodes, or what pods use of them, may have changed. */
  readonly onNodes: () => void;
}

export class ClusterCopy {
  readonly #setup: CopySetup;
  readonly #nodes: Reflector<KubernetesNode>;
  readonly #pods: Reflector<KubernetesPod>;
  #isStarted = false;

  constructor(setup: CopySetup) {
    this.#setup = setup;
    const { connection, settings, installation } = setup;
    const shared = { connection, watchMs: settings.watchMs };
    this.#nodes = new Reflector({ ...shared, path: "/api/v1/nodes", keep: keptNode, onChange: () => setup.onNodes() });
    this.#pods = new Reflector({
      ...shared,
      path: "/api/v1/pods",
      keep: (pod) => keptPod(pod, installation, settings.adoptPods),
      onChange: (pod) => {
        setup.onNodes();
        if (pod === null) setup.onPods(null);
        else if (isOfInstallation(pod, installation)) setup.onPods(pod.metadata.labels?.[ATTEMPT_LABEL] ?? null);
      },
    });
  }

  /** Begins to follow the cluster, once. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#nodes.start();
    this.#pods.start();
  }

  /** Resolves when nodes and pods are up to date. Throws `executorUnreachable` after the time limit of a request. */
  async upToDate(): Promise<void> {
    this.start();
    const { requestTimeoutMs } = this.#setup.settings;
    await Promise.all([this.#nodes.upToDate(requestTimeoutMs), this.#pods.upToDate(requestTimeoutMs)]);
  }

  /** Whether the copy may be out of date, with the reason; `null`: it is up to date as far as watches tell. */
  get problem(): string | null {
    return this.#nodes.problem ?? this.#pods.problem;
  }

  view(): ClusterView {
    const { id, settings } = this.#setup;
    return readCluster(
      { nodes: this.#nodes.items.values(), pods: this.#pods.items.values(), isOwn: (pod) => this.isOwn(pod) },
      id,
      settings,
    );
  }

  /** Some nodes by name, without looking at pods: a launch must not cost a look at the whole cluster. */
  nodesNamed(names: ReadonlySet<string>): ClusterView["nodes"] {
    const { id, settings } = this.#setup;
    const nodes = [...names].flatMap((name) => this.#nodes.items.get(`/${name}`) ?? []);
    return readCluster({ nodes, pods: [], isOwn: () => false }, id, settings).nodes;
  }

  isOwn(pod: KubernetesPod): boolean {
    return isOfInstallation(pod, this.#setup.installation);
  }

  pod(namespace: string, name: string): KubernetesPod | null {
    return this.#pods.items.get(`${namespace}/${name}`) ?? null;
  }

  putPod(pod: KubernetesPod): void {
    this.#pods.put(pod);
  }

  hasNode(name: string): boolean {
    return this.#nodes.items.has(`/${name}`);
  }

  putNode(node: KubernetesNode): void {
    this.#nodes.put(node);
  }

  ownPods(): readonly KubernetesPod[] {
    return [...this.#pods.items.values()].filter((pod) => this.isOwn(pod));
  }

  /** Conditions and taints of all nodes of the cluster, those of other pools included. */
  nodeSignals(): NodeSignals | null {
    // An empty list is no statement about the nodes that were there.
    if (this.#nodes.items.size === 0) return null;
    const { id, settings } = this.#setup;
    const idOf = (name: string): NodeId => nodeIdOf(id, name);
    const all = [...this.#nodes.items.values()];
    return {
      nodes: new Set(all.map(({ metadata }) => idOf(metadata.name))),
      signals: kubernetesSignals(all, settings.tolerations, idOf),
    };
  }

  pastNodeSignals(period: UnwatchedPeriod): PastNodeSignals {
    return pastKubernetesSignals(this.#nodes.items.values(), period, (name) => nodeIdOf(this.#setup.id, name));
  }

  /** Pods that name Headroom as their scheduler, as far as it adopts them. */
  podsThatNameUs(): readonly KubernetesPod[] {
    return [...this.#pods.items.values()].filter(({ spec }) => spec?.schedulerName === SCHEDULER_NAME);
  }

  /** Accelerator types of nodes that take work, by the resource that pods request. */
  typesByResource(): ReadonlyMap<string, ReadonlySet<string>> {
    const { settings } = this.#setup;
    const types = new Map<string, Set<string>>();
    for (const node of this.#nodes.items.values()) {
      const { accelerators } = acceleratorsOf(node, settings.accelerators);
      if (accelerators === null) continue;
      const { resource, type } = accelerators;
      types.set(resource, (types.get(resource) ?? new Set()).add(type));
    }
    return types;
  }

  healthOf(nodeName: string): NodeHealth {
    const node = this.#nodes.items.get(`/${nodeName}`);
    if (node === undefined) return { kind: "gone" };
    const reason = notReadyReason(node);
    return reason === null ? { kind: "ready" } : { kind: "notReady", detail: reason };
  }

  async close(): Promise<void> {
    if (!this.#isStarted) return;
    await Promise.all([this.#nodes.close(), this.#pods.close()]);
  }
}

/** Conditions of a node that are kept, without the times of their heartbeats. */
const CONDITIONS_MAX = 32;
const MESSAGE_MAX = 400;

function keptCondition({ type, status, reason, message, lastTransitionTime }: Condition): Condition {
  return defined({ type, status, reason, message: message?.slice(0, MESSAGE_MAX), lastTransitionTime });
}

/** A node has some 30 KiB, mostly names of images. */
function keptNode({ metadata, spec, status }: KubernetesNode): KubernetesNode {
  const { name, resourceVersion, creationTimestamp, labels, deletionTimestamp } = metadata;
  const all = status?.conditions ?? [];
  // `Ready` decides whether the node takes work, so it is kept beside any number of others.
  const ready = all.filter(({ type }) => type === "Ready");
  const others = all.filter(({ type }) => type !== "Ready").slice(0, CONDITIONS_MAX);
  const conditions = [...ready, ...others].map(keptCondition);
  const kept = { name, resourceVersion, creationTimestamp, labels, deletionTimestamp };
  return {
    metadata: defined(kept),
    spec: defined({ unschedulable: spec?.unschedulable, taints: spec?.taints }),
    status: defined({ allocatable: status?.allocatable, conditions }),
  };
}

/** Only the resources of pods of others are kept, and of those that may be adopted the constraints on their nodes. */
function keptPod(pod: KubernetesPod, installation: string, isAdopting: boolean): KubernetesPod {
  const { metadata, spec, status } = pod;
  const resources = defined({
    nodeName: spec?.nodeName,
    schedulerName: spec?.schedulerName,
    containers: spec?.containers?.map(({ name, resources: own }) => defined({ name, resources: own })),
    initContainers: spec?.initContainers?.map(({ name, resources: own, restartPolicy }) =>
      defined({ name, resources: own, restartPolicy }),
    ),
    overhead: spec?.overhead,
    resources: spec?.resources,
    ...(isAdopting && spec?.schedulerName === SCHEDULER_NAME ? constraintsOf(spec) : {}),
  });
  if (!isOfInstallation(pod, installation)) {
    const { name, namespace, resourceVersion } = metadata;
    const mayBeAdopted = isAdopting && spec?.schedulerName === SCHEDULER_NAME;
    const { uid, labels, annotations, deletionTimestamp } = metadata;
    const more = mayBeAdopted ? { uid, labels, annotations, deletionTimestamp } : {};
    const kept = { name, namespace, resourceVersion, ...more };
    return { metadata: defined(kept), spec: resources, status: defined({ phase: status?.phase }) };
  }
  const { managedFields: _managed, ...own } = metadata as typeof metadata & { readonly managedFields?: unknown };
  return { metadata: own, spec: resources, ...(status === undefined ? {} : { status }) };
}

const constraintsOf = (spec: NonNullable<KubernetesPod["spec"]>): NonNullable<KubernetesPod["spec"]> =>
  defined({
    priorityClassName: spec.priorityClassName,
    nodeSelector: spec.nodeSelector,
    affinity: spec.affinity,
    topologySpreadConstraints: spec.topologySpreadConstraints,
    schedulingGates: spec.schedulingGates,
    resourceClaims: spec.resourceClaims,
    terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds,
    activeDeadlineSeconds: spec.activeDeadlineSeconds,
  });

type Defined<Fields> = { [Name in keyof Fields]: Exclude<Fields[Name], undefined> };

/** Without the fields that are undefined. */
function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Fields>;
}
