/**
 * Whether the cause of failures lies in the node or in a domain that nodes share. The advice to repair a node follows only from failures
 * with a cause in the node. Both rules compare the node with the others of its failure domains.
 */
import type { NodeId } from "@headroom/model";
import { isOneNode, type Failure } from "./failure.ts";
import type { FaultScore } from "./fault-scores.ts";
import type { IncidentFacts } from "./incident-fold.ts";

/** After this time without a new failure a domain has recovered. A switch that flaps does not lose all its nodes each time. */
const CONTINUES_MS = 1_800_000;
/** Two nodes do not tell which of them is the exception. */
const DOMAIN_NODES_MIN = 3;

/** Incidents of more than one node, and those of a node in a domain whose earlier incident may go on. `incidents`: the oldest first. */
export function sharedIncidents(incidents: readonly IncidentFacts[]): ReadonlySet<IncidentFacts> {
  const shared = new Set<IncidentFacts>();
  const outages = new Map<string, Outage>();
  for (const incident of incidents) {
    const { failures, domain } = incident;
    const [first] = failures;
    if (first === undefined) continue;
    if (!isOneNode(failures)) {
      const { beginMs, endMs } = outageOf(failures);
      const known = outages.get(domain);
      const goesOn = known !== undefined && beginMs <= known.endMs + CONTINUES_MS;
      outages.set(domain, {
        beginMs: goesOn ? known.beginMs : beginMs,
        endMs: goesOn ? Math.max(known.endMs, endMs) : endMs,
      });
      shared.add(incident);
    } else if (first.domains.some((key) => isDuring(first.atMs, outages.get(key)))) shared.add(incident);
  }
  return shared;
}

/** When a domain had failed. `endMs` is infinite as long as most of its nodes that failed are away. */
interface Outage {
  readonly beginMs: number;
  readonly endMs: number;
}

const isDuring = (atMs: number, outage: Outage | undefined): boolean =>
  outage !== undefined && atMs >= outage.beginMs && atMs <= outage.endMs + CONTINUES_MS;

/** A domain works again when half of its nodes are back: others may stay away for a repair of their own. */
function outageOf(failures: readonly Failure[]): Outage {
  const begins = Float64Array.from(failures, ({ atMs }) => atMs).sort();
  const ends = Float64Array.from(failures, endOf).sort();
  const worksMs = ends[Math.floor((ends.length - 1) / 2)] ?? Infinity;
  return { beginMs: begins[0] ?? 0, endMs: Math.max(begins.at(-1) ?? 0, worksMs) };
}

/** Faults of a node that answers stay open until people resolve them: their last report counts. */
const endOf = ({ backAtMs, isLost, lastAtMs }: Failure): number => backAtMs ?? (isLost ? Infinity : lastAtMs);

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
    let widest: string | undefined;
    let size = 0;
    for (const key of domainsOf(each.node)) {
      const domain = medians.get(key);
      if (domain === undefined || domain.size <= size || !isAlike(each.score, domain.median, least)) continue;
      [widest, size] = [key, domain.size];
    }
    if (widest === undefined) own.push(each);
    else {
      const others = shared.get(widest);
      if (others === undefined) shared.set(widest, [each]);
      else others.push(each);
    }
  }
  return { own, shared };
}

const isAlike = (score: number, median: number, least: number): boolean => score - median < Math.max(least / 2, median);

/** The lower median of the nodes beside one with a score above it. */
const medianOfOthers = (values: readonly number[]): number =>
  Float64Array.from(values).sort()[Math.floor((values.length - 2) / 2)] ?? 0;
