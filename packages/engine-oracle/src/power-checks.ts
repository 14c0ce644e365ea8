/**
 * Recounts the draw of domains with a cap from pools, nodes and attempts alone. No batch places accelerators in a domain beyond its cap. A
 * cap that was lowered below the present draw stops no work, so domains without new work are not checked.
 */
import type { Findings, World } from "@headroom/engine/internals";
import { acceleratorIndices, cappedDomainName, cappedDomainsOf, shapeOf } from "@headroom/model";
import type { AttemptId, CappedDomain, Event, NodeId, WorkerAllocation, Workload } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { bookedMilli } from "./part-recount.ts";
import { foreignOn, heldByNode } from "./recount.ts";

/** Events after which work that the batch placed earlier can be beyond a cap. */
const CHANGES: ReadonlySet<Event["kind"]> = new Set([
  "siteDefined",
  "poolDefined",
  "nodeJoined",
  "nodeChanged",
  "nodeRelabelled",
]);

export function checkPower(findings: Findings, state: ReadonlyState, events: readonly Event[]): void {
  if (![...state.sites.values()].some(({ caps }) => caps !== undefined)) return;
  if (events.some(({ kind }) => CHANGES.has(kind))) return;
  const placed = new Set<AttemptId>();
  for (const event of events)
    if (event.kind === "gangPlaced" || event.kind === "gangGrown" || event.kind === "workersReplaced")
      placed.add(event.attemptId);
  const totals = drawByDomain(state, placed);
  for (const { domain, watts, hasNew } of totals.values())
    findings.expect(
      !hasNew || watts <= domain.watts,
      () => `${cappedDomainName(domain)} draws ${watts} W with new work, its cap on ${domain.of} is ${domain.watts} W`,
    );
}

interface DomainDraw {
  readonly domain: CappedDomain;
  watts: number;
  hasNew: boolean;
}

function drawByDomain(state: ReadonlyState, placed: ReadonlySet<AttemptId>): ReadonlyMap<string, DomainDraw> {
  const totals = new Map<string, DomainDraw>();
  const add = (id: NodeId, watts: number, isNew: boolean): void => {
    const node = state.nodes.get(id);
    const pool = node === undefined ? undefined : state.pools.get(node.pool);
    if (node === undefined || pool === undefined) return;
    for (const domain of cappedDomainsOf(node, state.sites.get(pool.site))) {
      const key = keyOf(domain);
      const total = totals.get(key) ?? { domain, watts: 0, hasNew: false };
      totals.set(key, total);
      total.watts += watts;
      total.hasNew ||= isNew;
    }
  };
  for (const node of state.nodes.values()) add(node.id, state.pools.get(node.pool)?.power?.nodeWatts ?? 0, false);
  for (const { id, workloadId, workers, terminating = [] } of state.attempts.values()) {
    const workload = state.workloads.get(workloadId);
    if (workload === undefined) continue;
    for (const worker of [...workers, ...terminating])
      add(worker.node, drawOf(state, workload, worker), placed.has(id) && worker.accelerators !== "");
  }
  return totals;
}

function drawOf(state: ReadonlyState, { spec: { gang } }: Workload, worker: WorkerAllocation): number {
  const node = state.nodes.get(worker.node);
  const power = node === undefined ? undefined : state.pools.get(node.pool)?.power;
  const count = acceleratorIndices(worker.accelerators).length;
  return node === undefined
    ? 0
    : (count * bookedMilli(node, shapeOf(gang, worker), worker) * (power?.acceleratorWatts ?? 0)) / 1000;
}

/** Compares the meters of capped domains with a recount of what attempts and nominations hold on each node. */
export function checkPowerMeters(findings: Findings, { state, capacity: { power } }: World): void {
  if (power === null) return;
  const sum = (amounts: ReadonlyMap<number, number>): number =>
    [...amounts.values()].reduce((all, one) => all + one, 0);
  const held = heldByNode(state);
  const counted = new Map<string, number[]>();
  for (const node of state.nodes.values()) {
    const pool = state.pools.get(node.pool);
    const { nodeWatts = 0, acceleratorWatts = 0 } = pool?.power ?? {};
    const on = held.get(node.id);
    const own = on === undefined ? 0 : sum(on.accelerators) + sum(on.nominated);
    const isUsed = (index: number): boolean =>
      on !== undefined && (on.accelerators.get(index) ?? 0) + (on.nominated.get(index) ?? 0) > 0;
    const taken = own + 1000 * [...foreignOn(node)].filter((index) => !isUsed(index)).length;
    const draws = [
      nodeWatts * 1000,
      taken * acceleratorWatts,
      on === undefined ? 0 : sum(on.terminating) * acceleratorWatts,
    ];
    for (const domain of cappedDomainsOf(node, pool === undefined ? undefined : state.sites.get(pool.site))) {
      const key = keyOf(domain);
      counted.set(
        key,
        draws.map((draw, at) => draw + (counted.get(key)?.[at] ?? 0)),
      );
    }
  }
  for (const { domain, nodesMilliwatts, takenMilliwatts, releasingMilliwatts } of power.all) {
    const own = [nodesMilliwatts, takenMilliwatts, releasingMilliwatts].join(" ");
    const right = counted.get(keyOf(domain))?.join(" ");
    findings.expect(own === right, () => `${cappedDomainName(domain)} is metered at ${own} mW, it draws ${right} mW`);
  }
}

const keyOf = ({ of, level, path }: CappedDomain): string => JSON.stringify([of, level, path]);
