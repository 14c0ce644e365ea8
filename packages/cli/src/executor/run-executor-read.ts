/** `headroom executor read`: shows jobs and nodes in the output of another scheduler's commands. */
import type { JobRow } from "@headroom/executors/slurm-reading";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { tableLines } from "../output/table.ts";
import { KeptRows, readOutput } from "./slurm-output.ts";

export interface ExecutorReadOptions {
  readonly timezone?: string;
  readonly json?: true;
}

/** Jobs in the table for people, which is aligned as a whole. */
const JOBS_SHOWN_MAX = 10_000;

export async function runExecutorRead(
  context: CommandContext,
  file: string,
  options: ExecutorReadOptions,
): Promise<ExitCode> {
  const { utc, zoneNamed } = await import("@headroom/executors/slurm-reading");
  const name = options.timezone ?? "UTC";
  const zone = name === "UTC" ? utc : zoneNamed(name);
  if (zone === null)
    throw new CliError(
      `--timezone: ${JSON.stringify(name)} is no time zone; expected a name such as Europe/Berlin`,
      exitCode.usage,
    );
  const rows = options.json === true ? new StreamedRows(context) : new ListedRows();
  if (!(await readOutput(context, { file, rows, zone }))) return exitCode.interrupted;
  rows.finish(context);
  const isEmpty = rows.jobCount + rows.nodes.size + rows.stepCount === 0;
  return isEmpty && rows.unreadCount > 0 ? exitCode.failed : exitCode.ok;
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
    const { charge: _not, ...shown } = row;
    this.#write(`${this.jobCount === 0 ? "" : ","}\n    ${JSON.stringify(shown)}`);
    super.job(row);
  }

  finish(): void {
    const nodes = [...this.nodes.values()].map(({ hardware: _not, ...row }) => row);
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
