/**
 * Notices: nodes that their provider takes away at an announced instant. Each notice is a maintenance window of its
 * node alone, under a reserved name.
 */
import { hashText } from "@headroom/model";
import type { CalendarEntry, NodeId } from "@headroom/model";
import type { ReadonlyState } from "./state.ts";

/**
 * Characters and length of the calendar names that users may choose (`names.calendarName` of the protocol). Node ids
 * may be longer and contain other characters.
 */
const PLAIN_NAME = /^[A-Za-z0-9._-]{1,63}$/;

const PREFIX = "notice-";

export function noticeName(nodeId: NodeId): string {
  const name = `${PREFIX}${nodeId}`;
  return PLAIN_NAME.test(name) ? name : `${PREFIX}${hashText(nodeId)}`;
}

/** Whether the name is reserved for notices; other calendar entries may not use it. */
export const isNoticeName = (name: string): boolean => name.startsWith(PREFIX);

export interface Notice {
  readonly goneAtMs: number;
  /** End of the notice, after the announced departure. If the node still exists then, it takes work again. */
  readonly overAtMs: number;
  readonly reason?: string;
}

/** The node that the entry announces to leave, or `null` if users declared the entry. */
export function noticedNode({ name, ...entry }: CalendarEntry): NodeId | null {
  const [nodeId, ...others] = entry.kind === "maintenance" ? (entry.nodes ?? []) : [];
  return nodeId !== undefined && others.length === 0 && noticeName(nodeId) === name ? nodeId : null;
}

/** The notice of a node, or `null` if no departure of the node is announced. */
export function noticeOf({ calendar }: Pick<ReadonlyState, "calendar">, nodeId: NodeId): Notice | null {
  const entry = calendar.get(noticeName(nodeId))?.entry;
  if (entry?.kind !== "maintenance" || noticedNode(entry) !== nodeId) return null;
  const { startMs: goneAtMs, endMs: overAtMs, reason } = entry;
  return { goneAtMs, overAtMs, ...(reason === undefined ? {} : { reason }) };
}
