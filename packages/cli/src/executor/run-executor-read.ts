/** `headroom executor read`: shows jobs and nodes in the output of another scheduler's commands. */
import type { JobRow, NodeRow, RowSink, UnreadLine } from "@headroom/executors/slurm-reading";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { fileChunks } from "../input/file-chunks.ts";
import { tableLines } from "../output/table.ts";

export interface ExecutorReadOptions {
  readonly timezone?: string;
  readonly json?: true;
}

/** Lines listed in the answer; all are counted. */
const UNREAD_SHOWN_MAX = 10_000;
/** Above the nodes of any cluster. */
const NODES_MAX = 1_000_000;
/** Jobs in the table for people, which is aligned as a whole. */
const JOBS_SHOWN_MAX = 10_000;

export async function runExecutorRead(
  context: CommandContext,
  file: string,
  options: ExecutorReadOptions,
): Promise<ExitCode> {
  const { SlurmReader, utc, zoneNamed } = await import("@headroom/executors/slurm-reading");
  const name = options.timezone ?? "UTC";
  const zone = name === "UTC" ? utc : zoneNamed(name);
  if (zone === null)
    throw new CliError(
      `--timezone: ${JSON.stringify(name)} is no time zone; expected a name such as Europe/Berlin`,
      exitCode.usage,
    );
  const rows = options.json === true ? new StreamedRows(context) : new ListedRows();
  const reader = new SlurmReader(rows, zone);
  for await (const chunk of fileChunks(context, file)) {
    reader.push(chunk);
    await context.terminal.stdout.drained();
    if (context.terminal.interrupted.aborted) return exitCode.interrupted;
  }
  reader.end();
  rows.finish(context);
  const isEmpty = rows.jobCount + rows.nodes.size + rows.stepCount === 0;
  return isEmpty && rows.unreadCount > 0 ? exitCode.failed : exitCode.ok;
}

/** Counts rows, and keeps nodes and unread lines. */
class KeptRows implements RowSink {
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

/** Prints each job as it is read. */
class StreamedRows extends KeptRows {
  readonly #write: (text: string) => void;

  constructor({ terminal }: CommandContext) {
    super();
    this.#write = (text) => terminal.stdout.write(text);
    this.#write('{\n  "jobs": [');
  }

  override job(row: JobRow): void {
    this.#write(`${this.jobCount === 0 ? "" : ","}\n    ${JSON.stringify(row)}`);
    super.job(row);
  }

  finish(): void {
    const nodes = [...this.nodes.values()];
    this.#write(this.jobCount === 0 ? "],\n" : "\n  ],\n");
    this.#write(`  "nodes": ${list(nodes)},\n  "unread": ${list(this.unreadLines)},\n`);
    this.#write(`  "unread_count": ${this.unreadCount},\n  "step_count": ${this.stepCount}\n}\n`);
  }
}

function list(items: readonly unknown[]): string {
  return items.length === 0 ? "[]" : `[\n${items.map((item) => `    ${JSON.stringify(item)}`).join(",\n")}\n  ]`;
}

/** Tables for people. */
class ListedRows extends KeptRows {
  readonly #jobs: JobRow[] = [];

  override job(row: JobRow): void {
    super.job(row);
    if (this.#jobs.length < JOBS_SHOWN_MAX) this.#jobs.push(row);
  }

  finish({ terminal, paint, print }: CommandContext): void {
    const shown = (value: string | number | null): string => (value === null ? "-" : String(value));
    const table = (titles: readonly string[], rows: readonly string[][]): void => {
      if (rows.length > 0)
        print(
          ...tableLines(
            titles.map((title) => ({ title })),
            rows,
            terminal.stdout,
            paint,
          ),
          "",
        );
    };
    table(
      ["JOB", "TASK", "STATE", "SUBMIT", "START", "END", "GPUS", "EXIT"],
      this.#jobs.map((job) =>
        [job.id, job.array_task, job.state, job.submit, job.start, job.end, job.gpus, job.exit_code].map(shown),
      ),
    );
    table(
      ["NODE", "STATE", "GPUS", "REASON"],
      [...this.nodes.values()].map(({ name, state, gpus, reason }) => [name, state, gpus, reason].map(shown)),
    );
    table(
      ["LINE", "NOT READ BECAUSE", "TEXT"],
      this.unreadLines.map(({ line, reason, text }) => [String(line), reason, text]),
    );
    const hidden = this.jobCount - this.#jobs.length;
    print(
      `${this.jobCount} jobs, ${this.nodes.size} nodes, ${this.stepCount} steps left out, ${this.unreadCount} lines not read` +
        (hidden > 0 ? `; ${hidden} more jobs are in the answer with --json` : ""),
    );
  }
}
