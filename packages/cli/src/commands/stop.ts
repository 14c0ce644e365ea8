import { exitCode, type ExitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { describeError } from "../describe-error.ts";
import { resolveWorkload } from "../resolve-workload.ts";

interface Options {
  readonly json?: boolean;
}

export const stopCommand = defineCommand<Options>({
  name: "stop",
  summary: "Stop workloads: SIGTERM, and SIGKILL after their grace period",
  arguments: [{ syntax: "<workloads...>", description: "names, team/name or ids", complete: "workload" }],
  options: [jsonOption],
  async run(context, { args, options }) {
    const client = await context.connect();
    let worst: ExitCode = exitCode.ok;
    const stopped: { readonly workloadId: string; readonly name: string }[] = [];
    for (const text of args) {
      try {
        const workload = await resolveWorkload(client, text);
        await client.stopWorkload(workload.id);
        stopped.push({ workloadId: workload.id, name: workload.name });
        if (options.json !== true) context.print(`stopping ${workload.name} (${workload.id})`);
      } catch (error) {
        // The others are to be stopped all the same.
        const { message, code } = describeError(error);
        context.note(`error: ${text}: ${message}`);
        worst = Math.max(worst, code) as ExitCode;
      }
    }
    if (options.json === true) context.print(JSON.stringify({ items: stopped }, null, 2));
    return worst;
  },
});
