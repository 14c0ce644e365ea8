/**
 * Notices: nodes that their provider takes away at a known instant. Each is a maintenance window of that node alone,
 * under a reserved name.
 */
import type { CalendarEntry } from "../model/calendar.ts";
import type { NodeId } from "../model/ids.ts";
import { hashText } from "../base/hash.ts";
import type { ReadonlyState } from "./state.ts";

/**
 * Length of calendar names (`names.calendarName` of the protocol); node ids may be longer and contain other characters.
 */
const PLAIN_NAME = /^[A-Za-z0-9._-]{1,63}$/;

const PREFIX = "notice-";

export function noticeName(nodeId: NodeId): string {
  const name = `${PREFIX}${nodeId}`;
  return PLAIN_NAME.test(name) ? name : `${PREFIX}${hashText(nodeId)}`;
}

/** Whether a node's notice could have this name, so that nothing else may. */
export const isNoticeName = (name: string): boolean => name.startsWith(PREFIX);

export interface Notice {
  readonly goneAtMs: number;
  /** Time after the announced departure at which a node that still exists takes work again. */
  readonly overAtMs: number;
  /** The stated reason; absent: none. */
  readonly reason?: string;
}

/** The node of a notice entry; `null`: a declared entry. */
export function noticedNode({ name, ...entry }: CalendarEntry): NodeId | null {
  const [nodeId, ...others] = entry.kind === "maintenance" ? (entry.nodes ?? []) : [];
  return nodeId !== undefined && others.length === 0 && noticeName(nodeId) === name ? nodeId : null;
}

/** `null`: the node stays as far as is known. */
export function noticeOf({ calendar }: Pick<ReadonlyState, "calendar">, nodeId: NodeId): Notice | null {
  const entry = calendar.get(noticeName(nodeId))?.entry;
  if (entry?.kind !== "maintenance" || noticedNode(entry) !== nodeId) return null;
  const { startMs: goneAtMs, endMs: overAtMs, reason } = entry;
  return { goneAtMs, overAtMs, ...(reason === undefined ? {} : { reason }) };
}
