/** Notices that a node goes away, from a command or from an executor. */
import type { Command, Observation, NodeId } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { noticeName, noticeOf } from "../state/notices.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";

/** Time after the announced departure. A node that still exists then takes work again. */
const NOTICE_HOLDS_MS = 3_600_000;

/** Actor of the notices that executors report. */
const NOTICE_ACTOR = "notice";

/**
 * Records a notice as a maintenance window of the node that begins at its departure. It affects running and new work
 * like any other window.
 */
function record(batch: Batch, nodeId: NodeId, goneAtMs: number, reason: string | undefined, actor: string): void {
  const known = noticeOf(batch.world.state, nodeId);
  if (known !== null && known.goneAtMs === goneAtMs && known.reason === reason) return;
  const endMs = Math.max(goneAtMs, batch.nowMs) + NOTICE_HOLDS_MS;
  const window = { kind: "maintenance", name: noticeName(nodeId), nodes: [nodeId], startMs: goneAtMs, endMs } as const;
  const entry = reason === undefined ? window : { ...window, reason };
  batch.emit({ kind: "calendarSet", version: 1, atMs: batch.nowMs, entry, actor });
}

export function heedNotice(batch: Batch, { nodeId, goneAtMs }: Observation & { readonly kind: "nodeNotice" }): void {
  if (batch.world.state.nodes.get(nodeId)?.health !== "up") return;
  record(batch, nodeId, goneAtMs, noticeOf(batch.world.state, nodeId)?.reason, NOTICE_ACTOR);
}

/** Removes the notice of a node that has gone or has returned. */
export function endNotice(batch: Batch, nodeId: NodeId, actor: string = NOTICE_ACTOR): void {
  if (noticeOf(batch.world.state, nodeId) !== null)
    batch.emit({ kind: "calendarRemoved", version: 1, atMs: batch.nowMs, name: noticeName(nodeId), actor });
}

export function noticeNode(
  batch: Batch,
  { nodeId, gone, reason, actor }: Command & { readonly kind: "noticeNode" },
): Decision {
  const node = batch.world.state.nodes.get(nodeId);
  if (node === undefined) return refused({ code: "unknownNode", nodeId });
  if (node.health === "lost") return refused({ code: "nodeLost", nodeId });
  const { nowMs } = batch;
  const goneAtMs = "atMs" in gone ? gone.atMs : nowMs + gone.inMs;
  // A departure in the past is refused, unless it is already recorded.
  if (goneAtMs < nowMs && noticeOf(batch.world.state, nodeId)?.goneAtMs !== goneAtMs)
    return refused({ code: "noticeOver", nodeId, goneAtMs, nowMs });
  record(batch, nodeId, goneAtMs, reason, actor);
  return done({ kind: "nodeNoticed", nodeId, goneAtMs });
}

/** Withdraws a notice. Work that was stopped because of it does not start again by itself. */
export function withdrawNotice(
  batch: Batch,
  { nodeId, actor }: Command & { readonly kind: "withdrawNotice" },
): Decision {
  if (!batch.world.state.nodes.has(nodeId)) return refused({ code: "unknownNode", nodeId });
  endNotice(batch, nodeId, actor);
  return done({ kind: "noticeWithdrawn", nodeId });
}
