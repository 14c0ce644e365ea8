/** The results of simulated runs as tables. */
import type { Paint } from "../output/style.ts";
import { tableLines, type Column } from "../output/table.ts";
import { printable, type Sink } from "../terminal.ts";
import type { SimulationReport } from "./run-simulate.ts";
import { durationText, summaryRow, summaryTitles } from "./summary.ts";

export function resultLines(reports: readonly SimulationReport[], sink: Sink, paint: Paint): string[] {
  const [first] = reports;
  if (first === undefined) return [];
  return [
    `${first.trace} on ${first.gpus} accelerators`,
    ...notes(first).map((line) => paint("dim", line)),
    "",
    ...tableLines(summaryColumns, reports.map(summaryRow), sink, paint),
    "",
    "Mean wait by gang size:",
    ...waitTable(reports, sink, paint),
    "",
    ...teamTable(reports, sink, paint),
    ...stagingLines(reports),
    ...reports.map(({ policy, digest, events_per_s, wall_s }) =>
      paint("dim", `${policy}: digest ${digest}, ${wall_s.toFixed(1)} s, ${events_per_s} journal events/s`),
    ),
  ];
}

/** Notes about rows left out of the trace, and about other limits of the result. */
function notes(report: SimulationReport): string[] {
  const left = Object.entries(report.left_out).map(([reason, count]) => `${count} ${reason}`);
  if (report.broken_rows > 0) left.unshift(`${report.broken_rows} broken`);
  return left.length === 0 ? [] : [`left out: ${left.join(", ")}`];
}

const right = (title: string): Column => ({ title, align: "right" });
const summaryColumns: readonly Column[] = summaryTitles.map((title, index) =>
  index === 0 ? { title: title.toUpperCase() } : right(title.toUpperCase()),
);

function waitTable(reports: readonly SimulationReport[], sink: Sink, paint: Paint): string[] {
  const sizes = [...new Set(reports.flatMap((report) => report.wait_by_gang.map(({ gpus }) => gpus)))].toSorted(
    (a, b) => a - b,
  );
  const columns = [right("ACCELERATORS"), right("JOBS"), ...reports.map(({ policy }) => right(policy.toUpperCase()))];
  const rows = sizes.map((size) => {
    const waits = reports.map((report) => report.wait_by_gang.find(({ gpus }) => gpus === size));
    return [
      String(size),
      String(waits.find((wait) => wait !== undefined)?.jobs ?? 0),
      ...waits.map((wait) => (wait === undefined ? "" : durationText(wait.mean_wait_s))),
    ];
  });
  return tableLines(columns, rows, sink, paint);
}

function stagingLines(reports: readonly SimulationReport[]): string[] {
  const lines = reports.flatMap(({ policy, staging }) => {
    if (staging === undefined) return [];
    const { transfers, hits, transferred_gib } = staging;
    const share = ((100 * hits) / Math.max(1, hits + transfers)).toFixed(1);
    return [
      `${policy}: ${transfers} inputs read from stores (${transferred_gib} GiB), ${share}% were in the node's cache`,
    ];
  });
  return lines.length === 0 ? [] : [...lines, ""];
}

/** Mean wait of each team, and its share of accelerator time; empty if no teams were declared. */
function teamTable(reports: readonly SimulationReport[], sink: Sink, paint: Paint): string[] {
  const names = [
    ...new Set(reports.flatMap(({ wait_by_team = [] }) => wait_by_team.map(({ team }) => team))),
  ].toSorted();
  if (names.length === 0) return [];
  const columns = [
    { title: "TEAM" },
    ...reports.flatMap(({ policy }) => [right("JOBS"), right("SHARE"), right(policy.toUpperCase())]),
  ];
  const rows = names.map((name) => [
    printable(name),
    ...reports.flatMap(({ wait_by_team = [] }) => {
      const found = wait_by_team.find(({ team }) => team === name);
      if (found === undefined) return ["0", "", ""];
      return [String(found.jobs), `${(found.share * 100).toFixed(1)}%`, durationText(found.mean_wait_s)];
    }),
  ]);
  return ["Mean wait by team, and its share of the accelerator time:", ...tableLines(columns, rows, sink, paint), ""];
}
