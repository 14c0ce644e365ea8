/** The resources that pods of others request on each node. Pure. The rules are those of kube-scheduler (KEP 753, resource requests of pods). */
import type { ContainerSpec, KubernetesPod } from "../api/objects.ts";
import { coresMilliOf, countOf, memoryMibOf } from "./quantity.ts";

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

/** Use by node name. `acceleratorOf`: the resource that counts as accelerators on a node. */
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
      accelerators: use.accelerators + (resource === null ? 0 : requested(pod, resource, countOf)),
      coresMilli: use.coresMilli + requested(pod, "cpu", coresMilliOf),
      memoryMib: use.memoryMib + requested(pod, "memory", memoryMibOf),
      pods: use.pods + 1,
    });
  }
  return byNode;
}

/** The containers' sum, or the largest init container if that is more. A limit without a request counts as the request. */
function requested({ spec }: KubernetesPod, resource: string, read: (text: string | undefined) => number): number {
  const of = ({ resources }: ContainerSpec): number =>
    read(resources?.requests?.[resource] ?? resources?.limits?.[resource]);
  const together = (spec?.containers ?? []).reduce((sum, each) => sum + of(each), 0);
  const first = (spec?.initContainers ?? []).reduce((most, each) => Math.max(most, of(each)), 0);
  return Math.max(together, first) + read(spec?.overhead?.[resource]);
}
