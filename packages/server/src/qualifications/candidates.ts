/** Nodes that have to qualify, as the service looks at them. */
import { isShared, mayRunSuite, type Engine } from "@headroom/engine";
import { nodeUse } from "@headroom/explain";
import type { Node, NodeId, NodeQualification, PoolName, QualificationRule } from "@headroom/model";
import { suiteOf, type readSuites, type Suite } from "./suite-file.ts";

export interface Candidate {
  readonly nodeId: NodeId;
  readonly pool: PoolName;
  /** `null`: the pool has no rule any more, and only a run in progress is left. */
  readonly rule: QualificationRule | null;
  readonly qualification: NodeQualification;
  /**
   * `ready`: a run may begin. `wait`: not now. `silent`: the executor does not answer, which says nothing about a run. `stop`: a
   * run in progress ends, because the node is not to be used for it.
   */
  readonly state: "ready" | "wait" | "silent" | "shared" | "stop";
  /** Name of the node at its cluster; its id, where the cluster states none. */
  readonly name: string;
  readonly suite: Suite | null;
}

/** Names of hosts. The first character keeps a name from being an option. */
export const NODE_NAME = /^[A-Za-z0-9][-_.A-Za-z0-9]{0,252}$/;

/** Labels in which executors state the name of a node at their cluster. */
const NAME_LABELS = ["slurm.node", "kubernetes.node"];

/** In the order in which the nodes joined. */
export function candidatesOf(engine: Engine, suites: ReturnType<typeof readSuites>): readonly Candidate[] {
  const { nodes, pools } = engine.state;
  const candidates: Candidate[] = [];
  for (const node of nodes.values()) {
    const { qualification } = node;
    const pool = pools.get(node.pool);
    if (qualification === undefined || pool === undefined) continue;
    candidates.push({
      nodeId: node.id,
      pool: node.pool,
      rule: pool.qualification ?? null,
      qualification,
      state: stateOf(engine, node),
      name: nameOf(node),
      suite: suiteOf(suites, engine.state, pool, qualification.suite),
    });
  }
  return candidates;
}

/** Name of a node at its cluster; its id, where the cluster states none. */
export const nameOf = ({ id, labels }: Node): string =>
  NAME_LABELS.map((label) => labels?.[label]).find((name) => name !== undefined) ?? id;

export interface IdlePeers {
  /** Names at their cluster, at most two. */
  readonly names: readonly string[];
  /** Further ones are only in use by other runs of the suite. */
  readonly areOthersInUse: boolean;
}

/**
 * Nodes with which the network of a node is measured: one of its own switch and one of another, both proven, in service and without work
 * that the test would disturb. Two runs that share a peer would each measure a part of its network. `proven`: the order of preference.
 * `inUse`: names of the peers of other runs.
 */
export function idlePeers(
  engine: Engine,
  of: NodeId,
  { proven, inUse }: { readonly proven: readonly string[]; readonly inUse: ReadonlySet<string> },
): IdlePeers {
  const { nodes } = engine.state;
  const fabric = JSON.stringify(nodes.get(of)?.fabric ?? []);
  const free = new Map<"near" | "far", string>();
  const used = new Set<"near" | "far">();
  for (const id of proven) {
    const node = nodes.get(id as NodeId);
    if (node === undefined || node.id === of || !isIdle(engine, node)) continue;
    const [place, name] = [JSON.stringify(node.fabric) === fabric ? "near" : "far", nameOf(node)] as const;
    if (!NODE_NAME.test(name)) continue;
    if (inUse.has(name)) used.add(place);
    else if (!free.has(place)) free.set(place, name);
    if (free.size === 2) break;
  }
  const names = (["near", "far"] as const).flatMap((place) => free.get(place) ?? []);
  return { names, areOthersInUse: [...used].some((place) => !free.has(place)) };
}

const isIdle = (engine: Engine, node: Node): boolean =>
  node.health === "up" &&
  node.qualification === undefined &&
  node.removal === undefined &&
  node.suspended !== true &&
  !node.draining &&
  !isShared(node) &&
  nodeUse(engine, node.id).attempts.length === 0;

function stateOf(engine: Engine, node: Node): Candidate["state"] {
  const { health, draining, removal, pool } = node;
  const hasRule = engine.state.pools.get(pool)?.qualification !== undefined;
  if (!hasRule || health === "lost" || draining || removal !== undefined) return "stop";
  if (node.suspended === true) return "silent";
  if (isShared(node)) return "shared";
  return mayRunSuite(node) && nodeUse(engine, node.id).attempts.length === 0 ? "ready" : "wait";
}
