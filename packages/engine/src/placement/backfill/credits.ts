/**
 * Credits are cores, memory and worker slots of a node that are free now and that protected starts do not need, because
 * running work releases enough of them before these starts. Accelerators need no credits: a reservation names
 * accelerators, and those in use are not free anyway. With credits, a node's free amounts are the least that remain
 * free at any instant before the request ends. So a request that fits delays no protected start (EASY backfill by
 * resources, Lifka, JSSPP 1995).
 */
import { shapeOf } from "@headroom/model";
import type { NodeId } from "@headroom/model";
import type { World } from "../../cluster/world.ts";
import type { ExpectedEnds } from "./expected-completions.ts";
import type { Reservation } from "./reservations.ts";

/** Amounts of one node: thousandths of cores, MiB of memory, and number of workers. */
export type NodeAmounts = readonly [coresMilli: number, memoryMib: number, workers: number];

/**
 * A change of the amounts that reservations need beyond the capacity that ended work has released. `sign` is 1 when a
 * reservation begins, and -1 when a reservation or running work ends.
 */
interface Step {
  readonly atMs: number;
  readonly amounts: NodeAmounts;
  readonly sign: 1 | -1;
}

/** Credits by node for a request that ends at `untilMs`. Nodes without credits are omitted. */
export function creditsUntil(
  world: World,
  ends: ExpectedEnds,
  reservations: readonly Reservation[],
  untilMs: number,
): ReadonlyMap<NodeId, NodeAmounts> {
  const steps = new Map<NodeId, Step[]>();
  const reserved = new Map<NodeId, NodeAmounts>();
  for (const { bucket, placement, startMs, endMs } of reservations) {
    if (startMs >= untilMs) continue;
    for (const worker of placement.workers) {
      const { coresMilli, memoryMib } = shapeOf(bucket.request.gang, worker);
      const amounts: NodeAmounts = [coresMilli, memoryMib, 1];
      const own = steps.get(worker.node) ?? [];
      own.push({ atMs: startMs, amounts, sign: 1 }, { atMs: endMs, amounts, sign: -1 });
      steps.set(worker.node, own);
      reserved.set(worker.node, sum(reserved.get(worker.node) ?? NOTHING, amounts, 1));
    }
  }
  const lastMs = Math.max(...reservations.map(({ startMs }) => (startMs < untilMs ? startMs : 0)));
  for (let position = 0, end = ends.at(0); end !== undefined && end.endMs <= lastMs; end = ends.at(++position)) {
    for (const worker of end.attempt.workers) {
      const { coresMilli, memoryMib } = shapeOf(end.gang, worker);
      steps.get(worker.node)?.push({ atMs: end.endMs, amounts: [coresMilli, memoryMib, 1], sign: -1 });
    }
  }
  const credits = new Map<NodeId, NodeAmounts>();
  for (const [node, own] of steps) {
    const credit = sum(reserved.get(node) ?? NOTHING, mostNeeded(own, untilMs), -1);
    if (credit.some((amount) => amount > 0) && world.capacity.slot(node).usable) credits.set(node, credit);
  }
  return credits;
}

const NOTHING: NodeAmounts = [0, 0, 0];

const sum = (left: NodeAmounts, right: NodeAmounts, sign: 1 | -1): NodeAmounts => [
  left[0] + sign * right[0],
  left[1] + sign * right[1],
  left[2] + sign * right[2],
];

/**
 * The largest amount of currently free capacity that reservations need at any instant before `untilMs`. At equal
 * instants, ends are counted before starts.
 */
function mostNeeded(steps: readonly Step[], untilMs: number): NodeAmounts {
  let needed = NOTHING;
  let most = NOTHING;
  for (const { atMs, amounts, sign } of steps.toSorted(
    (left, right) => left.atMs - right.atMs || left.sign - right.sign,
  )) {
    if (atMs >= untilMs) break;
    needed = sum(needed, amounts, sign);
    most = [Math.max(most[0], needed[0]), Math.max(most[1], needed[1]), Math.max(most[2], needed[2])];
  }
  return most;
}
