/** The answer of `headroom replay --cluster` as tables. */
import type { CommandContext } from "../command.ts";
import { plural } from "../output/amounts.ts";
import { tableLines } from "../output/table.ts";
import { durationText } from "../simulate/summary.ts";
import { printable } from "../terminal.ts";
import type { CourseFigures, GroupFigures, HistoryReport } from "./run-history.ts";

/** Rows of a table; `--json` has all. */
const ROWS_MAX = 30;
const right = (title: string): { readonly title: string; readonly align: "right" } => ({ title, align: "right" });
const courses = ["RECORDED", "ALONE", "ONE QUEUE"].map(right);

export function historyLines(report: HistoryReport, { terminal, paint }: CommandContext): readonly string[] {
  const sink = terminal.stdout;
  const jobs = report.clusters.reduce((sum, each) => sum + each.jobs, 0);
  const accelerators = report.clusters.reduce((sum, each) => sum + each.accelerators, 0);
  const sides = [report.recorded, report.alone, report.one_queue];
  const row = (title: string, text: (each: CourseFigures) => string): string[] => [title, ...sides.map(text)];
  return [
    `${plural(report.clusters.length, "cluster")}, ${accelerators} accelerators, ${plural(jobs, "job")}, ${report.from.slice(0, 10)} to ${report.to.slice(0, 10)}, policy ${printable(report.policy)}`,
    ...report.clusters
      .flatMap(({ name, left_out, unread }) => leftOutLine(name, left_out, unread))
      .map((line) => paint("dim", line)),
    "",
    ...tableLines(
      [{ title: "" }, ...courses],
      [
        row("jobs", (each) => String(each.jobs)),
        row("wait, mean", (each) => durationText(each.mean_wait_s)),
        row("wait, longest", (each) => durationText(each.max_wait_s)),
        row("completion, mean", (each) => durationText(each.mean_completion_s)),
        row("time to the last end", (each) => durationText(each.makespan_s)),
        row("utilisation", (each) => `${(each.utilisation * 100).toFixed(1)}%`),
      ],
      sink,
      paint,
    ),
    ...groupTable("TEAM", report.by_team, { sink, paint }),
    ...groupTable("CLUSTER", report.by_cluster, { sink, paint }),
    "",
    ...report.notes.map((note) => paint("dim", printable(note))),
  ];
}

function leftOutLine(name: string, leftOut: Readonly<Record<string, number>>, unread: number): readonly string[] {
  const parts = Object.entries(leftOut).map(([reason, count]) => `${count} ${reason}`);
  if (unread > 0) parts.push(`${plural(unread, "line")} that cannot be read`);
  return parts.length === 0 ? [] : [`${name}: left out ${parts.join(", ")}`];
}

/** Mean wait and 90th percentile of each group. */
function groupTable(
  title: string,
  groups: readonly GroupFigures[],
  { sink, paint }: { readonly sink: CommandContext["terminal"]["stdout"]; readonly paint: CommandContext["paint"] },
): readonly string[] {
  const wait = (each: GroupFigures["recorded"]): string =>
    each === null ? "–" : `${durationText(each.mean_wait_s)}, p90 ${durationText(each.p90_wait_s)}`;
  const share = (each: GroupFigures["recorded"]): string => (each === null ? "" : `${(each.share * 100).toFixed(1)}%`);
  const rows = groups
    .slice(0, ROWS_MAX)
    .map(({ name, recorded, alone, one_queue: together }) => [
      printable(name),
      String(recorded?.jobs ?? 0),
      share(recorded),
      ...[recorded, alone, together].map(wait),
    ]);
  const more = groups.length > ROWS_MAX ? [`… and ${groups.length - ROWS_MAX} more (--json has them)`] : [];
  return ["", ...tableLines([{ title }, right("JOBS"), right("SHARE"), ...courses], rows, sink, paint), ...more];
}
