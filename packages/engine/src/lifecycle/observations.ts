/** Observations of executors. Reports about inactive attempts are outdated and change nothing. */
import {
  leastParts,
  partsOf,
  canonicalJson,
  isReleasedMachine,
  mayBeMissingMachine,
  orderOfNode,
  unreachable,
} from "@headroom/model";
import type { Observation, ExecutorSpec, NodeSpec, Pool, NodeId, Attempt, WorkerExit } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { withdraw } from "../transitions/nominations.ts";
import { activeAttempt, attemptsOn, workloadOf } from "../cluster/entities.ts";
import type { ReadonlyState } from "../state/state.ts";
import { countJoinedNode, keepOrder } from "./capacity-orders.ts";
import { heedOrderReport, identifyOrder } from "./order-reports.ts";
import { endAttempt } from "./end-attempt.ts";
import { seeForeignUse } from "./foreign-use.ts";
import { loseExecutor, regainExecutor } from "./executors.ts";
import type { AttemptEnd } from "./end-attempt.ts";
import { seeNodeCaches } from "./node-caches.ts";
import { endNotice, heedNotice } from "./notices.ts";
import { endQualification, requireProof, startQualification } from "./qualification.ts";
import { recordStoredCheckpoint } from "./stored-checkpoints.ts";
import { reportTransfer, seeStores } from "./stores.ts";
import { recordArtifacts } from "./signals.ts";
import { isWaitingForCheckpoint, requestStop } from "../transitions/stop-attempt.ts";
import { mayReplace, ranksOn } from "../cluster/lost-ranks.ts";

export function decideObservation(batch: Batch, observation: Observation): void {
  switch (observation.kind) {
    case "executorSeen":
      return register(batch, observation.executor);
    case "executorReachable":
      return regainExecutor(batch, observation.executor);
    case "executorUnreachable":
      return loseExecutor(batch, observation.executor, observation.detail);
    case "acceleratorsSeen":
      return seeAccelerators(batch, observation);
    case "nodeSeen":
      return seeNode(batch, observation.node);
    case "foreignUseSeen":
      return seeForeignUse(batch, observation);
    case "nodeCachesSeen":
      return seeNodeCaches(batch, observation);
    case "qualificationStarted":
      return startQualification(batch, observation);
    case "qualificationEnded":
      return endQualification(batch, observation);
    case "storesSeen":
      return seeStores(batch, observation.stores);
    case "bytesTransferred":
      return reportTransfer(batch, observation);
    case "nodeUnreachable":
      return loseNode(batch, observation.nodeId, observation.detail);
    case "nodeNotice":
      return heedNotice(batch, observation);
    case "orderIdentified":
      return identifyOrder(batch, observation);
    case "orderReported":
      return heedOrderReport(batch, observation);
    case "checkpointStored":
      return recordStoredCheckpoint(batch, observation);
    case "attemptRunning":
    case "replicaReady":
    case "replicaNotReady":
    case "attemptExited":
    case "workersLeft":
    case "workersJoined":
    case "joinFailed":
    case "attemptLost": {
      const attempt = activeAttempt(batch.world, observation.attemptId);
      if (attempt !== undefined) observeAttempt(batch, attempt, observation);
      return;
    }
    default:
      unreachable(observation);
  }
}

/** Records an executor whose declaration is new or has changed. */
function register(batch: Batch, executor: ExecutorSpec): void {
  const known = batch.world.state.executors.get(executor.id);
  if (known !== undefined && canonicalJson(known) === canonicalJson(executor)) return;
  batch.emit({ kind: "executorRegistered", version: 1, atMs: batch.nowMs, executor });
}

/** Records the accelerators that an executor found in a pool. Each node gets the new type when it is empty. */
function seeAccelerators(
  batch: Batch,
  { pool: name, acceleratorType, acceleratorFamily }: Extract<Observation, { readonly kind: "acceleratorsSeen" }>,
): void {
  const known = batch.world.state.pools.get(name);
  if (known === undefined) return;
  if (known.acceleratorType === acceleratorType && known.acceleratorFamily === acceleratorFamily) return;
  const { acceleratorFamily: _family, mig, acceleratorMemoryMib, ...rest } = known;
  const isOtherType = known.acceleratorType !== acceleratorType;
  const pool: Pool = {
    ...rest,
    acceleratorType,
    ...(acceleratorFamily === undefined ? {} : { acceleratorFamily }),
    // The MIG device and the memory were declared for the previous type, so they are dropped.
    ...(mig === undefined || isOtherType ? {} : { mig }),
    ...(acceleratorMemoryMib === undefined || isOtherType ? {} : { acceleratorMemoryMib }),
  };
  batch.emit({ kind: "poolDefined", version: 3, atMs: batch.nowMs, pool });
}

type AttemptObservation = Exclude<
  Extract<Observation, { readonly attemptId: Attempt["id"] }>,
  { readonly kind: "checkpointStored" | "bytesTransferred" }
