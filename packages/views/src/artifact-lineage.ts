/** The lineage of a version over the registry: its sources, and everything that was made with it. */
import type { ReadonlyState } from "@headroom/engine";
import { artifactTitle, nameOfId } from "@headroom/model";
import type { ArtifactVersion } from "@headroom/model";
import { LineageGraph } from "@headroom/lineage";
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
  const known = edgesOf(state);
  const graph = graphOf(state, known, readable);
  const start = graph.node(identity("artifact", root.id));
  const depths = new Map<number, number>([[start, 0]]);
  let truncated = false;
  for (const way of ["up", "down"] as const) {
    if (direction !== "both" && direction !== way) continue;
    const walk = graph.walk([start], way, { depthMax: depth, nodesMax: NODES_MAX });
    // A depth that the reader states cuts the walk too, but leaves nothing out.
    truncated ||= walk.isCut && (depth === DEPTH_MAX || walk.nodes.length === NODES_MAX);
    for (const { node, depth: steps } of walk.nodes)
      if (!depths.has(node)) depths.set(node, way === "up" ? -steps : steps);
  }
  const nodes = [...depths]
    .map(([node, steps]) => nodeResource(state, graph.at(node), steps))
    .toSorted((left, right) => left.depth - right.depth);
  const shown = new Set(nodes.map(({ id }) => id));
  const edges = known.filter(({ from, to }) => shown.has(from) && shown.has(to));
  return { root: root.id, nodes, edges, truncated };
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

function graphOf(state: ReadonlyState, edges: readonly Edge[], readable: ReadableTeams): LineageGraph {
  const graph = new LineageGraph();
  const isSeen = (id: string): boolean => {
    const team = nameOfId(id)?.team ?? teamOfWork(state, id);
    return team === null || isReadable(readable, team);
  };
  for (const { from, to } of edges) {
    if (!isSeen(from) || !isSeen(to) || graph.isFull) continue;
    graph.edge(graph.node(identity(kindOf(state, from), from)), graph.node(identity(kindOf(state, to), to)));
  }
  return graph;
}

const identity = (kind: NodeKind, id: string) =>
  ({ kind: kind === "attempt" || kind === "workload" ? "run" : "dataset", namespace: kind, name: id }) as const;

function kindOf({ artifactVersions, workloads }: ReadonlyState, id: string): NodeKind {
  if (artifactVersions.has(id) || nameOfId(id) !== null) return "artifact";
  if (workloads.has(id as Parameters<typeof workloads.has>[0])) return "workload";
  return /^w[0-9]+(?:\.[0-9]+)+$/.test(id) ? "attempt" : "data";
}

function nodeResource(
  state: ReadonlyState,
  { namespace, name: id }: { readonly namespace: string; readonly name: string },
  depth: number,
): ArtifactLineageNode {
  const kind = namespace as NodeKind;
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
