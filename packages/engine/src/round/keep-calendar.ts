/**
 * Changes of the calendar caused by time. Windows begin and end, and work that would overlap a window is stopped before
 * it.
 */
import { tariffEndMs, stoppedByMs } from "@headroom/model";
import type { CalendarEntry, ClosedBy, TimeWindow, Attempt } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { requestStop } from "../transitions/stop-attempt.ts";
import { replaceAhead } from "./replace-lost.ts";
import { noticedNode } from "../state/notices.ts";
import { entryFingerprint } from "../state/ended-entries.ts";
import { attemptsOn, workloadOf } from "../cluster/entities.ts";
import { tariffsOf } from "../energy/tariffs.ts";
import type { IndexedWindow } from "../cluster/calendar-index.ts";
import { latestEndMs } from "../cluster/latest-end.ts";

export function keepCalendar(batch: Batch): void {
  const { world, nowMs: atMs } = batch;
  for (const { window } of world.calendar.windows) {
    const { name } = window;
    if (window.endMs <= atMs) end(batch, window);
    else if (window.startMs <= atMs && world.state.calendar.get(name)?.begun !== true)
      batch.emit({ kind: "windowBegan", version: 1, atMs, name });
  }
  for (const tariff of tariffsOf(world.state)) if (tariffEndMs(tariff.when) <= atMs) end(batch, tariff);
  for (const each of world.calendar.windows) clear(batch, each);
}

function end(batch: Batch, entry: CalendarEntry): void {
  const { name } = entry;
  const known = noticedNode(entry) !== null ? {} : { fingerprint: entryFingerprint(entry) };
  batch.emit({ kind: "windowEnded", version: 1, atMs: batch.nowMs, name, ...known });
}

/**
 * Frees the window's nodes. If the gang supports it, its workers on these nodes are replaced on other nodes. Other work
 * that would not end in time is stopped, early enough for its checkpoint and grace period.
 */
function clear(batch: Batch, each: IndexedWindow): void {
  const overdue = attemptsOn(batch.world, each.nodes).filter((attempt) => isOverdue(batch, each, attempt));
  const closing = { byMs: each.window.startMs, closedBy: closedBy(each.window) };
  for (const attempt of overdue)
    if (!replaceAhead(batch, attempt, each.nodes)) requestStop(batch, attempt, "nodeDrained", closing);
}

function closedBy(window: TimeWindow): ClosedBy {
  const { kind, name } = window;
  if (kind === "reservation") return { kind, name };
  const nodeId = noticedNode(window);
  const said = window.reason === undefined ? {} : { reason: window.reason };
  return nodeId === null ? { kind, name, ...said } : { kind: "notice", nodeId, ...said };
}

function isOverdue({ world, nowMs }: Batch, { window }: IndexedWindow, attempt: Attempt): boolean {
  const { spec, actor } = workloadOf(world, attempt.workloadId);
  if (attempt.stop !== null && stoppedByMs(attempt.stop, spec.graceTimeoutMs) <= window.startMs) return false;
  const atMs = latestEndMs(world.rules, attempt, { spec, startMs: window.startMs });
  return atMs !== null && atMs <= nowMs && !world.calendar.isFor(window, { team: spec.team, actor });
}