>;

function observeAttempt(batch: Batch, attempt: Attempt, observation: AttemptObservation): void {
  switch (observation.kind) {
    case "attemptRunning":
      if (attempt.startedAtMs === null) recordStart(batch, attempt);
      return;
    case "replicaReady":
    case "replicaNotReady":
      return observeReadiness(batch, attempt, observation);
    case "attemptExited":
      if (observation.artifacts !== undefined) recordArtifacts(batch, attempt, observation.artifacts);
      return exitAttempt(batch, attempt, observation);
    case "workersLeft":
      if (attempt.terminating !== undefined && (observation.workers ?? 0) <= attempt.workers.length)
        batch.emit({ kind: "workersLeft", version: 1, atMs: batch.nowMs, attemptId: attempt.id });
      return;
    case "workersJoined":
      if (attempt.joining !== undefined)
        batch.emit({ kind: "workersJoined", version: 1, atMs: batch.nowMs, attemptId: attempt.id });
      return;
    case "joinFailed":
      return failJoin(batch, attempt, observation);
    case "attemptLost":
      return endLost(batch, attempt, {
        detail: observation.detail,
        ...(observation.cause === undefined ? {} : { cause: observation.cause }),
      });
    default:
      unreachable(observation);
  }
}

function recordStart(batch: Batch, attempt: Attempt): void {
  batch.emit({ kind: "attemptStarted", version: 1, atMs: batch.nowMs, attemptId: attempt.id });
}

/** Only changes are recorded. Readiness can be reported before the start; the start is then recorded first. */
function observeReadiness(
  batch: Batch,
  attempt: Attempt,
  observation: Extract<Observation, { readonly kind: "replicaReady" | "replicaNotReady" }>,
): void {
  if (workloadOf(batch.world, attempt.workloadId).spec.kind !== "serve") return;
  const fact = { version: 1, atMs: batch.nowMs, attemptId: attempt.id } as const;
  if (observation.kind === "replicaNotReady") {
    if (attempt.ready !== undefined) batch.emit({ kind: "replicaNotReady", ...fact, detail: observation.detail });
    return;
  }
  if (attempt.startedAtMs === null) recordStart(batch, attempt);
  const { address } = observation;
  if (attempt.ready?.address !== address) batch.emit({ kind: "replicaReady", ...fact, address });
}

/**
 * Handles the report that only `workers` workers of a gang could join. Reports that an executor repeats after a
 * restart, and reports about terminating workers, change nothing.
 */
function failJoin(
  batch: Batch,
  attempt: Attempt,
  { workers, detail }: Extract<Observation, { readonly kind: "joinFailed" }>,
): void {
  if (workers >= attempt.workers.length || attempt.missing !== undefined || attempt.stop !== null) return;
  const { gang } = workloadOf(batch.world, attempt.workloadId).spec;
  const least = leastParts(gang);
  const isEnough = partsOf(gang, attempt.workers.slice(0, workers)).every(
    (part, at) => part.workers >= (least[at]?.workers ?? 0),
  );
  if (!isEnough) return requestStop(batch, attempt, "incomplete");
  const nomination = batch.world.state.nominations.get(attempt.id);
  if (nomination?.growth === true) withdraw(batch, nomination, "a further worker did not come");
  batch.emit({ kind: "joinFailed", version: 1, atMs: batch.nowMs, attemptId: attempt.id, workers, detail });
}

const isFailure = (exit: WorkerExit): boolean => exit.kind === "signalled" || exit.code !== 0;

function exitAttempt(
  batch: Batch,
  attempt: Attempt,
  { exits, artifacts }: Extract<Observation, { readonly kind: "attemptExited" }>,
): void {
  const failure = exits.find(isFailure) ?? null;
  // While the engine waits for a checkpoint of the attempt, a success counts as a success, and a failure counts as the
  // requested stop.
  const wasStopped = attempt.stop !== null && (failure !== null || !isWaitingForCheckpoint(attempt));
  const outcome = wasStopped ? "stopped" : failure === null ? "succeeded" : "failed";
  // The report of the end can arrive before the report of the start. The start is then recorded first.
  if (attempt.startedAtMs === null) recordStart(batch, attempt);
  endAttempt(batch, attempt, { outcome, exit: failure, detail: "", artifacts });
}

