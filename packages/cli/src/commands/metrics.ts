import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { instant } from "../output/amounts.ts";
import { rejectedLinesOf } from "../output/rejected-lines.ts";
import { tableLines } from "../output/table.ts";
import { resolveWorkload } from "../resolve-workload.ts";

interface MetricsCommandOptions {
  readonly attempt?: string;
  readonly points?: string;
  readonly json?: boolean;
}

/** Number of points of a series that a terminal shows. */
export const POINTS_SHOWN = 20;
const POINTS_MAX = 600;

export const metricsCommand = defineCommand<MetricsCommandOptions>({
  name: "metrics",
  summary: "Show what a workload reported: steps, metrics, use of its accelerators",
  details:
    "Recent reports are shown one by one, older ones as means over longer spans. For an array: the tasks that reported first.\n" +
    "  headroom metrics llama-ft --points 60",
  arguments: [{ syntax: "<workload>", description: "name, team/name or id of the workload", complete: "workload" }],
  options: [
    { flags: "--attempt <id>", description: "only this attempt, such as w12.1" },
    { flags: "--points <n>", description: `maximum number of points of a series (default: ${POINTS_SHOWN})` },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const points = pointsOf(options.points);
    const client = await context.connect();
    const { id } = await resolveWorkload(client, args[0] ?? "");
    const page = await client.metrics(id, { points, attempt: options.attempt });
    if (options.json === true) {
      context.print(JSON.stringify(page, null, 2));
      return exitCode.ok;
    }
    const { terminal, paint } = context;
    for (const { attemptId, totalSteps, progress, utilization, rejectedLines } of page.items) {
      context.print(`${attemptId}${totalSteps === null ? "" : `, ${totalSteps} steps in all`}`);
      if (rejectedLines !== undefined) context.print(...(await rejectedLinesOf({ attemptId, rejectedLines }, paint)));
      const names = [...new Set(progress.flatMap(({ metrics }) => Object.keys(metrics)))];
      const titles = ["TIME", "STEP", ...names.map((name) => name.toUpperCase())];
      const rows = progress.map(({ atMs, step, metrics }) => [
        instant(atMs),
        String(step),
        ...names.map((name) => (metrics[name] === undefined ? "" : String(Number(metrics[name].toPrecision(6))))),
      ]);
      if (rows.length > 0) context.print(...tableLines(titles.map(rightOf), rows, terminal.stdout, paint));
      const used = utilization.map((each) => [
        instant(each.atMs),
        `${(each.busyMilli / 10).toFixed(1)}%`,
        each.busyAccelerators.toFixed(1),
      ]);
      const usedTitles = ["TIME", "UTILIZATION", "BUSY ACCELERATORS"];
      if (used.length > 0) context.print(...tableLines(usedTitles.map(rightOf), used, terminal.stdout, paint));
    }
    if (page.items.length === 0) context.note("The workload has reported nothing, or its reports were removed.");
    if (page.nextCursor !== null) context.note("More attempts have reports: choose one with --attempt.");
    return exitCode.ok;
  },
});

export const rightOf = (title: string): { readonly title: string; readonly align: "right" } => ({
  title,
  align: "right",
});

export function pointsOf(text: string | undefined): number {
  if (text === undefined) return POINTS_SHOWN;
  const points = /^[1-9][0-9]{0,3}$/.test(text) ? Number(text) : 0;
  if (points < 1 || points > POINTS_MAX)
    throw new CliError(`--points: expected a whole number from 1 to ${POINTS_MAX}, got "${text}"`, exitCode.usage);
  return points;
}
