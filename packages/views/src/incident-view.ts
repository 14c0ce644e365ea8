/** Incidents as resources of the API. Pure: the fold of the journal gives the facts, this file the words. */
import { domainOfKey } from "@headroom/health";

export { IncidentFold } from "@headroom/health";
import type { FailureDomain } from "@headroom/model";
import type { Failure, HitAttempt, IncidentFacts, IncidentRecord } from "@headroom/health";
import { PAGE_ITEMS_DEFAULT } from "@headroom/protocol";
import type { Incident, IncidentQuery, Page } from "@headroom/protocol";
import { refusedCursor } from "./page-cursor.ts";
import { durationText, plural } from "./plain-text.ts";

const NODES_SHOWN_MAX = 1_000;
const WORK_SHOWN_MAX = 200;
/** Entries of the timeline that are shown from its beginning, and from its end. */
const TIMELINE_HALF = 100;

/** Teams whose work the reader may see; `null`: all. */
type Readable = ReadonlySet<string> | null;

/** The newest first. The cursor is the id of the last incident of a page. */
export function incidentList(
  incidents: readonly IncidentFacts[],
  {
    phase = "open",
    cursor,
    limit,
  }: Omit<IncidentQuery, "limit" | "cursor"> & {
    readonly cursor?: string | null | undefined;
    readonly limit?: number | undefined;
  },
  readable: Readable,
): Page<Incident> {
  const newest = incidents.toSorted((left, right) => sequenceOf(right) - sequenceOf(left));
  const after = typeof cursor === "string" ? newest.findIndex(({ id }) => id === cursor) : -1;
  if (after < 0 && typeof cursor === "string") throw refusedCursor(cursor);
  const size = limit ?? PAGE_ITEMS_DEFAULT;
  const chosen = newest.slice(after + 1).filter((each) => phase === "all" || phaseOf(each) === phase);
  const page = chosen.slice(0, size);
  return {
    items: page.map((each) => incidentView(each, readable)),
    nextCursor: chosen.length > page.length ? (page.at(-1)?.id ?? null) : null,
  };
}

const sequenceOf = ({ id }: IncidentFacts): number => Number(id.slice(1));

export function incidentView(facts: IncidentFacts, readable: Readable): Incident {
  const { id, domain, sameNodesAs, extent, failures } = facts;
  const newest = newestOfNodes(failures);
  const nodes = newest.flatMap(({ node }) => (node === "" ? [] : [String(node)]));
  const records = recordsOf(facts);
  const acknowledged = records.find(({ annotation }) => annotation.kind === "acknowledge");
  const silences = records.flatMap(({ annotation }) => (annotation.kind === "silence" ? [annotation.untilMs] : []));
  const phase = phaseOf(facts);
  const work = workOf(failures, readable);
  return {
    id,
    phase,
    title: titleOf(facts),
    cause: causeOf(failures),
    domain: wireDomain(domainOfKey(domain)),
    sameNodesAs: sameNodesAs.map((key) => wireDomain(domainOfKey(key))),
    startedAtMs: Math.min(...failures.map(({ atMs }) => atMs)),
    endedAtMs: phase === "open" ? null : endOf(facts, records),
    alerts: failures.reduce((sum, { alerts }) => sum + alerts, 0),
    nodes: {
      inDomain: extent.nodes,
      failed: nodes.length,
      notBack: newest.filter(({ node, backAtMs }) => node !== "" && backAtMs === null).length,
      ids: nodes.slice(0, NODES_SHOWN_MAX),
    },
    accelerators: {
      inDomain: extent.accelerators,
      failed: newest.reduce((sum, { accelerators }) => sum + accelerators, 0),
    },
    work: work.slice(0, WORK_SHOWN_MAX),
    codes: [...new Set(failures.flatMap(({ codes }) => codes))].toSorted(),
    advice: adviceOf(facts, phase),
    acknowledgedBy: acknowledged?.actor ?? null,
    silencedUntilMs: silences.length === 0 ? null : Math.max(...silences),
    timeline: timelineOf(facts, records, readable),
  };
}

/** A node can fail several times in one incident. */
const newestOfNodes = (failures: readonly Failure[]): readonly Failure[] => [
  ...new Map(failures.map((failure) => [failure.node, failure])).values(),
];

/** Teams with work that the incident hit. */
export const teamsHit = ({ failures }: IncidentFacts): readonly string[] => [
  ...new Set(failures.flatMap(({ hits }) => hits.map(({ team }) => team)).filter((team) => team !== "")),
];

const wireDomain = ({ level, path }: FailureDomain): { level: string; path: string[] } => ({ level, path: [...path] });

const recordsOf = ({ failures }: IncidentFacts): readonly IncidentRecord[] =>
  failures.flatMap(({ records }) => records).toSorted((left, right) => left.sequence - right.sequence);

export function phaseOf(facts: IncidentFacts): Incident["phase"] {
  const last = Math.max(...facts.failures.map(({ sequence }) => sequence));
  const isResolved = recordsOf(facts).some(
    ({ annotation, sequence }) => annotation.kind === "resolve" && sequence > last,
  );
  if (isResolved) return "resolved";
  return facts.failures.every(({ backAtMs }) => backAtMs !== null) ? "recovered" : "open";
}

