import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { sinceOf } from "../listing-options.ts";
import { instant } from "../output/amounts.ts";
import { csvLines } from "../output/csv.ts";
import { tableLines } from "../output/table.ts";
import { pointsOf, POINTS_SHOWN, rightOf } from "./metrics.ts";

interface SeriesCommandOptions {
  readonly since?: string;
  readonly points?: string;
  readonly csv?: boolean;
  readonly json?: boolean;
}

export const seriesCommand = defineCommand<SeriesCommandOptions>({
  name: "series",
  summary: "Show the amounts of the fleet, a pool, a team, a node or an endpoint over time",
  details: `Accelerators held, queued and out of service, their utilization and power, replicas: sampled every minute, and kept for 30 days; older
points are means over longer spans.

Examples:
  headroom series fleet --since 7d
  headroom series team:research --csv > research.csv
  headroom series node:dgx-3 --points 60`,
  arguments: [
    {
      syntax: "<subject>",
      description:
        "fleet, pool:NAME, team:NAME, node:ID, accelerator:NODE#INDEX, endpoint:ID (id of its workload) or replica:ID/ATTEMPT",
    },
  ],
  options: [
    { flags: "--since <time>", description: "only points since then: 24h, 7d, today, or 2026-07-01 (default: all)" },
    { flags: "--points <n>", description: `maximum number of points (default: ${POINTS_SHOWN})` },
    { flags: "--csv", description: "print comma-separated values, with instants in ISO 8601" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const points = pointsOf(options.points);
    const fromMs = await sinceOf(options.since);
    const client = await context.connect();
    const series = await client.series({ subject: args[0] ?? "", points, fromMs });
    if (options.json === true) {
      context.print(JSON.stringify(series, null, 2));
      return exitCode.ok;
    }
    const { atMs, metrics } = series;
    const columns = metrics.map(({ name, unit }) => (unit === name ? name : `${name} (${unit})`));
    const cells = (index: number): readonly string[] =>
      metrics.map(({ values }) => (values[index] === null ? "" : String(Number(values[index]?.toPrecision(6)))));
    if (options.csv === true) {
      const rows = atMs.map((at, index) => [new Date(at).toISOString(), ...cells(index)]);
      context.print(...csvLines(["time", ...metrics.map(({ name }) => name)], rows));
      return exitCode.ok;
    }
    const titles = ["TIME", ...columns.map((name) => name.toUpperCase())];
    const rows = atMs.map((at, index) => [instant(at), ...cells(index)]);
    const { terminal, paint } = context;
    if (rows.length > 0) context.print(...tableLines(titles.map(rightOf), rows, terminal.stdout, paint));
    else context.note("Nothing was recorded in this period. The first sample comes within a minute of the start.");
    return exitCode.ok;
  },
});
