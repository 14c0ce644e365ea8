/**
 * Whether the cause of failures lies in the node or in a domain that nodes share. The advice to repair a node follows only from failures
 * with a cause in the node. Both rules compare the node with the others of its failure domains.
 */
import type { NodeId } from "@headroom/model";
import { isOneNode } from "./failure.ts";
import type { FaultScore } from "./fault-scores.ts";
import type { IncidentFacts } from "./incident-fold.ts";

/** After this time without a report a domain has recovered. A switch that flaps does not lose all its nodes each time. */
const CONTINUES_MS = 1_800_000;
/** Two nodes do not tell which of them is the exception. */
const DOMAIN_NODES_MIN = 3;

/** Incidents of more than one node, and those of a node in a domain whose earlier incident may go on. `incidents`: the oldest first. */
export function sharedIncidents(incidents: readonly IncidentFacts[]): ReadonlySet<IncidentFacts> {
  const shared = new Set<IncidentFacts>();
  const newestOf = new Map<string, number>();
  for (const incident of incidents) {
    const { failures, domain } = incident;
    const [first] = failures;
    if (first === undefined) continue;
    const goesOn = (key: string): boolean => first.atMs - (newestOf.get(key) ?? -Infinity) <= CONTINUES_MS;
    if (!isOneNode(failures)) {
      const newest = failures.reduce((latest, { lastAtMs }) => Math.max(latest, lastAtMs), newestOf.get(domain) ?? 0);
      newestOf.set(domain, newest);
      shared.add(incident);
    } else if (first.domains.some(goesOn)) shared.add(incident);
  }
  return shared;
}

export interface ComparedScores {
  /** Nodes that fail more than the others of each of their domains, by at least the score of the question. */
  readonly own: readonly FaultScore[];
  /** Domains whose nodes fail alike, with the scores of those nodes. */
  readonly shared: ReadonlyMap<string, readonly FaultScore[]>;
}

interface CompareWith {
  readonly least: number;
  /** Scores of all nodes that have one. */
  readonly scoreOf: ReadonlyMap<NodeId, number>;
  readonly nodes: ReadonlyMap<NodeId, { readonly domains: readonly string[] }>;
}

/** Compares each score with the median of its domains: a failure that most nodes of a domain have is that of the domain. The widest one is named. */
export function compareScores(found: readonly FaultScore[], { least, scoreOf, nodes }: CompareWith): ComparedScores {
  const domainsOf = (node: NodeId): readonly string[] => nodes.get(node)?.domains ?? [];
  const scores = new Map<string, number[]>(found.flatMap(({ node }) => domainsOf(node).map((key) => [key, []])));
  if (scores.size > 0)
    for (const [node, { domains }] of nodes) for (const key of domains) scores.get(key)?.push(scoreOf.get(node) ?? 0);
  const medians = new Map(
    [...scores]
      .filter(([, { length }]) => length >= DOMAIN_NODES_MIN)
      .map(([key, values]) => [key, { median: medianOfOthers(values), size: values.length }]),
  );
  const own: FaultScore[] = [];
  const shared = new Map<string, FaultScore[]>();
  for (const each of found) {
    const alike = domainsOf(each.node)
      .filter((key) => isAlike(each.score, medians.get(key)?.median ?? 0, least))
      .toSorted((left, right) => (medians.get(right)?.size ?? 0) - (medians.get(left)?.size ?? 0));
    const [widest] = alike;
    if (widest === undefined) own.push(each);
    else shared.set(widest, [...(shared.get(widest) ?? []), each]);
  }
  return { own, shared };
}

const isAlike = (score: number, median: number, least: number): boolean => score - median < Math.max(least / 2, median);

/** The lower median of the nodes beside one with a score above it. */
const medianOfOthers = (values: readonly number[]): number =>
  values.toSorted((left, right) => left - right)[Math.floor((values.length - 2) / 2)] ?? 0;
