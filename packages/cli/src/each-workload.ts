/** Runs one command for each named workload. If one workload is refused, the others still follow. */
import type { HeadroomClient } from "@headroom/protocol";
import { exitCode, type ExitCode } from "./cli-error.ts";
import type { CommandContext } from "./command.ts";
import { describeError } from "./describe-error.ts";
import { resolveTask, resolveWorkload } from "./resolve-workload.ts";

export interface EachWorkload {
  readonly names: readonly string[];
  readonly json: boolean;
  /** Verb for messages, for example in "stopping a (w1)". */
  readonly word: string;
  /** Whether a name can stand for one task of an array, such as `sweep.3`. */
  readonly takesTasks?: boolean;
  /** `task`: the named task. */
  readonly send: (client: HeadroomClient, id: string, task: number | null) => Promise<unknown>;
}

/** The highest exit code of all calls. */
export async function forEachWorkload(context: CommandContext, given: EachWorkload): Promise<ExitCode> {
  const client = await context.connect();
  let worst: ExitCode = exitCode.ok;
  const items: { readonly workloadId: string; readonly name: string; readonly task?: number }[] = [];
  for (const text of given.names) {
    try {
      const { workload, task } =
        given.takesTasks === true
          ? await resolveTask(client, text)
          : { workload: await resolveWorkload(client, text), task: null };
      await given.send(client, workload.id, task);
      items.push({ workloadId: workload.id, name: workload.name, ...(task === null ? {} : { task }) });
      const what = task === null ? workload.name : `task ${task} of ${workload.name}`;
      if (!given.json) context.print(`${given.word} ${what} (${workload.id})`);
    } catch (error) {
      const { message, code } = describeError(error);
      context.note(`error: ${text}: ${message}`);
      worst = Math.max(worst, code) as ExitCode;
    }
  }
  if (given.json) context.print(JSON.stringify({ items }, null, 2));
  return worst;
}
