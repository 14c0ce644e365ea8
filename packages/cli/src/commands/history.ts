import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { instant } from "../output/amounts.ts";
import { withProgress } from "../output/progress.ts";
import { pairLines } from "../output/table.ts";
import { resolveWorkload } from "../resolve-workload.ts";
import { printable } from "../terminal.ts";

interface HistoryCommandOptions {
  readonly json?: boolean;
}

export const historyCommand = defineCommand<HistoryCommandOptions>({
  name: "history",
  summary: "Show the events of a workload, with the grounds of preemptions",
  details:
    "Placements, starts and ends; by what right it was evicted, or others for it, with the standing of their teams;\n" +
    "Also shows nominations, and how elastic gangs grew and shrank. For one attempt: headroom why WORKLOAD --attempt N",
  arguments: [{ syntax: "<workload>", description: "name, team/name or id of the workload", complete: "workload" }],
  options: [jsonOption],
  async run(context, { args, options }) {
    const client = await context.connect();
    const { id, name } = await resolveWorkload(client, args[0] ?? "");
    const past = await withProgress(context.terminal.stderr, "Reading the events", client.workloadHistory(id));
    if (options.json === true) {
      context.print(JSON.stringify(past, null, 2));
      return exitCode.ok;
    }
    context.print(
      ...pairLines(
        past.items.map(({ atMs, sentence }) => [instant(atMs), sentence]),
        context.paint,
      ),
    );
    if (past.isCut)
      context.note(`The oldest events of ${printable(name)} are no longer available; this is the newest part.`);
    return exitCode.ok;
  },
});
