/** Follows a workload until it ends: its output on stdout and stderr, its phases on stderr. */
import { setTimeout as delay } from "node:timers/promises";
import type { HeadroomClient, Workload } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "./cli-error.ts";
import type { CommandContext } from "./command.ts";
import { writeLogs } from "./output/log-lines.ts";
import { rejectedLinesOfWorkload } from "./output/rejected-lines.ts";
import { printable } from "./terminal.ts";

/** Interval in ms at which the state is polled. Output is streamed. */
const LOOK_EVERY_MS = 500;

export async function followWorkload(
  context: CommandContext,
  client: HeadroomClient,
  id: string,
  timeoutMs: number | null,
): Promise<ExitCode> {
  const { interrupted } = context.terminal;
  const done = new AbortController();
  const signal = AbortSignal.any([interrupted, done.signal]);
  const watching = watchState(context, client, id, {
    signal,
    deadlineAtMs: timeoutMs === null ? null : Date.now() + timeoutMs,
  });
  const first = await client.getWorkload(id);
  const chunks = client.logs(id, { follow: true, signal });
  const printing = writeLogs(context.terminal, chunks, { isTagged: first.gang.workers > 1, json: false }).catch(
    (error: unknown) => {
      if (!signal.aborted) throw error;
    },
  );
  // A log stream that fails first is reported when the state is known. Until then the failure must not end the process.
  printing.catch(() => {});
  try {
    // The log stream ends by itself once the workload has ended and its output is complete.
    const end = await watching;
    if (end !== undefined) await printing;
    return end === undefined ? exitCode.unsatisfied : await outcome(context, client, end);
  } catch (error) {
    if (!interrupted.aborted) throw error;
    context.note(`\nStill running: headroom logs -f ${first.name} · headroom stop ${first.name}`);
    return exitCode.interrupted;
  } finally {
    done.abort();
    await printing.catch(() => {});
  }
}

interface Watch {
  readonly signal: AbortSignal;
  readonly deadlineAtMs: number | null;
}

/** The workload after its end, or `undefined` if the time is over or the workload can never start. */
async function watchState(
  context: CommandContext,
  client: HeadroomClient,
  id: string,
  { signal, deadlineAtMs }: Watch,
): Promise<Workload | undefined> {
  let said = "";
  for (;;) {
    const workload = await client.getWorkload(id, { signal });
    if (workload.endedAtMs !== null) return workload;
    const { line, neverStarts } = await stateOf(client, workload);
    if (line !== said) context.note(line);
    said = line;
    if (neverStarts) {
      context.note(`The workload stays in the queue: headroom why ${workload.name} · headroom stop ${workload.name}`);
      return undefined;
    }
    if (deadlineAtMs !== null && Date.now() >= deadlineAtMs) {
      context.note(`The workload has not ended within the given time and continues: headroom show ${workload.name}`);
      return undefined;
    }
    await delay(LOOK_EVERY_MS, undefined, { signal });
  }
}

/** Explains why the workload can never start, if that is so. Returns whether it can start. */
export async function warnIfNeverStarts(context: CommandContext, client: HeadroomClient, id: string): Promise<boolean> {
  const { line, neverStarts } = await stateOf(client, await client.getWorkload(id));
  if (neverStarts) context.note(`warning: ${line}`);
  return neverStarts;
}

interface WatchedState {
  readonly line: string;
  readonly neverStarts: boolean;
}

export async function stateOf(client: HeadroomClient, workload: Workload): Promise<WatchedState> {
  const { name } = workload;
  if (workload.phase !== "pending") {
    const active = workload.attempts.findLast(({ phase }) => phase !== "ended");
    const nodes = [...new Set(active?.workers.map(({ node }) => node))];
    const where = nodes.length > 0 ? ` on ${nodes.slice(0, 8).join(", ")}` : "";
    const attempt = active !== undefined && active.number > 1 ? ` (attempt ${active.number})` : "";
    return { line: `${name} is ${workload.phase}${where}${attempt}`, neverStarts: false };
  }
  const verdict = await client.explainWorkload(workload.id);
  if (verdict.kind !== "blocked") return { line: `${name} is starting`, neverStarts: false };
  const { canNeverStart } = await import("@headroom/protocol");
  const neverStarts = canNeverStart(verdict);
  const why = printable(verdict.sentence);
  const where = verdict.reasons[0]?.kind === "exceedsFleet" ? "on this fleet" : "under present limits";
  return { line: `${name} waits${neverStarts ? ` and can never start ${where}` : ""}: ${why}`, neverStarts };
}

async function outcome(context: CommandContext, client: HeadroomClient, workload: Workload): Promise<ExitCode> {
  const hasSucceeded = workload.phase === "succeeded";
  const rejected = await rejectedLinesOfWorkload(client, workload, context.paint);
  if (rejected.length > 0) context.note(rejected.join("\n"));
  const reason = hasSucceeded || workload.endSentence === null ? "" : `: ${printable(workload.endSentence)}`;
  context.note(`${workload.name} ${workload.phase}${reason}`);
  return hasSucceeded ? exitCode.ok : exitCode.failed;
}

/** `--timeout 5m` in milliseconds. */
export async function timeoutOf(text: string | undefined): Promise<number | null> {
  if (text === undefined) return null;
  const { DURATION_MS_MAX, readDuration } = await import("@headroom/protocol");
  const reading = readDuration(text, { min: 0, max: DURATION_MS_MAX });
  if (!reading.ok) throw new CliError(`--timeout: ${reading.message}`, exitCode.usage);
  return reading.value;
}