function seeNode(batch: Batch, spec: NodeSpec): void {
  const { state, capacity } = batch.world;
  const { nowMs: atMs } = batch;
  const known = state.nodes.get(spec.id);
  if (known === undefined) {
    // A node of an undeclared pool is not used, and a pool that is being removed takes no further node.
    if (!state.pools.has(spec.pool) || state.poolRemovals.has(spec.pool)) return;
    if (state.capacityOrders.size > 0 && isStopping(state, spec, atMs)) return;
    batch.emit({ kind: "nodeJoined", version: 2, atMs, node: spec });
    const order = countJoinedNode(batch, spec.id);
    requireProof(batch, spec.id, { cause: "joined" });
    if (order !== null) keepOrder(batch, order);
    return;
  }
  if (known.health === "lost") {
    batch.emit({ kind: "nodeReturned", version: 1, atMs, nodeId: spec.id });
    requireProof(batch, spec.id, { cause: "returned" });
    endNotice(batch, spec.id);
  }
  const changed =
    known.acceleratorsChanged === true || canonicalJson(declared(known)) !== canonicalJson(declared(spec));
  // A node with a nomination does not change: the nomination was made for the node as it was. The executor reports again later.
  if (!changed || known.pool !== spec.pool || isNominated(state, spec.id)) return;
  // The amounts of a node change only while it holds no work. Its labels and its place in the fabric change at once.
  if (capacity.slot(spec.id).attempts.size === 0) {
    const isOther = known.acceleratorsChanged === true || areOtherAmounts(known, spec);
    batch.emit({ kind: "nodeChanged", version: 2, atMs, node: spec });
    // Labels, and the place in the fabric, say nothing about the machine.
    if (isOther) requireProof(batch, spec.id, { cause: "changed" });
  } else if (canonicalJson(placeOf(known)) !== canonicalJson(placeOf(spec)))
    batch.emit({ kind: "nodeRelabelled", version: 1, atMs, nodeId: spec.id, ...placeOf(spec) });
}

/** Whether the unknown node is, or may be, a machine that a provisioner is stopping. The executor reports it again. */
function isStopping({ capacityOrders }: ReadonlyState, spec: NodeSpec, atMs: number): boolean {
  if (isReleasedMachine(capacityOrders.values(), spec.id, atMs)) return true;
  if (orderOfNode(capacityOrders.values(), spec, atMs) !== null) return false;
  return mayBeMissingMachine(capacityOrders.values(), spec, atMs);
}

const areOtherAmounts = (known: NodeSpec, spec: NodeSpec): boolean =>
  known.acceleratorCount !== spec.acceleratorCount ||
  known.coresMilli !== spec.coresMilli ||
  known.memoryMib !== spec.memoryMib;

const placeOf = ({ fabric, labels = {} }: NodeSpec): Pick<Required<NodeSpec>, "fabric" | "labels"> => ({
  fabric,
  labels,
});

/** The reported properties of a node, without the engine's own fields. */
function declared(node: NodeSpec): unknown {
  const { id, pool, fabric, acceleratorCount, coresMilli, memoryMib, labels, workersMax, acceleratorGroups } = node;
  const optional = [labels ?? {}, workersMax ?? null, acceleratorGroups ?? []];
  return [id, pool, fabric, acceleratorCount, coresMilli, memoryMib, ...optional];
}

const isNominated = ({ nominations }: ReadonlyState, id: NodeId): boolean =>
  nominations.size > 0 && [...nominations.values()].some(({ workers }) => workers.some(({ node }) => node === id));

/**
 * Handles the loss of a node. A gang whose workers all ran on lost nodes ends immediately. A gang with other workers
 * requests replacements in the next round, if it supports them. Any other gang is stopped: its accelerators count as
 * used until its executor reports that none of its workers runs.
 */
function loseNode(batch: Batch, nodeId: NodeId, detail: string): void {
  const { state } = batch.world;
  const node = state.nodes.get(nodeId);
  if (node === undefined || node.health === "lost") return;
  batch.emit({ kind: "nodeLost", version: 1, atMs: batch.nowMs, nodeId, detail });
  endNotice(batch, nodeId);
  for (const attempt of attemptsOn(batch.world, [nodeId])) {
    const isLostEverywhere = attempt.workers.every((worker) => state.nodes.get(worker.node)?.health === "lost");
    if (isLostEverywhere) endLost(batch, attempt, { detail: `node ${nodeId} was lost: ${detail}` });
    else if (mayReplace(batch.world, attempt)) loseRanks(batch, attempt, nodeId);
    else requestStop(batch, attempt, "nodeLost");
  }
}

/** Ends an attempt whose workers have all stopped running. */
const endLost = (batch: Batch, attempt: Attempt, loss: Pick<AttemptEnd, "detail" | "cause">): void =>
  endAttempt(batch, attempt, { outcome: attempt.stop === null ? "lost" : "stopped", exit: null, ...loss });

function loseRanks(batch: Batch, attempt: Attempt, nodeId: NodeId): void {
  const nomination = batch.world.state.nominations.get(attempt.id);
  if (nomination !== undefined) withdraw(batch, nomination, "it has lost workers");
  const lostRanks = ranksOn(attempt, nodeId);
  batch.emit({ kind: "gangDegraded", version: 1, atMs: batch.nowMs, attemptId: attempt.id, nodeId, lostRanks });
  batch.markDegraded(attempt);
}
