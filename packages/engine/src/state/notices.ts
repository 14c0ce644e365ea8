/** Notices: nodes that those who lend them take away at a known instant. Each is a maintenance window of that node alone, by a name of its own. */
import type { CalendarEntry } from "../model/calendar.ts";
import type { NodeId } from "../model/ids.ts";
import { hashText } from "./hash.ts";
import type { ReadonlyState } from "./state.ts";

/** What names of the calendar may be (`names.calendarName` of the protocol); ids of nodes may be longer and stranger. */
const PLAIN_NAME = /^[A-Za-z0-9._-]{1,63}$/;

export function noticeName(nodeId: NodeId): string {
  const name = `notice-${nodeId}`;
  return PLAIN_NAME.test(name) ? name : `notice-${hashText(nodeId)}`;
}

export interface Notice {
  readonly goneAtMs: number;
  /** The node is still there so long after it should have gone: from then on it takes work again. */
  readonly overAtMs: number;
  /** Why, in the words of whoever gave notice; absent: nothing was said. */
  readonly reason?: string;
}

/** Nobody declared it in a document. */
export const isNotice = ({ name, ...entry }: CalendarEntry): boolean =>
  entry.kind === "maintenance" && entry.nodes?.length === 1 && entry.nodes.every((id) => noticeName(id) === name);

/** `null`: the node stays as far as is known. */
export function noticeOf({ calendar }: Pick<ReadonlyState, "calendar">, nodeId: NodeId): Notice | null {
  const entry = calendar.get(noticeName(nodeId))?.entry;
  if (entry?.kind !== "maintenance" || entry.nodes?.[0] !== nodeId || !isNotice(entry)) return null;
  const { startMs: goneAtMs, endMs: overAtMs, reason } = entry;
  return { goneAtMs, overAtMs, ...(reason === undefined ? {} : { reason }) };
}
