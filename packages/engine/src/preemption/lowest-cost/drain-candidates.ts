/**
 * Drain candidates: nodes that could be cleared for one more worker of a request, cheapest first, with the work that
 * would be evicted or migrate.
 */
import { wholeSlices } from "@headroom/model";
import type { NodeId, Attempt } from "@headroom/model";
import type { Batch } from "../../batch/batch.ts";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import { acceptableTypes } from "../../cluster/request.ts";
import type { VictimCandidate } from "../candidates.ts";
import type { CostSearch } from "./cost-search.ts";
import { acceleratorsOfUnit } from "../plan.ts";

/** A way to free capacity for one more worker on a node. */
export interface DrainCandidate {
  readonly slot: NodeSlot;
  /** Rank of the node's type in the request's order of preference. */
  readonly typeRank: number;
  readonly units: readonly VictimCandidate[];
  /** Number of accelerators held by work that would have to migrate, because its team is not a donor. */
  readonly strange: number;
  readonly cost: number;
}

/** All victims on one node, in the order in which they are evicted. */
interface CandidateOnNode {
  readonly slot: NodeSlot;
  /** Rank of the node's type in the request's order of preference. */
  readonly typeRank: number;
  readonly units: VictimCandidate[];
}

/**
 * Nodes that can be cleared now by evicting some of `units`, cheapest first. A later candidate of the same node assumes
 * that the victims of the earlier ones are evicted too, and its cost includes theirs.
 */
export function drainCandidatesFor(
  batch: Batch,
  search: CostSearch,
  bucket: QueueBucket,
  units: readonly VictimCandidate[],
): readonly DrainCandidate[] {
  const listed = onNodes(batch, bucket, units).flatMap((there) => drainCandidatesOf(search, bucket.request, there));
  return listed.sort(
    (left, right) =>
      left.strange - right.strange ||
      left.cost - right.cost ||
      left.typeRank - right.typeRank ||
      left.slot.position - right.slot.position,
  );
}

function onNodes({ world }: Batch, bucket: QueueBucket, units: readonly VictimCandidate[]): readonly CandidateOnNode[] {
  const types = acceptableTypes(world, bucket.request).map(({ type }) => type);
  const nodes = new Map<NodeId, CandidateOnNode>();
  for (const unit of units) {
    const { attempt, workload, upTo } = unit;
    const firstOn = new Map<NodeId, number>();
    for (const [index, { node }] of attempt.workers.entries()) if (!firstOn.has(node)) firstOn.set(node, index);
    for (const [id, index] of firstOn) {
      const slot = world.capacity.slot(id);
      const typeRank = types.indexOf(slot.node.acceleratorType);
      if (!slot.usable || typeRank < 0) continue;
      const known = nodes.get(id) ?? { slot, typeRank, units: [] };
      // A gang loses its last workers first, so all workers of higher rank are victims too.
      const keeps = index < upTo ? 0 : wholeSlices(workload.spec, attempt.workers, index);
      known.units.push({ ...unit, keeps, upTo: attempt.workers.length, cost: keeps === 0 ? unit.cost : 0 });
      nodes.set(id, known);
    }
  }
  return [...nodes.values()];
}

/** One candidate for each further worker that the node could hold, with only the victims that this worker needs. */
function drainCandidatesOf(
  search: CostSearch,
  { gang, workers }: PlacementRequest,
  { slot, typeRank, units }: CandidateOnNode,
): DrainCandidate[] {
  if (slot.totalCount < gang.accelerators) return [];
  const { ledger, donors, costOf } = search;
  const mark = ledger.mark();
  const bucket: DrainCandidate[] = [];
  const fits = (): number => slot.workersThatFit(gang, workers, "releasing");
  const leave = ({ attempt, keeps, upTo }: VictimCandidate): void => ledger.vacateWorkers(attempt, keeps, upTo);
  let rest: readonly VictimCandidate[] = units;
  let [strange, cost] = [0, 0];
  while (rest.length > 0) {
    const before = fits();
    const taken: VictimCandidate[] = [];
    for (const unit of rest) {
      if (fits() > before) break;
      leave(unit);
      taken.push(unit);
    }
    if (fits() <= before) break;
    const isNeeded = (unit: VictimCandidate): boolean => {
      const undone = ledger.mark();
      ledger.stay(unit.attempt, unit.keeps, unit.upTo);
      if (fits() > before) return false;
      ledger.rollback(undone);
      return true;
    };
    const needed = taken.toReversed().filter(isNeeded).toReversed();
    if (needed.length === 0) break;
    strange += sumOf(needed, (unit) => (donors.has(unit.workload.spec.team) ? 0 : acceleratorsOfUnit(unit)));
    cost += sumOf(needed, costOf);
    bucket.push({ slot, typeRank, units: needed, strange, cost });
    rest = rest.filter((unit) => !needed.includes(unit));
  }
  ledger.rollback(mark);
  return bucket;
}

const sumOf = (units: readonly VictimCandidate[], amountOf: (unit: VictimCandidate) => number): number =>
  units.reduce((sum, unit) => sum + amountOf(unit), 0);

/** One unit for each attempt, which covers all units of that attempt. */
export function merged(units: readonly VictimCandidate[]): VictimCandidate[] {
  const bucket = new Map<Attempt, VictimCandidate>();
  for (const unit of units) {
    const known = bucket.get(unit.attempt);
    const widest = known === undefined || unit.keeps < known.keeps ? unit : known;
    bucket.set(unit.attempt, { ...widest, upTo: unit.attempt.workers.length });
  }
  return [...bucket.values()];
}
