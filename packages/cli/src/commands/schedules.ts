import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { tableLines } from "../output/table.ts";

interface Options {
  readonly json?: boolean;
}

const removeCommand = defineCommand<Options>({
  name: "remove",
  summary: "Remove a schedule; what it submitted goes on",
  arguments: [{ syntax: "<name>", description: "its name" }],
  options: [jsonOption],
  async run(context, { args, options }) {
    const client = await context.connect();
    const answer = await client.removeSchedule(args[0] ?? "");
    if (options.json === true) context.print(JSON.stringify(answer, null, 2));
    else context.print(`removed schedule ${answer.name}`);
    return exitCode.ok;
  },
});

export const schedulesCommand = defineCommand<Options>({
  name: "schedules",
  summary: "List schedules: work that is submitted at times of the clock",
  commands: [removeCommand],
  options: [jsonOption],
  async run(context, { options }) {
    const client = await context.connect();
    const { items } = await client.schedules();
    if (options.json === true) {
      context.print(JSON.stringify({ items }, null, 2));
      return exitCode.ok;
    }
    if (items.length === 0) {
      context.note("No schedules.");
      return exitCode.ok;
    }
    const { writeInstant } = await import("@headroom/protocol");
    const rows = items.map(({ schedule, cron, nextAtMs, lastWorkloadId, actor }) => [
      { text: schedule.name, tone: "bold" as const },
      cron,
      nextAtMs === null ? "never" : writeInstant(nextAtMs),
      schedule.spec.name,
      lastWorkloadId ?? "–",
      actor,
    ]);
    context.print(...tableLines(columns, rows, context.terminal.stdout, context.paint));
    return exitCode.ok;
  },
});

const columns = [
  { title: "SCHEDULE", minWidth: 8 },
  { title: "CRON (UTC)" },
  { title: "NEXT" },
  { title: "WORKLOAD", minWidth: 8 },
  { title: "LAST" },
  { title: "BY", minWidth: 4 },
];
