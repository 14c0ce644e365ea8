import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { pairLines } from "../output/table.ts";
import { resolveWorkload } from "../resolve-workload.ts";
import { printable } from "../terminal.ts";

interface Options {
  readonly json?: boolean;
}

export const etaCommand = defineCommand<Options>({
  name: "eta",
  summary: "Estimate when a workload will start, as a range",
  details:
    "Plays the scheduler forward on copies of its present state, many times, with durations as such work had before.\n" +
    "Exit code 3: no time can be given; it starts beyond the horizon, or never as things are.",
  arguments: [{ syntax: "<workload>", description: "name, team/name or id", complete: "workload" }],
  options: [jsonOption],
  async run(context, { args, options }) {
    const client = await context.connect();
    const workload = await resolveWorkload(client, args[0] ?? "");
    const estimate = await client.estimateStart(workload.id);
    const code = estimate.p50AtMs === null ? exitCode.unsatisfied : exitCode.ok;
    if (options.json === true) {
      context.print(JSON.stringify(estimate, null, 2));
      return code;
    }
    const { paint } = context;
    const { beyondPlayed, estimateBounds } = await import("@headroom/views");
    context.print(`${paint("bold", workload.name)} (${workload.id}): ${printable(estimate.sentence)}`);
    const range = estimateBounds(estimate).map(({ name, atMs }): [string, string] => [
      name,
      atMs === null ? beyondPlayed(estimate) : new Date(atMs).toISOString(),
    ]);
    context.print(...pairLines(range, paint).map((line) => `  ${line}`));
    if (estimate.p50AtMs === null)
      context.print("", `\`headroom why ${printable(workload.name)}\` says what it waits for.`);
    return code;
  },
});
