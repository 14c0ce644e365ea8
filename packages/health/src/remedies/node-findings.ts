/** Nodes to quarantine: those with critical faults, and those that were lost again and again, each time alone. */
import type { Node, NodeId } from "@headroom/model";
import { isOneNode } from "../incidents/failure.ts";
import type { Failure } from "../incidents/failure.ts";
import type { FaultScores } from "../incidents/fault-scores.ts";
import type { IncidentFacts } from "../incidents/incident-fold.ts";
import { ground, shortReason } from "./finding.ts";
import type { Finding } from "./finding.ts";

const DAY_MS = 86_400_000;
/** Losses within a day from which on a node counts as unsound. Slurm and Kubernetes let such nodes return each time. */
const LOSSES_MIN = 3;

type NodeInService = Pick<Node, "draining" | "removal" | "health" | "acceleratorCount" | "qualification">;

/** Score of a lemon: five warnings, or three critical faults or losses, within about a day; more over a longer time. */
const LEMON_SCORE_MIN = 4.5;
const LEMON_FINDINGS_MAX = 20;

interface ScoreTime {
  readonly nowMs: number;
  readonly others: readonly Finding[];
  /** Nodes of failures that have one cause, which is not the node. */
  readonly shared: ReadonlySet<string>;
}

/** Nodes in service whose faults and losses add up, and that no other finding is about. */
export function lemonFindings(
  scores: Pick<FaultScores, "above">,
  nodes: ReadonlyMap<NodeId, NodeInService>,
  { nowMs, others, shared }: ScoreTime,
): readonly Finding[] {
  const known = new Set(others.flatMap(({ change }) => (change.kind === "drain" ? [change.nodeId] : [])));
  return scores
    .above(LEMON_SCORE_MIN, nowMs, shared)
    .filter(({ node }) => isInService(nodes.get(node)) && !known.has(node))
    .slice(0, LEMON_FINDINGS_MAX)
    .map(({ node, score, events, codes, sinceMs }) => ({
      id: `lemon:${node}:${sinceMs}`,
      kind: "lemon",
      sinceMs,
      change: {
        kind: "advice",
        about: shortReason(`node ${node}`),
        text: shortReason(`repair or replace the node, and prove it: headroom nodes qualify ${node}`),
      },
      team: null,
      reason: shortReason(`${node} fails again and again: ${codes.join(", ")}`),
      ground: [ground("events", events), ground("score", score), ground("score of a lemon", LEMON_SCORE_MIN)],
    }));
}

/** Findings about nodes that are in service. A lost or drained node is out of service already. */
export function nodeFindings(
  incidents: readonly IncidentFacts[],
  nodes: ReadonlyMap<NodeId, NodeInService>,
  nowMs: number,
): readonly Finding[] {
  const losses = new Map<NodeId, Failure[]>();
  const faulty = new Map<NodeId, { readonly failure: Failure; readonly incident: IncidentFacts }>();
  for (const incident of incidents) {
    const isOwn = isOneNode(incident.failures);
    for (const failure of incident.failures) {
      const { node, isLost, backAtMs, atMs } = failure;
      if (node === "" || !isInService(nodes.get(node))) continue;
      if (isLost && isOwn && atMs > nowMs - DAY_MS) losses.set(node, [...(losses.get(node) ?? []), failure]);
      if (!isLost && backAtMs === null) faulty.set(node, { failure, incident });
    }
  }
  const found = [...faulty].map(([node, { failure, incident }]) => faultFinding(node, failure, incident));
  for (const [node, failures] of losses)
    if (failures.length >= LOSSES_MIN && !faulty.has(node)) found.push(lossFinding(node, failures));
  return found;
}

const isInService = (node: NodeInService | undefined): boolean =>
  node !== undefined &&
  node.health === "up" &&
  !node.draining &&
  node.removal === undefined &&
  node.qualification === undefined;

function faultFinding(node: NodeId, failure: Failure, { id, failures }: IncidentFacts): Finding {
  const { sequence, atMs, codes, detail, alerts, accelerators } = failure;
  return {
    id: `fault:${node}:${sequence}`,
    kind: "fault",
    sinceMs: atMs,
    change: { kind: "drain", nodeId: node, running: "requeue" },
    team: null,
    reason: shortReason(`${detail} (${codes.join(", ")}), incident ${id}`),
    ground: [
      ground("reports", alerts),
      ground("accelerators of the node", accelerators),
      ground("nodes of the incident", failures.length),
    ],
  };
}

function lossFinding(node: NodeId, failures: readonly Failure[]): Finding {
  const newest = Math.max(...failures.map(({ atMs }) => atMs));
  const hit = failures.reduce((sum, { hits }) => sum + hits.length, 0);
  return {
    id: `repeatedLoss:${node}:${newest}`,
    kind: "repeatedLoss",
    sinceMs: newest,
    change: { kind: "drain", nodeId: node, running: "requeue" },
    team: null,
    reason: shortReason(`${node} was lost ${failures.length} times within a day: ${failures.at(-1)?.detail ?? ""}`),
    ground: [ground("losses", failures.length, "per day"), ground("attempts hit", hit)],
  };
}
