/** Nodes that could be cleared: for another worker of a request each, who would have to leave or to move, the cheapest first. */
import type { Batch } from "../../batch/batch.ts";
import type { NodeId } from "../../model/ids.ts";
import { wholeSlices } from "../../model/slices.ts";
import type { Attempt } from "../../model/workload.ts";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import { acceptableTypes } from "../../cluster/request.ts";
import type { VictimCandidate } from "../candidates.ts";
import type { CostSearch } from "./cost-search.ts";
import { acceleratorsOfUnit } from "../plan.ts";

/** Room for one worker more on a node. */
export interface DrainCandidate {
  readonly slot: NodeSlot;
  /** Of its type in the order of preference. */
  readonly typeRank: number;
  readonly units: readonly VictimCandidate[];
  /** Accelerators of work whose team holds no more than it may claim. */
  readonly strange: number;
  readonly cost: number;
}

/** All of a node's, one after the other. */
interface CandidateOnNode {
  readonly slot: NodeSlot;
  /** Of its type in the order of preference. */
  readonly typeRank: number;
  readonly units: VictimCandidate[];
}

/** As things stand now, of those who are given; the cheapest first, and of one node in the order in which they go. */
export function drainCandidatesFor(
  batch: Batch,
  search: CostSearch,
  { bucket, units }: { readonly bucket: QueueBucket; readonly units: readonly VictimCandidate[] },
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
      // Workers beyond its core leave the last first, so those behind it leave with it.
      const keeps = index < upTo ? 0 : wholeSlices(workload.spec, attempt.workers, index);
      known.units.push({ ...unit, keeps, upTo: attempt.workers.length, cost: keeps === 0 ? unit.cost : 0 });
      nodes.set(id, known);
    }
  }
  return [...nodes.values()];
}

/** As many workers more as the node can have, each with those of the list who stand in its way and nobody else. */
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

/** One for each attempt, with all that any of them gives. */
export function merged(units: readonly VictimCandidate[]): VictimCandidate[] {
  const bucket = new Map<Attempt, VictimCandidate>();
  for (const unit of units) {
    const known = bucket.get(unit.attempt);
    const widest = known === undefined || unit.keeps < known.keeps ? unit : known;
    bucket.set(unit.attempt, { ...widest, upTo: unit.attempt.workers.length });
  }
  return [...bucket.values()];
}
