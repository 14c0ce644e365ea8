/** When nodes that have to qualify are expected in service: the duration of a suite is lead time. */
import type { Node, NodeId, PoolName } from "@headroom/model";
import { mayRunSuite, type Engine } from "@headroom/engine";
import { nodeUse } from "./usage.ts";

/**
 * The expected instant of each node whose suite runs or can run, if it passes at once. Nodes that have failed, hold work,
 * are drained or are out of reach have none. Nodes of a pool run the suite in the order in which they joined, as many at
 * a time as its rule allows; a run takes as long as the last one that was stated, at most the limit of the rule.
 */
export function expectedProofs(engine: Engine, nowMs: number): ReadonlyMap<NodeId, number> {
  const { nodes, pools } = engine.state;
  const expected = new Map<NodeId, number>();
  const byPool = new Map<PoolName, Node[]>();
  for (const node of nodes.values()) {
    if (node.qualification === undefined || node.qualification.phase === "failed" || !canRun(engine, node)) continue;
    const list = byPool.get(node.pool);
    if (list === undefined) byPool.set(node.pool, [node]);
    else list.push(node);
  }
  for (const [name, proving] of byPool) {
    const rule = pools.get(name)?.qualification;
    if (rule === undefined) continue;
    const running = proving.filter(({ qualification }) => qualification?.phase === "running");
    const runMs = Math.max(0, ...running.map(({ qualification }) => qualification?.expectedMs ?? 0)) || rule.limitMs;
    // The instants at which places for a run become free.
    const free = running.map(({ qualification }) =>
      Math.max(nowMs, (qualification?.startedAtMs ?? nowMs) + (qualification?.expectedMs ?? rule.limitMs)),
    );
    for (const [at, { id }] of running.entries()) expected.set(id, free[at] as number);
    while (free.length < rule.atOnce) free.push(nowMs);
    // All further runs take equally long, so nodes get the places in turn.
    free.sort((left, right) => left - right);
    let turn = 0;
    for (const { id, qualification } of proving) {
      if (qualification?.phase !== "waiting") continue;
      const place = turn % rule.atOnce;
      expected.set(id, (free[place] ?? nowMs) + runMs * (1 + Math.floor(turn / rule.atOnce)));
      turn++;
    }
  }
  return expected;
}

const canRun = (engine: Engine, node: Node): boolean =>
  mayRunSuite(node) && (node.qualification?.phase === "running" || nodeUse(engine, node.id).attempts.length === 0);
