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

const nameOf = ({ id, labels }: Node): string =>
  NAME_LABELS.map((label) => labels?.[label]).find((name) => name !== undefined) ?? id;

/**
 * Names of up to two nodes with which the network of a node is measured: one of its own switch and one of another, both proven, in service
 * and without work that the test would disturb. `proven`: the order of preference.
 */
export function idlePeers(engine: Engine, of: NodeId, proven: readonly string[]): readonly string[] {
  const { nodes } = engine.state;
  const fabric = JSON.stringify(nodes.get(of)?.fabric ?? []);
  let [near, far]: [string | null, string | null] = [null, null];
  for (const id of proven) {
    const node = nodes.get(id as NodeId);
    if (node === undefined || node.id === of || !isIdle(engine, node)) continue;
    if (JSON.stringify(node.fabric) === fabric) near ??= nameOf(node);
    else far ??= nameOf(node);
    if (near !== null && far !== null) break;
  }
  return [near, far].filter((name) => name !== null);
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
