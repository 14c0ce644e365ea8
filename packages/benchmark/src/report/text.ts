import { rowsOf, type BenchmarkReport, type Row } from "./report.ts";

/** Columns of a case's table. Each has a title and a function for its cells. */
export const columns: readonly { readonly title: string; cell(row: Row): string }[] = [
  { title: "target", cell: (row) => row.target },
  { title: "requests/s", cell: (row) => whole(row.requestsPerSecond) },
  { title: "÷ haproxy", cell: (row) => twoDigits(row.ratioToHaproxy) },
  { title: "per CPU s", cell: (row) => whole(row.requestsPerCpuSecond) },
  { title: "÷ haproxy, CPU", cell: (row) => twoDigits(row.cpuRatioToHaproxy) },
  { title: "p50 µs", cell: (row) => whole(row.p50Us) },
  { title: "p99 µs", cell: (row) => whole(row.p99Us) },
  { title: "added p50", cell: (row) => whole(row.addedP50Us) },
  { title: "added p99", cell: (row) => whole(row.addedP99Us) },
  { title: "RSS MiB", cell: (row) => whole(row.residentMib) },
  { title: "faults", cell: (row) => faults(row) },
];

function whole(value: number | undefined): string {
  return value === undefined ? "–" : Math.round(value).toString();
}

function twoDigits(value: number | undefined): string {
  return value === undefined ? "–" : value.toFixed(2);
}

function faults({ failed, lostEvents, doubledEvents }: Row): string {
  const parts = [
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(lostEvents > 0 ? [`${lostEvents} events lost`] : []),
    ...(doubledEvents > 0 ? [`${doubledEvents} events doubled`] : []),
  ];
  return parts.length === 0 ? "none" : parts.join(", ");
}

/** Lines for a terminal. */
export function textReport(report: BenchmarkReport): string[] {
  const lines = report.cases.flatMap((each) => [
    `${each.name}: ${each.description}`,
    ...table([columns.map(({ title }) => title), ...rowsOf(each).map((row) => columns.map(({ cell }) => cell(row)))]),
    "",
  ]);
  if (report.frontier.length > 0) {
    const bounds = report.frontier[0]?.bounds ?? [];
    const rows = report.frontier.map((each) => [each.target, ...each.bounds.map((b) => whole(b.requestsPerSecond))]);
    lines.push(
      "frontier: highest rate (requests/s) whose p99 stays within the bound",
      ...table([["target", ...bounds.map(({ boundMs }) => `${boundMs} ms`)], ...rows]),
    );
  }
  return lines;
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] as number) : cell.padStart(widths[column] as number),
      )
      .join("  ")
      .trimEnd(),
  );
}
