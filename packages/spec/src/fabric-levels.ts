/**
 * Finds fabric levels that no fleet can satisfy: levels that no site has, and preferences that contradict a
 * requirement.
 */
import type { TeamSpec } from "./team.ts";
import type { WorkloadSpec } from "./workload/workload.ts";
import { nearestName } from "./notation/nearest.ts";

/** Name of the last level of every fabric tree. */
const NODE_LEVEL = "node";

/**
 * Accelerators that are connected to each other within a node. This is not a level of the fabric, but a level of
 * reserved topology.
 */
const GROUP_LEVEL = "group";

export interface LevelProblem {
  /** Path of the field in the spec. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/**
 * Problems with a workload's levels. `sites`: the levels of each site, from the widest down, without the level `node`.
 */
export function levelProblems(
  { fabric, gang }: Pick<WorkloadSpec, "fabric" | "gang">,
  sites: readonly (readonly string[])[],
): LevelProblem[] {
  const groups = (gang.taskGroups ?? []).map((group, at) => ({
    fabric: group.fabric,
    path: ["gang", "taskGroups", at, "fabric"],
  }));
  const constraints = [{ fabric, path: ["fabric"] }, ...groups];
  const antiAffinity = (gang.antiAffinity?.from ?? []).map((rule, at): NamedLevel => ({
    level: "within" in rule ? rule.within : undefined,
    path: ["gang", "antiAffinity", "from", at, "within"],
  }));
  const named = [...constraints.flatMap((constraint) => levelsIn(constraint.fabric, constraint.path)), ...antiAffinity];
  const unknown = unknownLevels(named, [...new Set([...sites.flat(), NODE_LEVEL])]);
  return unknown.length > 0
    ? unknown
    : constraints.flatMap((constraint) => tooWide(constraint.fabric, constraint.path, sites));
}

/** Levels of a reserved topology that no site has, so that no team could ever use them. Paths start at the team. */
export function shapeProblems(
  { reservedTopology = [] }: Pick<TeamSpec, "reservedTopology">,
  sites: readonly (readonly string[])[],
): LevelProblem[] {
  const named = reservedTopology.map(({ within }, at): NamedLevel => ({
    level: within,
    path: ["reservedTopology", at, "within"],
  }));
  return unknownLevels(named, [...new Set([...sites.flat(), NODE_LEVEL, GROUP_LEVEL])]);
}

interface NamedLevel {
  readonly level: string | undefined;
  readonly path: LevelProblem["path"];
}

function levelsIn(fabric: WorkloadSpec["fabric"], path: NamedLevel["path"]): NamedLevel[] {
  const { within, prefer, slices = [] } = fabric ?? {};
  return [
    { level: within, path: [...path, "within"] },
    { level: prefer, path: [...path, "prefer"] },
    ...slices.map((slice, at) => ({ level: slice.within, path: [...path, "slices", at, "within"] })),
  ];
}

/** A required level that no site has would keep the work waiting forever; a preferred one would have no effect. */
function unknownLevels(named: readonly NamedLevel[], levels: readonly string[]): LevelProblem[] {
  return named.flatMap(({ level, path }) => {
    if (level === undefined || levels.includes(level)) return [];
    const nearest = nearestName(level, levels);
    const hint = nearest === undefined ? "" : `; did you mean ${nearest}?`;
    return [{ path, message: `no site has the level ${level}${hint} (there is ${levels.join(", ")})` }];
  });
}

/** A preferred level must not be wider than the required one, at every site that has both. */
function tooWide(
  fabric: WorkloadSpec["fabric"],
  path: LevelProblem["path"],
  sites: readonly (readonly string[])[],
): LevelProblem[] {
  const { within, prefer } = fabric ?? {};
  if (within === undefined || prefer === undefined) return [];
  const both = sites
    .map((levels) => [...levels, NODE_LEVEL])
    .filter((levels) => levels.includes(within) && levels.includes(prefer));
  const isWider = (levels: readonly string[]): boolean => levels.indexOf(prefer) < levels.indexOf(within);
  if (both.length === 0 || !both.every(isWider)) return [];
  const message = `must not be wider than within: one ${within} is already required, and it is inside one ${prefer}`;
  return [{ path: [...path, "prefer"], message }];
}
