/** Nodes, pools and sites that leave the fleet: what is removed leaves nothing behind, and what is leaving still holds work. */
import { checkReleasedNode } from "./burst-checks.ts";
import type { ReadonlyState } from "@headroom/engine";
import { CachedInputs } from "@headroom/engine/internals";
import type { Findings, World } from "@headroom/engine/internals";
import { heldByNode } from "./recount.ts";

/** Checks the counter of nodes, and what a pending removal says about the nodes, pools and sites that it covers. */
export function checkRemovals(findings: Findings, state: ReadonlyState): void {
  let last = -1;
  for (const { id, ordinal, pool, removal } of state.nodes.values()) {
    findings.expect(ordinal > last, () => `node ${id} has ordinal ${ordinal} behind a node with ${last}`);
    last = ordinal;
    const isRemoved = state.poolRemovals.has(pool);
    findings.expect(!isRemoved || removal !== undefined, () => `node ${id} stays, its pool ${pool} is leaving`);
  }
  findings.expect(
    last < state.joinedNodeCount && state.nodes.size <= state.joinedNodeCount,
    () => `${state.joinedNodeCount} nodes have joined, but one has ordinal ${last}`,
  );
  for (const { name, site } of state.pools.values())
    findings.expect(
      !state.siteRemovals.has(site) || state.poolRemovals.has(name),
      () => `pool ${name} stays, its site ${site} is leaving`,
    );
  for (const pool of state.poolRemovals.keys())
    findings.expect(
      [...state.nodes.values()].some((node) => node.pool === pool),
      () => `pool ${pool} is leaving, and has no nodes that could hold work`,
    );
  for (const site of state.siteRemovals.keys())
    findings.expect(
      [...state.pools.values()].some((pool) => pool.site === site),
      () => `site ${site} is leaving, and has no pools`,
    );
  const held = heldByNode(state);
  for (const node of state.nodes.values()) {
    const { id, removal } = node;
    if (removal === undefined) continue;
    if (removal.awaits !== undefined) {
      checkReleasedNode(findings, state, { node, attempts: held.get(id)?.attempts.size ?? 0 });
      continue;
    }
    findings.expect((held.get(id)?.attempts.size ?? 0) > 0, () => `node ${id} is leaving, and holds no work`);
    for (const attempt of held.get(id)?.attempts ?? [])
      findings.expect(state.attempts.get(attempt)?.stop !== null, () => `${attempt} runs on ${id}, which is leaving`);
  }
}

/** Checks that the indexes know exactly the nodes of the state. */
export function checkNodeIndexes(
  findings: Findings,
  { state, capacity, calendar, removing, cachedInputs }: World,
): void {
  const marked = [...state.nodes.values()].filter((node) => node.removal !== undefined).map(({ id }) => id);
  findings.expect(
    marked.length === removing.size && marked.every((id) => removing.has(id)),
    () => `nodes ${marked.join(", ")} are leaving, ${[...removing].join(", ")} are indexed`,
  );
  const cached = new CachedInputs(state.nodes.values()).describe();
  findings.expect(
    String(cached) === String(cachedInputs.describe()),
    () => `${cached.length} cached inputs are on nodes, and the index has others`,
  );
  findings.expect(!capacity.hasGaps, () => "removed nodes still have positions");
  const count = capacity.allTypes.reduce((sum, { slots }) => sum + slots.length, 0);
  findings.expect(count === state.nodes.size, () => `${count} nodes are indexed, ${state.nodes.size} exist`);
  for (const { node } of capacity.hotSpares)
    findings.expect(state.nodes.has(node.id), () => `${node.id} is an indexed hot spare, and does not exist`);
  for (const { window, nodes } of calendar.windows)
    for (const id of nodes)
      findings.expect(state.nodes.has(id), () => `${window.name} is indexed with ${id}, which does not exist`);
}
