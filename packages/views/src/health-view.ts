/** The health of the fleet in one answer: nodes by phase, incidents, faults, and the blast radius of each failure domain. */
import type { Engine } from "@headroom/engine";
import { domainKey, domainOfKey } from "@headroom/health";
import type { IncidentFold } from "@headroom/health";
import { siteName } from "@headroom/model";
import type { Node, NodeId } from "@headroom/model";
import type { Fleet, HealthSummary } from "@headroom/protocol";
import { capsView } from "./fleet-view.ts";
import { nodeMap } from "./health-map.ts";
import { phaseOf } from "./incident-view.ts";
import { plural } from "./plain-text.ts";

const DOMAINS_SHOWN_MAX = 50;

/** Age in ms up to which periods without looks are shown. */
const UNWATCHED_SHOWN_MS = 7 * 86_400_000;

/** `unwatched`: periods in which nobody looked at nodes, the newest first. */
export function healthSummary(
  engine: Engine,
  fold: IncidentFold,
  atMs: number,
  unwatched: HealthSummary["unwatched"] = [],
): HealthSummary {
  const { state } = engine;
  const all = [...state.nodes.values()];
  const open = fold.incidents().filter((incident) => phaseOf(incident) === "open");
  const unacknowledged = open.filter(({ failures }) =>
    failures.every(({ records }) => records.every(({ annotation }) => annotation.kind !== "acknowledge")),
  );
  const faulty = open
    .flatMap(({ failures }) => failures)
    .filter(({ codes, node }) => codes.length > 0 && node !== "")
    .map(({ node, codes, lastAtMs }) => ({ nodeId: String(node), codes: [...codes], lastAtMs }));
  const nodes = countsOf(all);
  return {
    atMs,
    nodes,
    accelerators: {
      total: all.reduce((sum, { acceleratorCount }) => sum + acceleratorCount, 0),
      lost: all.reduce((sum, { acceleratorCount, health }) => sum + (health === "lost" ? acceleratorCount : 0), 0),
    },
    incidents: { open: open.length, unacknowledged: unacknowledged.length },
    faulty: faulty.slice(0, DOMAINS_SHOWN_MAX),
    unwatched: unwatched.filter(({ untilMs }) => atMs - untilMs < UNWATCHED_SHOWN_MS),
    sets: setsOf(all, new Set(faulty.map(({ nodeId }) => nodeId))),
    domains: domainsOf(engine, fold),
    advice: [
      ...(unacknowledged.length === 0
        ? []
        : [`${plural(unacknowledged.length, "incident")} wait for somebody: headroom incident list`]),
      ...(nodes.suspended === 0
        ? []
        : [`${plural(nodes.suspended, "node")} take no work because of their executor: headroom executor list`]),
      ...(nodes.qualifying === undefined
        ? []
        : [`${plural(nodes.qualifying, "node")} take no work until they have qualified: headroom nodes`]),
      ...(nodes.draining === 0 ? [] : [`${plural(nodes.draining, "node")} are draining: headroom nodes`]),
    ],
  };
}

function countsOf(nodes: readonly Node[]): HealthSummary["nodes"] {
  const counts: HealthSummary["nodes"] = {
    total: nodes.length,
    inService: 0,
    draining: 0,
    removing: 0,
    suspended: 0,
    lost: 0,
  };
  for (const node of nodes) {
    const phase = phaseOfNode(node);
    counts[phase] = (counts[phase] ?? 0) + 1;
  }
  return counts;
}

function phaseOfNode({
  health,
  removal,
  draining,
  suspended,
  qualification,
}: Node): Exclude<keyof HealthSummary["nodes"], "total"> {
  if (health === "lost") return "lost";
  if (removal !== undefined) return "removing";
  if (draining) return "draining";
  if (suspended === true) return "suspended";
  return qualification === undefined ? "inService" : "qualifying";
}

function setsOf(nodes: readonly Node[], faulty: ReadonlySet<string>): HealthSummary["sets"] {
  const sets = Map.groupBy(nodes, ({ pool, acceleratorType }) => JSON.stringify([pool, acceleratorType]));
  return [...sets.values()].flatMap((alike) => {
    const [first] = alike;
    if (first === undefined) return [];
    const { inService, lost } = countsOf(alike);
    const { pool, acceleratorType } = first;
    return [
      {
        pool,
        acceleratorType,
        nodes: alike.length,
        inService,
        lost,
        faulty: alike.filter(({ id }) => faulty.has(id)).length,
        map: nodeMap(alike, (node) => (node.health !== "lost" && faulty.has(node.id) ? "faulty" : phaseOfNode(node))),
      },
    ];
  });
}

/** Failure domains with at least two nodes, those with most accelerators first. */
function domainsOf(engine: Engine, { topology }: IncidentFold): HealthSummary["domains"] {
  const domains = new Map<string, { nodes: NodeId[]; lost: number; accelerators: number }>();
  for (const [id, { domains: keys, accelerators, isLost }] of topology.nodes)
    for (const key of keys) {
      const known = domains.get(key) ?? { nodes: [], lost: 0, accelerators: 0 };
      domains.set(key, known);
      known.nodes.push(id);
      known.accelerators += accelerators;
      if (isLost) known.lost++;
    }
  const workloadsOn = new Map<NodeId, Set<string>>();
  for (const { workloadId, workers } of engine.state.attempts.values())
    for (const { node } of workers) workloadsOn.set(node, (workloadsOn.get(node) ?? new Set()).add(workloadId));
  // The fullest domains come first, so the first of a key has the tightest cap.
  const caps = Map.groupBy(capsView(engine), (cap) => keyOfCapped(engine, cap));
  return [...domains]
    .filter(([, { nodes }]) => nodes.length > 1)
    .toSorted(([left, one], [right, other]) => other.accelerators - one.accelerators || (left < right ? -1 : 1))
    .slice(0, DOMAINS_SHOWN_MAX)
    .map(([key, { nodes, lost, accelerators }]) => {
      const { level, path } = domainOfKey(key);
      const workloads = new Set(nodes.flatMap((id) => [...(workloadsOn.get(id) ?? [])])).size;
      const [cap] = caps.get(key) ?? [];
      const power = cap === undefined ? {} : { power: { capWatts: cap.capWatts, drawWatts: cap.drawWatts } };
      return { domain: { level, path: [...path] }, nodes: nodes.length, lost, accelerators, workloads, ...power };
    });
}

/** The path of a cap begins with its site. The value of a label is one domain in all sites. */
function keyOfCapped({ state }: Engine, { level, path }: NonNullable<Fleet["caps"]>[number]): string {
  const [site] = path;
  const isFabric = state.sites.get(siteName(site ?? ""))?.fabricLevels.includes(level) === true;
  return domainKey({ level, path: isFabric || level === "site" ? path : path.slice(1), isFabric });
}
