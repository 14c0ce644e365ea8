import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";

interface WasteCommandOptions {
  readonly json?: boolean;
}

export const wasteCommand = defineCommand<WasteCommandOptions>({
  name: "waste",
  summary: "List idle accelerators, and oversized memory and walltimes",
  details:
    "The list comes from the telemetry of accelerators, else from utilization reports of the work (docs/reference/workload-files.md), and from recorded run\n" +
    "times. Work without any of these is not judged.",
  options: [jsonOption],
  async run(context, { options }) {
    const client = await context.connect();
    const answer = await client.waste();
    if (options.json === true) {
      context.print(JSON.stringify(answer, null, 2));
      return exitCode.ok;
    }
    context.print(printable(answer.sentence));
    if (answer.items.length === 0) return exitCode.ok;
    const columns = [
      { title: "WORKLOAD", minWidth: 8 },
      { title: "TEAM", minWidth: 8 },
      { title: "HOURS IDLE", align: "right" as const },
      { title: "FOUND", minWidth: 20 },
    ];
    const rows = answer.items.map(({ name, team, wastedAcceleratorMs, sentence }) => [
      { text: name, tone: "bold" as const },
      team,
      wastedAcceleratorMs === null ? "–" : (wastedAcceleratorMs / 3_600_000).toFixed(1),
      sentence,
    ]);
    context.print("", ...tableLines(columns, rows, context.terminal.stdout, context.paint));
    return exitCode.ok;
  },
});
