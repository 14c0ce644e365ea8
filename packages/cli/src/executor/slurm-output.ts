/** Reads a file with the output of Slurm's commands, and keeps its nodes and the lines that cannot be read. */
import type { JobRow, NodeRow, RowSink, UnreadLine, Zone } from "@headroom/executors/slurm-reading";
import { CliError } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { fileChunks } from "../input/file-chunks.ts";

/** Lines listed in the answer; all are counted. */
const UNREAD_SHOWN_MAX = 10_000;
/** Above the nodes of any cluster. */
const NODES_MAX = 1_000_000;

interface Output {
  readonly file: string;
  readonly rows: RowSink;
  readonly zone: Zone;
}

/** False: the user interrupted it. */
export async function readOutput(context: CommandContext, { file, rows, zone }: Output): Promise<boolean> {
  const { SlurmReader } = await import("@headroom/executors/slurm-reading");
  const reader = new SlurmReader(rows, zone);
  for await (const chunk of fileChunks(context, file)) {
    reader.push(chunk);
    await context.terminal.stdout.drained();
    if (context.terminal.interrupted.aborted) return false;
  }
  reader.end();
  return true;
}

/** Counts rows, and keeps nodes and unread lines. */
export class KeptRows implements RowSink {
  readonly nodes = new Map<string, NodeRow>();
  readonly unreadLines: UnreadLine[] = [];
  jobCount = 0;
  stepCount = 0;
  unreadCount = 0;

  job(_row: JobRow): void {
    this.jobCount += 1;
  }

  /** sinfo lists a node once for each of its partitions. */
  node(row: NodeRow): void {
    const before = this.nodes.get(row.name);
    if (before === undefined && this.nodes.size >= NODES_MAX)
      throw new CliError(`more than ${NODES_MAX} nodes; split the file`);
    this.nodes.set(row.name, before === undefined ? row : merged(before, row));
  }

  step(): void {
    this.stepCount += 1;
  }

  unread(line: UnreadLine): void {
    this.unreadCount += 1;
    if (this.unreadLines.length < UNREAD_SHOWN_MAX) this.unreadLines.push(line);
  }
}

/** The later row; what it does not say is kept from the earlier. */
function merged(before: NodeRow, row: NodeRow): NodeRow {
  return {
    ...before,
    ...row,
    state: row.state ?? before.state,
    reason: row.reason ?? (row.state === null || row.state === before.state ? before.reason : null),
    gpus: row.gpus ?? before.gpus,
  };
}
