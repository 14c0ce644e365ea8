/** The fleet as an API resource: totals, and nodes with their work. */
import { acceleratorCount, forEachRange, shapeOf, takesWork } from "@headroom/model";
import type {
  Attempt,
  GangSpec,
  MaintenanceWindow,
  Node as EngineNode,
  NodeId,
  WorkerAllocation,
} from "@headroom/model";
import { noticeOf } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { expectedProofs, nodeUse, openMaintenance, powerDraws } from "@headroom/explain";
import { PAGE_ITEMS_DEFAULT } from "@headroom/protocol";
import type { AcceleratorCounts, Fleet, Node, NodeHolder, NodePhase, Page, PageRequest } from "@headroom/protocol";
import { qualificationResource } from "./qualification-text.ts";
import { cursorOrdinal } from "./page-cursor.ts";
import { poolResource, siteResource } from "./wire-forms.ts";

const noAccelerators: AcceleratorCounts = { total: 0, held: 0, free: 0, unavailable: 0 };

interface CountedNode {
  readonly node: EngineNode;
  readonly freeCount: number;
  readonly inMaintenance: boolean;
}

/** Adds a node's accelerators to `counts` and returns `counts`. */
function addNode(counts: AcceleratorCounts, { node, freeCount, inMaintenance }: CountedNode): AcceleratorCounts {
  const usable = takesWork(node) && node.hotSpare !== true && !inMaintenance;
  counts.total += node.acceleratorCount;
  const foreign = foreignCount(node);
  if (foreign > 0) counts.foreign = (counts.foreign ?? 0) + foreign;
  counts.held += node.acceleratorCount - freeCount - foreign;
  if (usable) counts.free += freeCount;
  else counts.unavailable += freeCount;
  return counts;
}

const foreignCount = ({ foreignUse }: EngineNode): number => acceleratorCount(foreignUse?.accelerators ?? "");

function countsIn(map: Map<string, AcceleratorCounts>, key: string): AcceleratorCounts {
  const counts = map.get(key) ?? { ...noAccelerators };
  map.set(key, counts);
  return counts;
}

/** Reads every node once, so its cost is proportional to the size of the fleet. */
export function fleetView(engine: Engine): Fleet {
  const { state } = engine;
  const nodes: Fleet["nodes"] = { total: 0, up: 0, lost: 0, draining: 0, inMaintenance: 0 };
  const qualifyingByPool = new Map<string, number>();
  const maintenance = openMaintenance(engine);
  const all = { ...noAccelerators };
  const byPool = new Map<string, AcceleratorCounts>();
  const byType = new Map<string, AcceleratorCounts>();
  const nodesByPool = new Map<string, number>();
  const hotSparesByPool = new Map<string, number>();
  for (const node of state.nodes.values()) {
    const { freeCount } = nodeUse(engine, node.id);
    nodes.total++;
    if (node.health === "up") nodes.up++;
    else nodes.lost++;
    if (node.draining) nodes.draining++;
    if (phaseOf(node).name === "qualifying") {
      nodes.qualifying = (nodes.qualifying ?? 0) + 1;
      qualifyingByPool.set(node.pool, (qualifyingByPool.get(node.pool) ?? 0) + 1);
    }
    const counted = { node, freeCount, inMaintenance: maintenance.has(node.id) };
    if (counted.inMaintenance) nodes.inMaintenance++;
    addNode(all, counted);
    addNode(countsIn(byPool, node.pool), counted);
    if (node.acceleratorCount > 0) addNode(countsIn(byType, node.acceleratorType), counted);
    nodesByPool.set(node.pool, (nodesByPool.get(node.pool) ?? 0) + 1);
    if (node.hotSpare === true) hotSparesByPool.set(node.pool, (hotSparesByPool.get(node.pool) ?? 0) + 1);
  }
  const caps = capsView(engine);
  return {
    sites: [...state.sites.values()].map(siteResource),
    pools: [...state.pools.values()].map((pool) => ({
      ...poolResource(pool),
      nodes: nodesByPool.get(pool.name) ?? 0,
      accelerators: byPool.get(pool.name) ?? noAccelerators,
      ...(qualifyingByPool.has(pool.name) ? { qualifying: qualifyingByPool.get(pool.name) ?? 0 } : {}),
      ...(hotSparesByPool.has(pool.name) ? { hotSparesKept: hotSparesByPool.get(pool.name) ?? 0 } : {}),
    })),
    acceleratorTypes: [...byType].map(([type, accelerators]) => ({ type, accelerators })),
    nodes,
    accelerators: all,
    ...(caps.length === 0 ? {} : { caps: caps.slice(0, CAPS_SHOWN_MAX) }),
  };
}

/** Domains with a cap, the fullest first. */
export const capsView = (engine: Engine): NonNullable<Fleet["caps"]> =>
  powerDraws(engine)
    .map(({ domain: { of, level, path, watts }, drawWatts }) => ({
      of,
      level,
      path: [...path],
      capWatts: watts,
      drawWatts,
    }))
    .toSorted((left, right) => right.drawWatts / right.capWatts - left.drawWatts / left.capWatts);

const CAPS_SHOWN_MAX = 1_000;

