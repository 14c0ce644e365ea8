/** Verifies a placement without the code that produced it. A violation is a bug and stops the process. */
import {
  acceleratorCount,
  acceleratorIndices,
  fractionOn,
  needsFraction,
  needsPart,
  isOfTypes,
  shapeOf,
  attemptId,
  InvariantError,
  invariant,
} from "@headroom/model";
import type { Node, WorkerAllocation, WorkerShape } from "@headroom/model";
import { windowBroken } from "./calendar.ts";
import { Findings } from "./findings.ts";
import { checkPart, slicesOf } from "./part-checks.ts";
import { checkGroups } from "./group-checks.ts";
import { verifyPower } from "./power.ts";
import { growingAttempt } from "../../cluster/request.ts";
import type { Placement } from "../../cluster/request.ts";
import { executorOfNode } from "../../state/executors.ts";
import type { Layer, NodeSlot } from "../../cluster/node-slot.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import type { World } from "../../cluster/world.ts";

/** Written without `takesWork`, which the search reads. */
const isClosing = ({ draining, removal, qualification }: Node): boolean =>
  draining || removal !== undefined || qualification !== undefined;

/**
 * Verifies the workers, nodes, accelerator types and constraints of a placement. Free accelerators, cores and memory
 * are checked later, when they are booked (`Capacity.take`).
 */
export function verifyPlacement(world: World, bucket: QueueBucket, placement: Placement, layer: Layer = "idle"): void {
  const { request, waiting } = bucket;
  const { gang, acceleratorTypes } = request;
  const { workers, acceleratorType } = placement;
  const workload = waiting.first();
  const who = workload?.id ?? "nobody";
  if (workers.length !== request.workers)
    throw new InvariantError(`${who} was given ${workers.length} of ${request.workers} workers`);
  const acceleratorFamily = world.capacity.type(acceleratorType)?.family;
  const given = acceleratorFamily === undefined ? { acceleratorType } : { acceleratorType, acceleratorFamily };
  if (!isOfTypes(acceleratorTypes, given)) throw new InvariantError(`${who} was given type ${acceleratorType}`);
  if (gang.taskGroups !== undefined) verifyGroups(world, bucket, workers);
  if (layer === "idle") verifyPower(world, gang, workers);
  const first = growingAttempt(world, request)?.workers[0] ?? workers[0];
  const isOneAlone = workers.length === 1 && workers[0] === first;
  const executor = first === undefined || isOneAlone ? null : executorOfNode(world.state, first.node);
  for (const worker of workers) {
    // Messages are built only for violations, because this runs for every worker that starts.
    if (worker !== first && executorOfNode(world.state, worker.node) !== executor)
      throw new InvariantError(`${who} is spread over executors`);
    const node = world.state.nodes.get(worker.node);
    if (node === undefined || node.health !== "up" || isClosing(node) || node.hotSpare === true)
      throw new InvariantError(`${who} was placed on node ${worker.node}, which takes no work`);
    if (gang.taskGroups === undefined && node.acceleratorType !== acceleratorType)
      throw new InvariantError(`${who} mixes accelerator types`);
    if (acceleratorCount(worker.accelerators) !== shapeOf(gang, worker).accelerators)
      throw new InvariantError(`${who} was given ${worker.accelerators} on ${worker.node}`);
    verifyPart(who, { node, shape: shapeOf(gang, worker), worker });
    if (request.spec.nodeSelector !== undefined)
      for (const [label, value] of Object.entries(request.spec.nodeSelector))
        invariant(
          node.labels?.[label] === value,
          `${who} asks for ${label}=${value}, ${worker.node} has ${node.labels?.[label]}`,
        );
    if (workload !== undefined && layer !== "eventual" && world.state.calendar.size > 0) {
      const window = windowBroken(world.state, workload, node, world.calendar.nowMs);
      invariant(window === null, `${who} was placed on ${worker.node}, where it may run into ${window}`);
    }
    if (layer === "releasing") verifyReleasing(world, request, worker);
  }
}

/**
 * Verifies a MIG slice or fraction. For workers with whole accelerators, which are the most frequent, it allocates no
 * memory.
 */
function verifyPart(who: string, on: Parameters<typeof checkPart>[2]): void {
  if (!needsPart(on.shape) && on.worker.slice === undefined) return;
  const findings = new Findings();
  checkPart(findings, who, on);
  invariant(findings.list.length === 0, findings.list[0] ?? "");
}

/**
 * Verifies task groups: a new gang has the minimum of every group, growth stays within the maximum, and each group is
 * on one accepted accelerator type.
 */
function verifyGroups(world: World, { request, waiting }: QueueBucket, workers: Placement["workers"]): void {
  const growing = growingAttempt(world, request);
  const findings = new Findings();
  checkGroups(findings, world.state, {
    id: growing?.id ?? attemptId(waiting.first()?.id ?? "nobody"),
    spec: request.spec,
    workers: [...(growing?.workers ?? []), ...workers],
    // In KAI's victim search, a running worker that requests its own place again is counted twice.
    isIncomplete: growing !== null,
  });
  const [first] = request.group === null ? findings.list : [];
  invariant(first === undefined, first ?? "");
}

function isReleasing(slot: NodeSlot, index: number, shape: WorkerShape, worker: WorkerAllocation): boolean {
  if (shape.profile !== undefined) {
    const taken = slot.slicesTaken(index, "releasing");
    const slices = slicesOf(slot.node, shape, worker);
    return slices.length > 0 && slices.every((slice) => ((taken >>> (4 * slice)) & 15) === 0);
  }
  return needsFraction(shape)
    ? slot.room(index, "releasing") >= fractionOn(shape, slot.node)
    : slot.isWhole(index, "releasing");
}

/** Verifies that each accelerator is free once terminating work has ended, because a plan books nothing. */
function verifyReleasing({ capacity }: World, { gang }: PlacementRequest, worker: Placement["workers"][number]): void {
  const { node, accelerators } = worker;
  const shape = shapeOf(gang, worker);
  const slot = capacity.slot(node);
  for (const index of acceleratorIndices(accelerators)) {
    invariant(
      isReleasing(slot, index, shape, worker),
      `accelerator ${index} of ${node} is planned for and is not coming`,
    );
  }
}
