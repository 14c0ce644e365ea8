/** Rejects work and reserved topologies that name unknown fabric levels, because they would wait forever. */
import { isOfTypes } from "@headroom/model";
import type { PoolName } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { levelProblems, refuse, shapeProblems } from "@headroom/protocol";
import type { LevelProblem, ProblemError, Site, TeamSpec, WorkloadSpec } from "@headroom/protocol";

export interface NamedSpec {
  /** JSON pointer (RFC 6901) to the spec in the request; empty: the request is the spec. */
  readonly pointer: string;
  readonly spec: Pick<WorkloadSpec, "fabric" | "gang"> &
    Partial<Pick<WorkloadSpec, "kind" | "team" | "checkpointStore" | "acceleratorTypes" | "notify" | "dir">>;
}

interface Declared {
  readonly sites?: readonly Pick<Site, "fabricLevels">[];
  readonly teams?: readonly Pick<TeamSpec, "reservedTopology">[];
}

/** The problem; `null`: all levels exist. `declared`: sites and teams of the same request. */
export function levelRefusal(
  { sites, pools, nodes }: Pick<ReadonlyState, "sites" | "pools" | "nodes">,
  specs: readonly NamedSpec[],
  declared: Declared = {},
): ProblemError | null {
  const levels = [...sites.values(), ...(declared.sites ?? [])].map(({ fabricLevels }) => fabricLevels);
  const problems = [
    ...(declared.teams ?? []).map((team, at) => ({ pointer: `/teams/${at}`, found: shapeProblems(team, levels) })),
    ...specs.map(({ pointer, spec }) => {
      const unknown = levelProblems(spec, levels);
      return { pointer, found: unknown.length > 0 ? unknown : unstatedProblems(spec, { sites, pools, nodes }) };
    }),
  ];
  const errors = problems.flatMap(({ pointer, found }) =>
    found.map(({ path, message }) => ({ pointer: [pointer, ...path].join("/"), message })),
  );
  if (errors.length === 0) return null;
  const detail = errors.map(({ pointer, message }) => `${pointer}: ${message}`).join("; ");
  return refuse("invalidRequest", `The request is not valid. ${detail}.`, { errors });
}

type Topology = Pick<ReadonlyState, "sites" | "pools" | "nodes">;

/**
 * Required levels that the site declares but no node states its place in. Such a requirement would have no effect, and
 * the work would run across domains.
 */
function unstatedProblems(spec: NamedSpec["spec"], topology: Topology): LevelProblem[] {
  const required = requiredLevels(spec).filter(({ level }) => level !== NODE_LEVEL);
  if (required.length === 0 || topology.nodes.size === 0) return [];
  return required.flatMap(({ level, path, types }) => {
    const pools = poolsOf(topology, types);
    if (statedLevels(topology, pools).has(level)) return [];
    const where =
      pools.size === topology.pools.size ? "of the fleet" : `of ${[...pools].join(", ")}, where its accelerators are,`;
    const message = `requires the level ${level}, but no node ${where} states its ${level}, so the requirement would have no effect; label the nodes with ${level}, leave the level out, or use prefer`;
    return [{ path, message }];
  });
}

/** Pools with accelerators of these types; all pools, if no pool has them or no type is stated. */
function poolsOf({ pools }: Topology, types: readonly string[]): ReadonlySet<PoolName> {
  const all = [...pools.values()];
  const able = all.filter((pool) => types.length > 0 && isOfTypes(types, pool));
  return new Set((able.length === 0 ? all : able).map(({ name }) => name));
}

/** Name of the last level of every fabric tree. */
const NODE_LEVEL = "node";

interface RequiredLevel {
  readonly level: string;
  readonly path: LevelProblem["path"];
  /** Accelerator types of the work; empty: any. */
  readonly types: readonly string[];
}

function requiredLevels({ fabric, gang, acceleratorTypes = [] }: NamedSpec["spec"]): RequiredLevel[] {
  const of = (constraint: typeof fabric, path: LevelProblem["path"], types = acceleratorTypes): RequiredLevel[] => [
    ...(constraint?.within === undefined ? [] : [{ level: constraint.within, path: [...path, "within"], types }]),
    ...(constraint?.slices ?? []).map(({ within: level }, at) => ({
      level,
      path: [...path, "slices", at, "within"],
      types,
    })),
  ];
  const groups = gang.taskGroups ?? [];
  return [
    ...of(fabric, ["fabric"]),
    ...groups.flatMap((group, at) => of(group.fabric, ["gang", "taskGroups", at, "fabric"], group.acceleratorTypes)),
  ];
}

/** Levels at which at least one node of the pools states its domain. A node states its domains from the widest level down. */
function statedLevels({ sites, pools, nodes }: Topology, wanted: ReadonlySet<PoolName>): ReadonlySet<string> {
  const stated = new Set<string>();
  for (const { pool, fabric } of nodes.values()) {
    if (!wanted.has(pool)) continue;
    const site = sites.get(pools.get(pool)?.site ?? ("" as never));
    for (const level of site?.fabricLevels.slice(0, fabric.length) ?? []) stated.add(level);
  }
  return stated;
}

/** Checks all workloads in a request to apply. */
export function specsToApply({
  workloads,
  schedules = [],
}: {
  readonly workloads: readonly NamedSpec["spec"][];
  readonly schedules?: readonly { readonly spec: NamedSpec["spec"] }[] | undefined;
}): NamedSpec[] {
  return [
    ...workloads.map((spec, at) => ({ pointer: `/workloads/${at}`, spec })),
    ...schedules.map(({ spec }, at) => ({ pointer: `/schedules/${at}/spec`, spec })),
  ];
}
