/** The lineage of a version over the registry: its sources, and everything that was made with it. */
import type { ReadonlyState } from "@headroom/engine";
import { artifactTitle, nameOfId } from "@headroom/model";
import type { ArtifactVersion } from "@headroom/model";
import { walkNeighbours } from "@headroom/lineage";
import type { ArtifactLineage, ArtifactLineageNode, LineageDirection } from "@headroom/protocol";
import { isReadable, teamOfWork } from "./readable-teams.ts";
import type { ReadableTeams } from "./readable-teams.ts";

/** Nodes of one answer in each direction. */
const NODES_MAX = 2_000;
const DEPTH_MAX = 1_000;
const PLACES_SHOWN = 5;

type NodeKind = ArtifactLineageNode["kind"];

interface Asked {
  readonly direction: LineageDirection;
  readonly depth: number | undefined;
  readonly readable: ReadableTeams;
}

/** Nodes of teams that the reader may not see are left out, and so is what lies only behind them. */
export function artifactLineage(
  state: ReadonlyState,
  root: ArtifactVersion,
  { direction, depth = DEPTH_MAX, readable }: Asked,
): ArtifactLineage {
  const edges = edgesOf(state);
  const isSeen = (id: string): boolean => {
    const team = nameOfId(id)?.team ?? teamOfWork(state, id);
    return team === null || isReadable(readable, team);
  };
  const depths = new Map<string, number>([[root.id, 0]]);
  let truncated = false;
  for (const way of ["up", "down"] as const) {
    if (direction !== "both" && direction !== way) continue;
    const neighbours = neighboursIn(edges, way);
    const visible = (id: string): readonly string[] => (isSeen(id) ? (neighbours.get(id) ?? []).filter(isSeen) : []);
    const walk = walkNeighbours(root.id, visible, { depthMax: depth, nodesMax: NODES_MAX });
    // A depth that the reader states cuts the walk too, but leaves nothing out.
    truncated ||= walk.isCut && (depth === DEPTH_MAX || walk.depths.size === NODES_MAX);
    for (const [id, steps] of walk.depths) if (!depths.has(id)) depths.set(id, way === "up" ? -steps : steps);
  }
  const nodes = [...depths]
    .map(([id, steps]) => nodeResource(state, id, steps))
    .toSorted((left, right) => left.depth - right.depth);
  const shown = edges.filter(({ from, to }) => depths.has(from) && depths.has(to));
  return { root: root.id, nodes, edges: shown, truncated };
}

type Neighbours = ReadonlyMap<string, readonly string[]>;

/** Neighbours of each node, in the order of the edges. */
function neighboursIn(edges: readonly Edge[], way: "up" | "down"): Neighbours {
  const found = new Map<string, string[]>();
  for (const { from, to } of edges) {
    const [end, other] = way === "down" ? [from, to] : [to, from];
    const known = found.get(end);
    if (known === undefined) found.set(end, [other]);
    else known.push(other);
  }
  return found;
}

interface Edge {
  readonly from: string;
  readonly to: string;
}

/** Edges from what was used to what was made with it. Work that uses a version is at the end, also endpoints. */
function edgesOf({ artifactVersions, workloads }: ReadonlyState): readonly Edge[] {
  const edges: Edge[] = [];
  for (const { id, inputs, producer } of artifactVersions.values()) {
    const maker = producer?.attemptId ?? id;
    for (const input of inputs) edges.push({ from: input, to: maker });
    if (producer !== undefined) edges.push({ from: producer.attemptId, to: id });
  }
  for (const { id, given = [], artifacts = [] } of workloads.values()) {
    if (artifacts.some(({ version }) => version !== undefined)) continue;
    for (const { version } of given) if (version !== undefined) edges.push({ from: version, to: id });
  }
  return edges;
}

function kindOf({ artifactVersions, workloads }: ReadonlyState, id: string): NodeKind {
  if (artifactVersions.has(id) || nameOfId(id) !== null) return "artifact";
  if (workloads.has(id as Parameters<typeof workloads.has>[0])) return "workload";
  return /^w[0-9]+(?:\.[0-9]+)+$/.test(id) ? "attempt" : "data";
}

function nodeResource(state: ReadonlyState, id: string, depth: number): ArtifactLineageNode {
  const kind = kindOf(state, id);
  const version = state.artifactVersions.get(id);
  const node = { id, kind, title: titleOf(state, kind, id, version), depth, deleted: version?.deleted !== undefined };
  const places = (version?.places ?? []).filter((each) => each.state !== "missing").slice(0, PLACES_SHOWN);
  return places.length === 0 ? node : { ...node, places: places.map(({ uri }) => uri) };
}

function titleOf(
  { workloads }: ReadonlyState,
  kind: NodeKind,
  id: string,
  version: ArtifactVersion | undefined,
): string {
  if (kind === "artifact") return version === undefined ? id : `${artifactTitle(version)}@${version.number}`;
  if (kind === "data") return id;
  const workload = workloads.get(
    (kind === "workload" ? id : /^w[0-9]+/.exec(id)?.[0]) as Parameters<typeof workloads.get>[0],
  );
  return workload === undefined ? id : workload.spec.name;
}