/** Nodes in the order in which they joined. The cursor is the ordinal of the last node shown. */
export function nodeList(engine: Engine, page: PageRequest): Page<Node> {
  const limit = page.limit ?? PAGE_ITEMS_DEFAULT;
  const after = cursorOrdinal(page.cursor, { first: 0, last: engine.state.joinedNodeCount - 1 }) ?? -1;
  const items: Node[] = [];
  const maintenance = openMaintenance(engine);
  const proofs = expectedProofs(engine, engine.state.nowMs);
  let last = after;
  for (const node of engine.state.nodes.values()) {
    if (node.ordinal <= after) continue;
    if (items.length === limit) return { items, nextCursor: String(last) };
    items.push(nodeResource(engine, node, withProof(proofs, { id: node.id, maintenance: maintenance.get(node.id) })));
    last = node.ordinal;
  }
  return { items, nextCursor: null };
}

/** The node; `null`: it does not exist. */
export function nodeView(engine: Engine, id: string): Node | null {
  const node = engine.state.nodes.get(id as NodeId);
  if (node === undefined) return null;
  const maintenance = openMaintenance(engine).get(node.id);
  if (node.qualification === undefined) return nodeResource(engine, node, { maintenance });
  const proofs = expectedProofs(engine, engine.state.nowMs);
  return nodeResource(engine, node, withProof(proofs, { id: node.id, maintenance }));
}

function withProof(
  proofs: ReadonlyMap<NodeId, number>,
  { id, maintenance }: { readonly id: NodeId; readonly maintenance: MaintenanceWindow | undefined },
): Parameters<typeof nodeResource>[2] {
  const expectedAtMs = proofs.get(id);
  return expectedAtMs === undefined ? { maintenance } : { maintenance, expectedAtMs };
}

function nodeResource(
  engine: Engine,
  node: EngineNode,
  {
    maintenance,
    expectedAtMs,
  }: { readonly maintenance: MaintenanceWindow | undefined; readonly expectedAtMs?: number },
): Node {
  const use = nodeUse(engine, node.id);
  const holders = use.attempts.flatMap((id) => {
    const attempt = engine.state.attempts.get(id);
    return attempt === undefined ? [] : holdersOf(engine, attempt, node.id);
  });
  const notice = noticeOf(engine.state, node.id);
  const { id, pool, acceleratorType, acceleratorCount: count, coresMilli, memoryMib, foreignUse } = node;
  const { health, draining, joinedAtMs } = node;
  return {
    id,
    pool,
    site: engine.state.pools.get(pool)?.site ?? "",
    fabric: [...node.fabric],
    acceleratorType,
    ...(node.acceleratorsChanged === true ? { acceleratorsChanged: true as const } : {}),
    acceleratorCount: count,
    freeAccelerators: complement(count, [...holders, ...(foreignUse === undefined ? [] : [foreignUse])]),
    coresMilli,
    coresFreeMilli: use.coresFreeMilli,
    memoryMib,
    memoryFreeMib: use.memoryFreeMib,
    ...(node.networkGbps === undefined ? {} : { networkGbps: node.networkGbps, networkFreeGbps: use.networkFreeGbps }),
    phase: phaseOf(node),
    ...(node.qualification === undefined
      ? {}
      : { qualification: qualificationResource(node.qualification, expectedAtMs) }),
    health,
    draining,
    ...(node.suspended === true ? { suspended: true as const } : {}),
    ...(foreignUse === undefined ? {} : { foreignUse: { ...foreignUse } }),
    ...(node.hotSpare === true ? { hotSpare: true as const } : {}),
    ...(maintenance === undefined ? {} : { maintenance: { name: maintenance.name, untilMs: maintenance.endMs } }),
    ...(notice === null ? {} : { notice }),
    joinedAtMs,
    labels: { ...node.labels },
    holders,
  };
}

/** The phase of the node. A state that hides another one comes first. */
function phaseOf({ health, removal, draining, qualification }: EngineNode): NodePhase {
  if (health === "lost") return { name: "lost" };
  if (removal !== undefined) return { name: "removing", ...removal };
  if (draining) return { name: "draining" };
  return qualification === undefined ? { name: "inService" } : { name: "qualifying", sinceMs: qualification.sinceMs };
}

function holdersOf(engine: Engine, attempt: Attempt, node: NodeId): NodeHolder[] {
  const workload = engine.state.workloads.get(attempt.workloadId);
  const holder = (allocation: WorkerAllocation, worker: number): NodeHolder => ({
    accelerators: allocation.accelerators,
    ...partOf(workload?.spec.gang, allocation),
    attemptId: attempt.id,
    worker,
    workloadId: attempt.workloadId,
    workloadName: workload?.spec.name ?? "",
    team: workload?.spec.team ?? "",
    phase: attempt.phase,
  });
  return attempt.workers.flatMap((allocation, worker) =>
    allocation.node === node ? [holder(allocation, worker)] : [],
  );
}

/** The MIG instance that a worker holds on an accelerator. */
function partOf(
  gang: GangSpec | undefined,
  { slice, taskGroup }: WorkerAllocation,
): Pick<NodeHolder, "slice" | "profile"> {
  if (gang === undefined || slice === undefined) return {};
  const { profile } = shapeOf(gang, taskGroup === undefined ? {} : { taskGroup });
  return { slice, ...(profile === undefined ? {} : { profile }) };
}

/** The indices below `count` that nothing holds, as ranges. */
function complement(count: number, holders: readonly Pick<NodeHolder, "accelerators">[]): string {
  const held = new Uint8Array(count);
  for (const { accelerators } of holders) forEachRange(accelerators, (first, last) => held.fill(1, first, last + 1));
  const ranges: string[] = [];
  for (let first = 0; first < count; first++) {
    if (held[first] === 1) continue;
    let last = first;
    while (last + 1 < count && held[last + 1] === 0) last++;
    ranges.push(first === last ? `${first}` : `${first}-${last}`);
    first = last;
  }
  return ranges.join(",");
}
