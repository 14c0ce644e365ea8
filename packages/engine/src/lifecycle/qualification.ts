/**
 * Nodes that must pass a suite before they take work. The engine records who has to qualify; a driver runs the suite and
 * reports each run. Only a reported pass is a proof: silence, and reports about other runs, change nothing.
 */
import { QUALIFICATION_DETAIL_MAX, QUALIFICATION_RUNS_MAX } from "@headroom/model";
import type { Command, Node, NodeId, NodeQualification, Observation, Pool, QualificationCause } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { keepOrder } from "./capacity-orders.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";

type ReportOf<Kind extends Observation["kind"]> = Observation & { readonly kind: Kind };

/** The node takes no work until it has passed the suite of its pool, if the pool has a rule. */
export function requireProof(
  batch: Batch,
  nodeId: NodeId,
  { cause, actor = null }: { readonly cause: QualificationCause; readonly actor?: string | null },
): void {
  const { nodes, pools } = batch.world.state;
  const node = nodes.get(nodeId);
  const rule = node === undefined ? undefined : pools.get(node.pool)?.qualification;
  if (rule === undefined) return;
  const { suite } = rule;
  batch.emit({ kind: "nodeQualificationRequired", version: 1, atMs: batch.nowMs, nodeId, suite, cause, actor });
}

export function qualifyNode(batch: Batch, { nodeId, actor }: Command & { readonly kind: "qualifyNode" }): Decision {
  const { nodes, pools } = batch.world.state;
  const node = nodes.get(nodeId);
  if (node === undefined) return refused({ code: "unknownNode", nodeId });
  if (pools.get(node.pool)?.qualification === undefined)
    return refused({ code: "noQualification", nodeId, pool: node.pool });
  // A qualification that waits or runs is what the caller asks for.
  if (node.qualification === undefined || node.qualification.phase === "failed")
    requireProof(batch, nodeId, { cause: "requested", actor });
  return done({ kind: "nodeQualifying", nodeId });
}

/** The qualification that the report is about; `null`: another one, or none. */
function reportedOn(
  { nodes }: { readonly nodes: ReadonlyMap<NodeId, Node> },
  { nodeId, id }: { readonly nodeId: NodeId; readonly id: number },
): NodeQualification | null {
  const { qualification } = nodes.get(nodeId) ?? {};
  return qualification?.id === id ? qualification : null;
}

/** A run begins only on a reachable node that is not drained or leaving, and holds no work. */
export function startQualification(batch: Batch, report: ReportOf<"qualificationStarted">): void {
  const { state, capacity } = batch.world;
  const { nodeId, run, expectedMs } = report;
  const qualification = reportedOn(state, report);
  if (qualification?.phase !== "waiting" || run !== qualification.run + 1) return;
  const node = state.nodes.get(nodeId);
  if (node === undefined || !mayRunSuite(node) || capacity.slot(nodeId).attempts.size > 0) return;
  batch.emit({ kind: "nodeQualificationStarted", version: 1, atMs: batch.nowMs, nodeId, run, expectedMs });
}

/** Whether the suite can begin on the node, besides the work that it holds. Work of others would make it slow. */
export const mayRunSuite = (node: Node): boolean =>
  node.health === "up" && !node.draining && node.removal === undefined && node.suspended !== true && !isShared(node);

/** Agents of a cluster (DaemonSets) request a part of each node for ever: up to a quarter of its cores and memory is no work. */
const AGENTS_PART = 4;

/** Whether work of others holds the node. */
export const isShared = ({ foreignUse, coresMilli, memoryMib }: Node): boolean =>
  foreignUse !== undefined &&
  (foreignUse.accelerators !== "" ||
    AGENTS_PART * foreignUse.coresMilli > coresMilli ||
    AGENTS_PART * foreignUse.memoryMib > memoryMib);

export function endQualification(batch: Batch, report: ReportOf<"qualificationEnded">): void {
  const qualification = reportedOn(batch.world.state, report);
  if (qualification?.phase !== "running" || report.run !== qualification.run) return;
  const { nodeId, isPassed, durationMs } = report;
  const { nodes, pools } = batch.world.state;
  const rule = pools.get(nodes.get(nodeId)?.pool ?? ("" as Pool["name"]))?.qualification;
  // The rule asks for another suite since the run began: what this one says is no proof.
  if (rule !== undefined && rule.suite !== qualification.suite)
    return requireProof(batch, nodeId, { cause: qualification.cause });
  const detail = report.detail.slice(0, QUALIFICATION_DETAIL_MAX);
  const outcome = rule === undefined ? "waived" : outcomeOf(isPassed, qualification.run);
  const fact = { version: 1, atMs: batch.nowMs, nodeId, outcome, detail, durationMs } as const;
  batch.emit({ kind: "nodeQualificationEnded", ...fact });
  keepOrderOf(batch, nodeId);
}

const outcomeOf = (isPassed: boolean, run: number): "passed" | "retried" | "failed" =>
  isPassed ? "passed" : run < QUALIFICATION_RUNS_MAX ? "retried" : "failed";

/**
 * The pool is declared without a rule: its nodes take work as they are. With another suite, nodes must pass that one. A
 * node on which a suite runs follows when the driver has reported the end of the run.
 */
export function keepQualifications(batch: Batch, { name, qualification: rule }: Pool): void {
  const { nodes } = batch.world.state;
  for (const { id: nodeId, pool, qualification } of nodes.values()) {
    if (pool !== name || qualification === undefined || rule?.suite === qualification.suite) continue;
    if (qualification.phase === "running") continue;
    if (rule !== undefined) requireProof(batch, nodeId, { cause: qualification.cause });
    else {
      const fact = { version: 1, atMs: batch.nowMs, nodeId, outcome: "waived", detail: "", durationMs: 0 } as const;
      batch.emit({ kind: "nodeQualificationEnded", ...fact });
      keepOrderOf(batch, nodeId);
    }
  }
}

function keepOrderOf(batch: Batch, nodeId: NodeId): void {
  const { capacityOrder } = batch.world.state.nodes.get(nodeId) ?? {};
  if (capacityOrder !== undefined) keepOrder(batch, capacityOrder);
}
