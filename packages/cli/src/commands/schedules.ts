import type { ScheduleItem } from "@headroom/protocol";
import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { tableLines } from "../output/table.ts";

interface SchedulesCommandOptions {
  readonly json?: boolean;
}

const removeCommand = defineCommand<SchedulesCommandOptions>({
  name: "remove",
  summary: "Remove a schedule; work that it has submitted continues",
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

export const schedulesCommand = defineCommand<SchedulesCommandOptions>({
  name: "schedules",
  summary: "List schedules, which submit work at fixed times",
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
    const rows = items.map((item) => [
      { text: item.schedule.name, tone: "bold" as const },
      item.cron,
      item.nextAtMs === null ? "never" : writeInstant(item.nextAtMs),
      item.schedule.spec.name,
      lastText(item),
      item.actor,
    ]);
    context.print(...tableLines(columns, rows, context.terminal.stdout, context.paint));
    return exitCode.ok;
  },
});

/** Result of the last due time: `w3 failed`, or the reason why nothing was submitted. */
function lastText({ runs: [last], lastWorkloadId }: ScheduleItem): string {
  if (last === undefined) return lastWorkloadId ?? "–";
  if (last.workloadId === null) return `left out: ${last.left}`;
  return last.phase === undefined ? last.workloadId : `${last.workloadId} ${last.phase}`;
}

const columns = [
  { title: "SCHEDULE", minWidth: 8 },
  { title: "CRON (UTC)" },
  { title: "NEXT" },
  { title: "WORKLOAD", minWidth: 8 },
  { title: "LAST" },
  { title: "BY", minWidth: 4 },
];
