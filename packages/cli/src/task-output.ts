/** Which attempt of a workload `logs` prints, and what it leaves out. */
import type { HeadroomClient, WorkloadSummary } from "@headroom/protocol";
import { CliError } from "./cli-error.ts";
import { plural } from "./output/amounts.ts";

interface Wanted {
  /** Task of an array; `null`: none is named. */
  readonly task: number | null;
  /** Id or number of the attempt; absent: the newest of the task. */
  readonly text: string | undefined;
}

/** The id of the wanted attempt; `undefined`: the newest attempt of the workload. */
export async function attemptOf(
  client: HeadroomClient,
  { id, name }: WorkloadSummary,
  { task, text }: Wanted,
): Promise<string | undefined> {
  if (task === null && (text === undefined || !/^\d+$/.test(text))) return text;
  const { attempts } = await client.getWorkload(id);
  const own = attempts.filter((attempt) => attempt.task === (task ?? 0));
  const found =
    text === undefined ? own.at(-1) : own.find((attempt) => attempt.id === text || String(attempt.number) === text);
  if (found !== undefined) return found.id;
  // Only the newest attempts are listed, but the attempt may be known all the same.
  if (own.length === 0 && task !== null) {
    const known = attempts.map((attempt) => attempt.task);
    const range = known.length === 0 ? "none has an attempt yet" : `kept are ${listed(known)}`;
    throw new CliError(`the output of task ${task} of ${name} is not kept, or the task has not started; ${range}`);
  }
  throw new CliError(`${name} has no attempt ${text ?? ""}; there are ${own.map((attempt) => attempt.id).join(", ")}`);
}

/** A line about the tasks whose output is not printed; `null`: there are none. */
export async function leftOut(client: HeadroomClient, { id, name, tasks }: WorkloadSummary): Promise<string | null> {
  const { attempts } = await client.getWorkload(id);
  const shown =
    attempts.findLast(({ phase, startedAtMs }) => phase !== "ended" && startedAtMs !== null) ?? attempts.at(-1);
  if (shown === undefined) return null;
  const others = [...new Set(attempts.map(({ task }) => task))].filter((task) => task !== shown.task);
  const rest = others.length === 0 ? "" : ` Kept are also ${listed(others)}: headroom logs ${name}.N`;
  return `This is task ${shown.task} of ${plural(tasks.total, "task")}.${rest}`;
}

const TASKS_LISTED_MAX = 10;

function listed(tasks: readonly number[]): string {
  const unique = [...new Set(tasks)].toSorted((left, right) => left - right);
  const shown = unique.slice(0, TASKS_LISTED_MAX).join(", ");
  const noun = unique.length === 1 ? "task" : "tasks";
  return `${noun} ${shown}${unique.length > TASKS_LISTED_MAX ? ` and ${unique.length - TASKS_LISTED_MAX} more` : ""}`;
}
