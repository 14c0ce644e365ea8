/**
 * Conditions and taints of Kubernetes nodes as signals: those of the kubelet, those of the node-problem-detector
 * (github.com/kubernetes/node-problem-detector, config/), and any others by their names.
 */
import type { NodeId } from "@headroom/model";
import {
  NODE_SIGNALS_MAX,
  clusterText,
  signalCode,
  type NodeSignal,
  type PastNodeSignal,
  type PastNodeSignals,
  type UnwatchedPeriod,
} from "../../node-signals.ts";
import type { Condition, KubernetesNode, Toleration } from "../api/objects.ts";
import { OWN_TAINT, taintText, untoleratedTaints } from "./cluster-nodes.ts";

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

const NOT_READY = {
  code: "k8s-not-ready",
  severity: "critical",
  action: "look at the kubelet and the machine",
} as const;

/** The signal that a condition is when it is bad. */
function ruleOf(type: string): Known & Pick<NodeSignal, "code"> {
  return type === "Ready" ? NOT_READY : { code: signalCode("k8s", type), ...(known.get(type) ?? OTHER) };
}

function isBad({ type, status }: Condition): boolean {
  if (type === "Ready") return status !== "True";
  return known.has(type) || !isGood(type) ? status === "True" : status === "False";
}

function signalsOf({ spec, status }: KubernetesNode): readonly Omit<NodeSignal, "nodeId">[] {
  const signals = (status?.conditions ?? []).filter(isBad).map((condition): Omit<NodeSignal, "nodeId"> => {
    const { type, status: value, reason, message, lastTransitionTime: sinceText } = condition;
    const since = sinceText === undefined ? null : `since ${sinceText}`;
    const { code, severity, action } = ruleOf(type);
    return { code, severity, detail: `${clusterText(`${type}=${value}`, since, reason, message)}; ${action}` };
  });
  if (spec?.unschedulable === true)
    signals.push({ code: "k8s-cordoned", severity: "info", detail: "the node is cordoned; kubectl uncordon ends it" });
  return signals;
}

/** Conditions that the controller sets to `Unknown` together with `Ready` when a kubelet is silent. */
const OF_KUBELET: ReadonlySet<string> = new Set(["MemoryPressure", "DiskPressure", "PIDPressure"]);
/** Time in ms between the transitions of conditions that a kubelet reports again after its silence. */
const TOGETHER_MS = 60_000;

/**
 * Conditions that became good within the period. A node that joined in it has only its first conditions, which are no end of
 * anything.
 */
export function pastKubernetesSignals(
  nodes: Iterable<KubernetesNode>,
  { fromMs, untilMs }: UnwatchedPeriod,
  nodeIdOf: (name: string) => NodeId,
): PastNodeSignals {
  const signals: PastNodeSignal[] = [];
  for (const { metadata, status } of nodes) {
    if (!(timeOf(metadata.creationTimestamp) <= fromMs)) continue;
    const ended = (status?.conditions ?? []).flatMap((condition) => {
      const endedAtMs = timeOf(condition.lastTransitionTime);
      const isIn = endedAtMs > fromMs && endedAtMs <= untilMs;
      return isIn && !isBad(condition) && condition.status !== "Unknown" ? [{ type: condition.type, endedAtMs }] : [];
    });
    const backAtMs = ended.find(({ type }) => type === "Ready")?.endedAtMs ?? Number.NaN;
    const own = ended.filter(
      ({ type, endedAtMs }) => !OF_KUBELET.has(type) || !(Math.abs(endedAtMs - backAtMs) <= TOGETHER_MS),
    );
    for (const { type, endedAtMs } of own.slice(0, NODE_SIGNALS_MAX)) {
      const { code, severity, action } = ruleOf(type);
      signals.push({
        nodeId: nodeIdOf(metadata.name),
        code,
        severity,
        detail: `${clusterText(type)}; ${action}`,
        endedAtMs,
      });
    }
  }
  return {
    signals,
    unknown: "Kubernetes keeps the newest change of each condition. Earlier ones, cordons and taints are unknown.",
  };
}

/** In ms; not a number: there is none. */
const timeOf = (text: string | undefined): number => Date.parse(text ?? "");

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
