import type { WorkloadChanged } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { resolveWorkload } from "../resolve-workload.ts";

interface SetCommandOptions {
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export const setCommand = defineCommand<SetCommandOptions>({
  name: "set",
  summary: "Change fields of a workload that waits or runs; it keeps its place in the queue",
  details:
    "Fields: name, priority, walltime, workers, minWorkers, hold, after, notBefore, retries, retries.backoff,\n" +
    "retries.maxBackoff, env.NAME (for the next attempt; env.NAME- removes it). Values are written as in a workload\n" +
    "file; `none` removes a walltime, a dependency or an earliest start. Other fields need a new workload.\n" +
    "Examples:\n  headroom set train-7b walltime=24h priority=high\n  headroom set sweep after=prepare:ok --dry-run\n" +
    "  headroom set train-7b env.LR=0.0001 env.DEBUG-",
  arguments: [
    { syntax: "<workload>", description: "name, team/name or id of the workload", complete: "workload" },
    { syntax: "<assignments...>", description: "field=value, like walltime=2h" },
  ],
  options: [
    { flags: "--dry-run", description: "only show the changes and their effect on the expected start" },
    jsonOption,
  ],
  async run(context, { args: [text = "", ...assignments], options }) {
    if (assignments.length === 0)
      throw new CliError("no field is given: headroom set WORKLOAD FIELD=VALUE, like walltime=2h", exitCode.usage);
    const { changesOf } = await import("../documents/set-assignments.ts");
    const changes = changesOf(assignments);
    const client = await context.connect();
    const { id, name } = await resolveWorkload(client, text);
    const isTrial = options.dryRun === true;
    const done = await client.changeWorkload(id, changes, { dryRun: isTrial });
    if (options.json === true) context.print(JSON.stringify(done, null, 2));
    else context.print(...linesOf(done, name));
    return exitCode.ok;
  },
});

function linesOf({ workloadId, dryRun, changes, start }: WorkloadChanged, name: string): readonly string[] {
  const who = `${name} (${workloadId})`;
  if (changes.length === 0) return [`unchanged ${who}: every field has that value`];
  const lines = changes.map(({ field, before, after }) => `  ${field}: ${before ?? "(none)"} → ${after ?? "(none)"}`);
  const sentence = (estimate: NonNullable<WorkloadChanged["start"]>["after"]): string =>
    estimate === null ? "It does not wait." : estimate.sentence;
  const effect =
    start === undefined
      ? []
      : [`Expected start now: ${sentence(start.before)}`, `With the change:   ${sentence(start.after)}`];
  return [`${dryRun ? "would change" : "changed"} ${who}`, ...lines, ...effect];
}
