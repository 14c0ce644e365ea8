/**
 * Conditions and taints of Kubernetes nodes as signals: those of the kubelet, those of the node-problem-detector
 * (github.com/kubernetes/node-problem-detector, config/), and any others by their names.
 */
import type { NodeId } from "@headroom/model";
import { NODE_SIGNALS_MAX, clusterText, signalCode, type NodeSignal } from "../../node-signals.ts";
import type { KubernetesNode, Toleration } from "../api/objects.ts";
import { taintText, untoleratedTaints } from "./cluster-nodes.ts";

interface Known {
  readonly severity: NodeSignal["severity"];
  readonly action: string;
}

/** Conditions that are bad when they are true. */
const known: ReadonlyMap<string, Known> = new Map([
  ["MemoryPressure", { severity: "warning", action: "the kubelet evicts pods; look for work without a memory limit" }],
  ["DiskPressure", { severity: "warning", action: "the kubelet evicts pods; free space for images and logs" }],
  ["PIDPressure", { severity: "warning", action: "look for work that leaves processes behind" }],
  ["NetworkUnavailable", { severity: "critical", action: "look at the network plugin of the node" }],
  ["KernelDeadlock", { severity: "critical", action: "restart the node" }],
  ["ReadonlyFilesystem", { severity: "critical", action: "check the disk, then restart the node" }],
  ["CorruptDockerOverlay2", { severity: "critical", action: "replace the image store of the node" }],
  ["FrequentKubeletRestart", { severity: "warning", action: "look at the log of the kubelet" }],
  ["FrequentContainerdRestart", { severity: "warning", action: "look at the log of containerd" }],
  ["FrequentUnregisterNetDevice", { severity: "warning", action: "look at the kernel log for network devices" }],
]);
const OTHER: Known = { severity: "warning", action: "look at the conditions of the node with kubectl describe node" };
/** Names of conditions that are good when they are true. */
const isGood = (type: string): boolean => /(?:Ready|Healthy|Available|Succeeded|Valid|OK)$/.test(type);

/** Taints of Kubernetes itself repeat conditions and the cordon. */
const OWN_TAINT = /^node\.(?:cloudprovider\.)?kubernetes\.io\//;

/** `tolerations`: those of the executor's pods besides the built-in ones. Taints that pods tolerate are no signals. */
export function kubernetesSignals(
  nodes: Iterable<KubernetesNode>,
  tolerations: readonly Toleration[],
  nodeIdOf: (name: string) => NodeId,
): readonly NodeSignal[] {
  const signals: NodeSignal[] = [];
  for (const node of nodes) {
    const nodeId = nodeIdOf(node.metadata.name);
    signals.push(
      ...[...signalsOf(node), ...taintSignals(node, tolerations)]
        .slice(0, NODE_SIGNALS_MAX)
        .map((each) => ({ ...each, nodeId })),
    );
  }
  return signals;
}

function signalsOf({ spec, status }: KubernetesNode): readonly Omit<NodeSignal, "nodeId">[] {
  const signals: Omit<NodeSignal, "nodeId">[] = [];
  for (const { type, status: value, reason, message } of status?.conditions ?? []) {
    const text = clusterText(`${type}=${value}`, reason, message);
    if (type === "Ready") {
      if (value !== "True")
        signals.push({
          code: "k8s-not-ready",
          severity: "critical",
          detail: `${text}; look at the kubelet and the machine`,
        });
      continue;
    }
    const isBad = known.has(type) || !isGood(type) ? value === "True" : value === "False";
    if (!isBad) continue;
    const { severity, action } = known.get(type) ?? OTHER;
    signals.push({ code: signalCode("k8s", type), severity, detail: `${text}; ${action}` });
  }
  if (spec?.unschedulable === true)
    signals.push({ code: "k8s-cordoned", severity: "info", detail: "the node is cordoned; kubectl uncordon ends it" });
  return signals;
}

/** An operator or a repair controller taints a node to keep work away, and with `NoExecute` to evict what runs. */
const taintSignals = (
  node: KubernetesNode,
  tolerations: readonly Toleration[],
): readonly Omit<NodeSignal, "nodeId">[] =>
  untoleratedTaints(node, tolerations)
    .filter(({ key }) => !OWN_TAINT.test(key))
    .map((taint) => ({
      code: signalCode("k8s-taint", taint.key),
      severity: taint.effect === "NoExecute" ? "warning" : "info",
      detail: `${clusterText(`the node has the taint ${taintText(taint)}`)}; kubectl taint removes it, and settings of the executor can tolerate it`,
    }));
