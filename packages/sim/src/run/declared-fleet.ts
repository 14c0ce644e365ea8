/** A fleet declared by documents, with simulated nodes. Traces are adapted to nodes of limited size. */
import { nodeId, placeByLabels } from "@headroom/model";
import type { NodeSpec, Pool, Site, Team } from "@headroom/model";
import type { Trace, TraceJob } from "../trace/trace.ts";
import type { FleetSpec } from "./fleet-spec.ts";

/** The identical nodes of one pool. */
export interface DeclaredNodes {
  readonly pool: string;
  readonly nodeCount: number;
  readonly acceleratorCount: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
}

interface Declared {
  readonly sites: readonly Site[];
  readonly pools: readonly Pool[];
  readonly nodes: readonly DeclaredNodes[];
}

/**
 * Nodes are named after their pool. A label named after a level of the fabric states a node's domain; without such a
 * label, the pool is the domain.
 */
export function declaredFleet({ sites, pools, nodes }: Declared): FleetSpec {
  const levels = new Map(sites.map(({ name, fabricLevels }) => [name, fabricLevels]));
  const specs = pools.flatMap((pool): NodeSpec[] => {
    const like = nodes.find((each) => each.pool === pool.name);
    if (like === undefined) return [];
    const { nodeCount, acceleratorCount, coresMilli, memoryMib } = like;
    return Array.from({ length: nodeCount }, (_, index) => {
      const id = nodeId(`${pool.name}-${index + 1}`);
      const labels = { ...pool.labels, ...pool.nodeLabels?.[id] };
      const ofSite = levels.get(pool.site) ?? [];
      const fabric =
        placeByLabels({ levels: ofSite, labels, otherwise: pool.name }) ?? ofSite.map((): string => pool.name);
      const said = Object.keys(labels).length === 0 ? {} : { labels };
      return { id, pool: pool.name, fabric, acceleratorCount, coresMilli, memoryMib, ...said };
    });
  });
  return { sites, pools, nodes: specs };
}

/**
 * Splits a job with more accelerators than any node into a gang of equal workers, as few as possible. If no equal split
 * fits, each accelerator gets a worker of its own. Cores and memory are divided among the workers.
 */
export function spreadOverNodes(trace: Trace, { nodes }: FleetSpec): Trace {
  const largest = Math.max(1, ...nodes.map(({ acceleratorCount }) => acceleratorCount));
  const jobs = trace.jobs.map((job): TraceJob => {
    if (job.accelerators <= largest) return job;
    let workers = Math.ceil(job.accelerators / largest);
    while (job.accelerators % workers !== 0) workers++;
    return { ...job, workers };
  });
  return { jobs, fleet: null };
}

/**
 * The declared team of a job's account. The account is the team's path, or its last component if only one team has that
 * name; `null`: no team matches.
 */
export function teamsByAccount(teams: readonly Team[]): (account: string) => Team | null {
  const byPath = new Map<string, Team>(teams.map((team) => [team.name, team]));
  const byLastName = new Map<string, Team | null>();
  for (const team of teams) {
    const last = team.name.slice(team.name.lastIndexOf("/") + 1);
    byLastName.set(last, byLastName.has(last) ? null : team);
  }
  return (account) => byPath.get(account) ?? byLastName.get(account) ?? null;
}
