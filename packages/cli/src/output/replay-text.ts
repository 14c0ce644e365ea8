/** The result of a replay as tables. */
import type { ReplayFigures, ReplayGroup, ReplayReport } from "@headroom/protocol";
import { hoursText } from "@headroom/views/text";
import { printable, type Sink } from "../terminal.ts";
import { instant, shortDuration } from "./amounts.ts";
import type { Paint, Tone } from "./style.ts";
import { tableLines } from "./table.ts";

/** Maximum number of rows. Large sites have many users; `--json` lists all. */
const ROWS_MAX = 20;

const timelineNames = ["recorded", "control", "changed"] as const;
const right = (title: string): { readonly title: string; readonly align: "right" } => ({ title, align: "right" });

export function replayTables(report: ReplayReport, sink: Pick<Sink, "columns">, paint: Paint): string[] {
  const whole = tableLines(
    [{ title: "" }, ...timelineNames.map((name) => right(name.toUpperCase()))],
    wholeRows(report),
    sink,
    paint,
  );
  return [
    `${instant(report.fromMs)} to ${instant(report.toMs)}`,
    printable(report.sentence),
    "",
    ...whole,
    ...groupLines("TEAM", report.teams, sink, paint),
    ...groupLines("USER", report.users, sink, paint),
    ...groupLines("ACCELERATORS", report.sizes, sink, paint),
    "",
    ...report.notes.map((note) => paint("dim", printable(note))),
  ];
}

function wholeRows(report: ReplayReport): string[][] {
  const row = (name: string, text: (timeline: ReplayReport["changed"]) => string): string[] => [
    name,
    ...timelineNames.map((timeline) => text(report[timeline])),
  ];
  return [
    row("workloads", ({ workloads }) => String(workloads)),
    row("started", ({ started }) => String(started)),
    row("wait, mean", ({ waitMeanMs }) => shortDuration(waitMeanMs)),
    row("wait (median)", ({ waitP50Ms }) => shortDuration(waitP50Ms)),
    row("wait (95th percentile)", ({ waitP95Ms }) => shortDuration(waitP95Ms)),
    row("slowdown", ({ slowdown }) => (slowdown === null ? "–" : slowdown.toFixed(2))),
    row("utilisation", ({ utilisation }) => `${(utilisation * 100).toFixed(1)}%`),
    row("accelerator hours", ({ acceleratorHours }) => hoursText(acceleratorHours)),
    row("lost to evictions", ({ lostAcceleratorHours }) => lostAcceleratorHours.toFixed(1)),
    row("evictions", ({ evictions }) => String(evictions)),
    row("ended", ({ endedCount }) => String(endedCount)),
    row("time to the last end", ({ makespanMs }) => shortDuration(makespanMs)),
  ];
}

const tones: Readonly<Record<ReplayGroup["outcome"], Tone>> = { wins: "green", loses: "red", same: "dim" };

/** Compares the control (recorded work replayed without change) with the replay that has the change. */
function groupLines(
  title: string,
  groups: readonly ReplayGroup[],
  sink: Pick<Sink, "columns">,
  paint: Paint,
): string[] {
  if (groups.length === 0) return [];
  const columns = [
    { title, minWidth: 8 },
    right("WORKLOADS"),
    { title: "" },
    ...["MEAN WAIT", "P95 WAIT", "SLOWDOWN", "HOURS", "EVICTIONS"].map(right),
  ];
  const pair = (group: ReplayGroup, text: (figures: ReplayFigures) => string): string =>
    `${text(group.control)} → ${text(group.changed)}`;
  const rows = groups
    .slice(0, ROWS_MAX)
    .map((group) => [
      { text: group.name, tone: "bold" as const },
      group.control.workloads === group.changed.workloads
        ? String(group.changed.workloads)
        : pair(group, ({ workloads }) => String(workloads)),
      { text: group.outcome, tone: tones[group.outcome] },
      pair(group, ({ waitMeanMs }) => shortDuration(waitMeanMs)),
      pair(group, ({ waitP95Ms }) => shortDuration(waitP95Ms)),
      pair(group, ({ slowdown }) => (slowdown === null ? "–" : slowdown.toFixed(2))),
      pair(group, ({ acceleratorHours }) => hoursText(acceleratorHours)),
      pair(group, ({ evictions }) => String(evictions)),
    ]);
  const more = groups.length > ROWS_MAX ? [`… and ${groups.length - ROWS_MAX} more (--json has them)`] : [];
  return ["", ...tableLines(columns, rows, sink, paint), ...more];
}
