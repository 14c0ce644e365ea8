/**
 * The resources that pods request on each node. Pure. The rules are those of kube-scheduler and of the kubelet, which refuses a pod that
 * has no room by them: KEP 753 (sidecars) and KEP 2837 (requests of whole pods).
 */
import type { ContainerSpec, KubernetesPod, PodResources } from "../api/objects.ts";
import { quantityOf } from "./quantity.ts";

export interface NodeUse {
  readonly accelerators: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
  readonly pods: number;
}

export const noUse: NodeUse = { accelerators: 0, coresMilli: 0, memoryMib: 0, pods: 0 };

/** Whether the pod holds resources of its node: it is bound and has not ended. */
const holdsResources = ({ spec, status }: KubernetesPod): boolean =>
  spec?.nodeName !== undefined && status?.phase !== "Succeeded" && status?.phase !== "Failed";

/** Use by node name. `acceleratorOf`: the resource that counts as accelerators on a node. Parts of a unit count as a whole one. */
export function useByNode(
  pods: Iterable<KubernetesPod>,
  acceleratorOf: (node: string) => string | null,
): ReadonlyMap<string, NodeUse> {
  const byNode = new Map<string, NodeUse>();
  for (const pod of pods) {
    const node = pod.spec?.nodeName;
    if (node === undefined || !holdsResources(pod)) continue;
    const use = byNode.get(node) ?? noUse;
    const resource = acceleratorOf(node);
    byNode.set(node, {
      accelerators: use.accelerators + (resource === null ? 0 : requestedOf(pod, resource)),
      coresMilli: use.coresMilli + 1_000 * requestedOf(pod, "cpu"),
      memoryMib: use.memoryMib + requestedOf(pod, "memory") / MIB,
      pods: use.pods + 1,
    });
  }
  return new Map([...byNode].map(([node, use]) => [node, wholeUse(use)]));
}

const MIB = 2 ** 20;

/** Sums of decimal fractions differ from whole numbers by less. */
const ROUNDING = 1e-6;
const whole = (amount: number): number => Math.min(Math.max(0, Math.ceil(amount - ROUNDING)), Number.MAX_SAFE_INTEGER);

const wholeUse = ({ accelerators, coresMilli, memoryMib, pods }: NodeUse): NodeUse => ({
  accelerators: whole(accelerators),
  coresMilli: whole(coresMilli),
  memoryMib: whole(memoryMib),
  pods,
});

/**
 * The containers' sum, or the largest init container if that is more. Init containers that are restarted always are sidecars: they run
 * beside the containers, and beside the init containers after them. Requests of the whole pod replace those of its containers.
 */
export function requestedOf({ spec }: KubernetesPod, resource: string): number {
  const overhead = quantityOf(spec?.overhead?.[resource]) ?? 0;
  const ofPod = requestIn(spec?.resources, resource);
  if (ofPod !== null) return ofPod + overhead;
  const of = ({ resources }: ContainerSpec): number => requestIn(resources, resource) ?? 0;
  let sidecars = 0;
  let first = 0;
  for (const each of spec?.initContainers ?? []) {
    first = Math.max(first, sidecars + of(each));
    if (each.restartPolicy === "Always") sidecars += of(each);
  }
  const together = (spec?.containers ?? []).reduce((sum, each) => sum + of(each), sidecars);
  return Math.max(together, first) + overhead;
}

/** A limit without a request counts as the request. `null`: neither is stated. */
const requestIn = (resources: PodResources | undefined, resource: string): number | null =>
  quantityOf(resources?.requests?.[resource] ?? resources?.limits?.[resource]);
