/** `headroom executor fleet`: a fleet document from the nodes and the topology of a Slurm cluster. */
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { fileText } from "../input/file-chunks.ts";
import { plural } from "../output/amounts.ts";
import { printable } from "../terminal.ts";
import { KeptRows, readOutput } from "./slurm-output.ts";

export interface ExecutorFleetOptions {
  readonly topology?: string;
  readonly site?: string;
  readonly json?: true;
}

/** Above the files of clusters with tens of thousands of nodes. */
const TOPOLOGY_BYTES_MAX = 16 << 20;

export async function runExecutorFleet(
  context: CommandContext,
  file: string,
  { topology, site = "slurm", json }: ExecutorFleetOptions,
): Promise<ExitCode> {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(site))
    throw new CliError("--site must be at most 63 letters, digits, '.', '_' and '-'", exitCode.usage);
  const { utc } = await import("@headroom/executors/slurm-reading");
  const { clusterFleet } = await import("@headroom/executors/slurm-fleet");
  const rows = new KeptRows();
  if (!(await readOutput(context, { file, rows, zone: utc }))) return exitCode.interrupted;
  const nodes = [...rows.nodes.values()];
  if (!nodes.some(({ hardware }) => hardware !== undefined))
    throw new CliError(
      `${printable(file)} has no nodes with their hardware; write it with: scontrol show node > nodes.txt`,
      exitCode.usage,
    );
  const switches = topology === undefined ? null : await topologyIn(context, topology);
  const { document, notes } = clusterFleet(nodes, { site, topology: switches });
  const unread = rows.unreadLines.map(({ line, reason }) => ({ line, reason }));
  if (json === true) {
    context.print(JSON.stringify({ document, notes, unread, unread_count: rows.unreadCount }, null, 2));
    return exitCode.ok;
  }
  const { stringify } = await import("yaml");
  context.print(stringify(document, { flowCollectionPadding: true, lineWidth: 0 }).trimEnd());
  for (const note of notes) context.note(printable(note));
  if (rows.unreadCount > 0)
    context.note(
      `${plural(rows.unreadCount, "line")} could not be read: headroom executor read ${printable(file)} lists them.`,
    );
  return exitCode.ok;
}

async function topologyIn(context: CommandContext, file: string) {
  const { switchTree } = await import("@headroom/executors/slurm-fleet");
  const text = await fileText(context, file, TOPOLOGY_BYTES_MAX);
  try {
    return switchTree(text);
  } catch (error) {
    throw new CliError(`${printable(file)}: ${error instanceof Error ? error.message : String(error)}`, exitCode.usage);
  }
}