function endOf({ failures }: IncidentFacts, records: readonly IncidentRecord[]): number {
  const resolved = records.findLast(({ annotation }) => annotation.kind === "resolve");
  const back = failures.map(({ backAtMs }) => backAtMs ?? 0);
  return failures.every(({ backAtMs }) => backAtMs !== null)
    ? Math.max(...back)
    : (resolved?.atMs ?? Math.max(...back));
}

function causeOf(failures: readonly Failure[]): Incident["cause"] {
  if (failures.some(({ node }) => node === "")) return "executor";
  return failures.some(({ isLost }) => isLost) ? "nodesLost" : "faults";
}

/** `leaf dc/s1/l3 lost: 16 of 16 nodes`. */
export function titleOf({ domain, extent, failures }: IncidentFacts): string {
  const { level, path } = domainOfKey(domain);
  const name = path.join("/");
  const nodeCount = newestOfNodes(failures).length;
  switch (causeOf(failures)) {
    case "executor":
      return `Executor ${name} is unreachable: ${plural(extent.nodes, "node")}`;
    case "faults":
      return level === "node"
        ? `Node ${name} has faults: ${failures[0]?.detail ?? ""}`
        : `Faults in ${level} ${name}: ${plural(nodeCount, "node")}`;
    default:
      if (level === "node") return `Node ${name} lost: ${failures[0]?.detail ?? ""}`;
      if (level === "fleet") return `${plural(nodeCount, "node")} of no common domain lost`;
      return `${level} ${name} lost: ${nodeCount} of ${plural(extent.nodes, "node")}`;
  }
}

function adviceOf({ domain, failures, id }: IncidentFacts, phase: Incident["phase"]): string {
  const { level, path } = domainOfKey(domain);
  if (phase !== "open") return `Write down the cause: headroom incident note ${id} "..."`;
  const cause = causeOf(failures);
  if (cause === "executor") return `Check that the executor answers: headroom executor show ${path[0] ?? ""}`;
  if (cause === "faults") return `Keep new work away and repair: headroom nodes drain ${failures[0]?.node ?? ""}`;
  return level === "node" || level === "fleet"
    ? `Check power and network of the nodes; remove those that do not return: headroom nodes remove ${failures[0]?.node ?? ""}`
    : `Check the ${level} ${path.at(-1) ?? ""} first: all its nodes failed together. Its work is queued again by its retry limits.`;
}

function workOf(failures: readonly Failure[], readable: Readable): Incident["work"] {
  const byWorkload = Map.groupBy(
    failures.flatMap(({ hits }) => hits).filter(({ team }) => readable === null || readable.has(team)),
    ({ workloadId }) => workloadId,
  );
  return [...byWorkload.values()].flatMap((hits) => {
    const [first] = hits;
    if (first === undefined) return [];
    const { workloadId, name, team } = first;
    const attempts = new Set(hits.map(({ attemptId }) => attemptId)).size;
    return [
      { workloadId, name, team, attempts, workers: sumOf(hits, "workers"), accelerators: sumOf(hits, "accelerators") },
    ];
  });
}

const sumOf = (hits: readonly HitAttempt[], field: "workers" | "accelerators"): number =>
  hits.reduce((sum, hit) => sum + hit[field], 0);

type Entry = Incident["timeline"][number];

function timelineOf({ failures }: IncidentFacts, records: readonly IncidentRecord[], readable: Readable): Entry[] {
  const entries: Entry[] = failures.flatMap((failure): Entry[] => {
    const { node, atMs, sequence, isLost, detail, backAtMs } = failure;
    const what =
      node === "" ? "The executor is unreachable" : `Node ${node} ${isLost ? "was lost" : "reported faults"}`;
    const hits = failure.hits.filter(({ team }) => readable === null || readable.has(team));
    const names = hits.length === 0 ? "" : `, hit ${hits.map(({ name }) => name).join(", ")}`;
    const begun = { atMs, sequence, text: `${what}${detail === "" ? "" : `: ${detail}`}${names}.` };
    const back =
      node === ""
        ? "The executor answers again."
        : isLost
          ? `Node ${node} is back, or was removed.`
          : `The faults of node ${node} are over.`;
    return backAtMs === null ? [begun] : [begun, { atMs: backAtMs, sequence, text: back }];
  });
  for (const { atMs, sequence, actor, annotation } of records)
    entries.push({ atMs, sequence, actor, text: recordText(annotation, atMs) });
  const sorted = entries.toSorted((left, right) => left.atMs - right.atMs || left.sequence - right.sequence);
  return sorted.length <= 2 * TIMELINE_HALF
    ? sorted
    : [...sorted.slice(0, TIMELINE_HALF), ...sorted.slice(-TIMELINE_HALF)];
}

function recordText(annotation: IncidentRecord["annotation"], atMs: number): string {
  switch (annotation.kind) {
    case "acknowledge":
      return "Acknowledged.";
    case "silence":
      return `Silenced for ${durationText(annotation.untilMs - atMs)}.`;
    case "resolve":
      return "Resolved.";
    case "note":
      return annotation.text;
  }
}
