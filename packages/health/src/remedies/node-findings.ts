/** Nodes to quarantine: those with critical faults, and those that were lost again and again, each time alone. */
import type { Node, NodeId } from "@headroom/model";
import type { Failure } from "../incidents/failure.ts";
import type { FailingCohort } from "../incidents/cohorts.ts";
import { domainOfKey } from "../incidents/domains.ts";
import type { FaultScore } from "../incidents/fault-scores.ts";
import type { IncidentFacts, IncidentFold } from "../incidents/incident-fold.ts";
import { sharedIncidents } from "../incidents/shared-cause.ts";
import { ground, shortReason } from "./finding.ts";
import type { Finding } from "./finding.ts";

const DAY_MS = 86_400_000;
/** Losses within a day from which on a node counts as unsound. Slurm and Kubernetes let such nodes return each time. */
const LOSSES_MIN = 3;

type NodeInService = Pick<Node, "draining" | "removal" | "health" | "acceleratorCount" | "qualification">;

/** Score of a lemon: five warnings, or three critical faults or losses, within about a day; more over a longer time. */
const LEMON_SCORE_MIN = 4.5;
const LEMON_FINDINGS_MAX = 20;
const COHORT_FINDINGS_MAX = 5;

interface LemonContext {
  readonly nowMs: number;
  readonly others: readonly Finding[];
}

/**
 * Nodes in service whose faults and losses add up beyond those of their peers, and that no other finding is about. Where most nodes of a
 * domain have such a score, the finding is about the domain.
 */
export function lemonFindings(
  fold: Pick<IncidentFold, "repeatedFailures" | "failingCohorts">,
  nodes: ReadonlyMap<NodeId, NodeInService>,
  { nowMs, others }: LemonContext,
): readonly Finding[] {
  const known = new Set(others.flatMap(({ change }) => (change.kind === "drain" ? [change.nodeId] : [])));
  const { own, shared } = fold.repeatedFailures(LEMON_SCORE_MIN, nowMs);
  const lemons = own.filter(({ node }) => isInService(nodes.get(node)) && !known.has(node)).map(lemonFinding);
  const explained = new Set([...shared.values()].flatMap((scores) => scores.map(({ node }) => node)));
  const cohorts = fold.failingCohorts(nowMs, explained);
  const domains = [...[...shared].map(sharedFinding), ...cohorts.slice(0, COHORT_FINDINGS_MAX).map(cohortFinding)];
  return [...domains, ...lemons].slice(0, LEMON_FINDINGS_MAX);
}

const lemonFinding = ({ node, score, events, codes, sinceMs }: FaultScore): Finding => ({
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
});

function cohortFinding({ domain, pool, failed, size, otherFailed, otherSize, sinceMs }: FailingCohort): Finding {
  const { level, path } = domainOfKey(domain);
  const name = `${level} ${path.at(-1) ?? ""}`;
  return {
    id: `lemon:${domain}:${pool}`,
    kind: "lemon",
    sinceMs,
    change: {
      kind: "advice",
      about: shortReason(name),
      text: shortReason(`compare the nodes of ${name} with the others: headroom nodes show, headroom drift`),
    },
    team: null,
    reason: shortReason(
      `${failed} of ${size} nodes of ${name} have failed lately, and ${otherFailed} of ${otherSize} others of pool ${pool}`,
    ),
    ground: [ground("nodes that failed", failed), ground("nodes of the cohort", size), ground("others", otherFailed)],
  };
}

function sharedFinding([key, scores]: readonly [string, readonly FaultScore[]]): Finding {
  const { level, path } = domainOfKey(key);
  const name = `${level} ${path.at(-1) ?? ""}`;
  const codes = new Set(scores.flatMap((each) => each.codes));
  return {
    id: `lemon:${key}`,
    kind: "lemon",
    sinceMs: scores.reduce((first, { sinceMs }) => Math.min(first, sinceMs), Number.MAX_SAFE_INTEGER),
    change: {
      kind: "advice",
      about: shortReason(name),
      text: shortReason(`inspect what the nodes of ${name} share: switch, power, cooling, or a software rollout`),
    },
    team: null,
    reason: shortReason(`most nodes of ${name} fail again and again: ${[...codes].join(", ")}`),
    ground: [ground("nodes that fail", scores.length), ground("score of a lemon", LEMON_SCORE_MIN)],
  };
}

/** Findings about nodes that are in service. A lost or drained node is out of service already. */
export function nodeFindings(
  incidents: readonly IncidentFacts[],
  nodes: ReadonlyMap<NodeId, NodeInService>,
  nowMs: number,
): readonly Finding[] {
  const losses = new Map<NodeId, Failure[]>();
  const faulty = new Map<NodeId, { readonly failure: Failure; readonly incident: IncidentFacts }>();
  const shared = sharedIncidents(incidents);
  for (const incident of incidents) {
    // An incident counts once, however often the node was lost in it; losses to maintenance do not.
    const own = shared.has(incident) ? undefined : incident.failures.findLast(isUnplannedLoss);
    for (const failure of incident.failures) {
      const { node, isLost, backAtMs, atMs } = failure;
      if (node === "" || !isInService(nodes.get(node))) continue;
      if (failure === own && atMs > nowMs - DAY_MS) losses.set(node, [...(losses.get(node) ?? []), failure]);
      if (!isLost && backAtMs === null) faulty.set(node, { failure, incident });
    }
  }
  const found = [...faulty].map(([node, { failure, incident }]) => faultFinding(node, failure, incident));
  for (const [node, failures] of losses)
    if (failures.length >= LOSSES_MIN && !faulty.has(node)) found.push(lossFinding(node, failures));
  return found;
}

const isUnplannedLoss = ({ isLost, isMaintained }: Failure): boolean => isLost && isMaintained !== true;

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
