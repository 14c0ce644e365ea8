/** `headroom lineage export`: the history of the control plane as OpenLineage events, one JSON object in each line. */
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { DEFAULT_NAMESPACE, hasJournal, historyEvents } from "./history-events.ts";

export interface LineageExportOptions {
  readonly namespace?: string;
}

/** Events that are written at once. */
const EVENTS_AT_ONCE = 1_000;

export async function runLineageExport(
  { home, terminal }: CommandContext,
  { namespace = DEFAULT_NAMESPACE }: LineageExportOptions,
): Promise<ExitCode> {
  if (!hasJournal(home))
    throw new CliError(`${home} has no journal. Name the state directory with --home DIR.`, exitCode.usage);
  let lines: string[] = [];
  const flush = async (): Promise<void> => {
    if (lines.length > 0) terminal.stdout.write(`${lines.join("\n")}\n`);
    lines = [];
    await terminal.stdout.drained();
  };
  for await (const event of historyEvents(home, namespace)) {
    lines.push(JSON.stringify(event));
    if (lines.length >= EVENTS_AT_ONCE) await flush();
    if (terminal.interrupted.aborted) return exitCode.interrupted;
  }
  await flush();
  return exitCode.ok;
}
