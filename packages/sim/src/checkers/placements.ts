/**
 * In allocations as decided, no accelerator, core or MiB of a node is given out twice (DESIGN §7.1); a gang has all of its
 * workers, on one type that it accepts (§7.2); and nothing new is placed on a node that is lost or draining.
 */
import { acceleratorIndices, type Attempt, type Node, type NodeId, type ReadonlyState } from "@headroom/engine";
import type { SimulatedRound } from "../run/simulation.ts";
import { mustHold } from "./violation.ts";

interface Held {
  readonly accelerators: Set<number>;
  coresMilli: number;
  memoryMib: number;
}

export function checkPlacements({ ready, engine }: SimulatedRound): void {
  const { state } = engine;
  const heldByNode = new Map<NodeId, Held>();
  for (const attempt of state.attempts.values()) {
    checkGang(state, attempt);
    for (const worker of attempt.workers) hold(state, attempt, worker, heldByNode);
  }
  for (const [nodeId, held] of heldByNode) {
    const node = nodeOf(state, nodeId);
    mustHold(
      held.coresMilli <= node.coresMilli,
      () => `${nodeId}: ${held.coresMilli} cores of ${node.coresMilli} given out`,
    );
    mustHold(held.memoryMib <= node.memoryMib, () => `${nodeId}: ${held.memoryMib} MiB of ${node.memoryMib} given out`);
  }
  for (const event of ready.events) {
    if (event.kind !== "gangPlaced") continue;
    for (const { node: nodeId } of event.workers) {
      const node = nodeOf(state, nodeId);
      mustHold(
        node.health === "up" && !node.draining,
        () => `${event.attemptId} was placed on ${nodeId}, which is not in use`,
      );
    }
  }
}

function checkGang(state: ReadonlyState, attempt: Attempt): void {
  const spec = state.workloads.get(attempt.workloadId)?.spec;
  mustHold(spec !== undefined, () => `${attempt.id} is active without a workload`);
  const { gang, acceleratorTypes } = spec;
  mustHold(
    attempt.workers.length === gang.workers,
    () => `${attempt.id} has ${attempt.workers.length} of ${gang.workers} workers`,
  );
  const accepts = acceleratorTypes.length === 0 || acceleratorTypes.includes(attempt.acceleratorType);
  mustHold(accepts, () => `${attempt.id} was given ${attempt.acceleratorType}, which it does not accept`);
}

type Worker = Attempt["workers"][number];

function hold(state: ReadonlyState, attempt: Attempt, worker: Worker, heldByNode: Map<NodeId, Held>): void {
  const node = nodeOf(state, worker.node);
  const gang = state.workloads.get(attempt.workloadId)!.spec.gang;
  const indices = acceleratorIndices(worker.accelerators);
  mustHold(node.acceleratorType === attempt.acceleratorType, () => `${attempt.id}: ${node.id} is of another type`);
  mustHold(
    indices.length === gang.accelerators,
    () => `${attempt.id} has ${indices.length} of ${gang.accelerators} on ${node.id}`,
  );
  let held = heldByNode.get(worker.node);
  if (held === undefined)
    heldByNode.set(worker.node, (held = { accelerators: new Set(), coresMilli: 0, memoryMib: 0 }));
  for (const index of indices) {
    mustHold(index < node.acceleratorCount, () => `${attempt.id} holds ${node.id}/${index}, which does not exist`);
    mustHold(!held.accelerators.has(index), () => `${node.id}/${index} is held twice, once by ${attempt.id}`);
    held.accelerators.add(index);
  }
  held.coresMilli += gang.coresMilli;
  held.memoryMib += gang.memoryMib;
}

function nodeOf(state: ReadonlyState, nodeId: NodeId): Node {
  const node = state.nodes.get(nodeId);
  mustHold(node !== undefined, () => `work sits on ${nodeId}, which does not exist`);
  return node;
}
