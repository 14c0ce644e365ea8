/** Reads rows of text tables: fields by name, numbers within bounds, and a list of problems with their line numbers. */
import {
  inOrderOfSubmission,
  PROBLEMS_KEPT,
  type ImportOptions,
  type ImportReport,
  type TraceImport,
  type TraceJob,
  type TraceProblem,
} from "./trace.ts";
import type { FleetSpec } from "../run/fleet-spec.ts";

/** One row under a header. The first problem marks the row as broken; the results of later reads are then ignored. */
export class Row {
  readonly #columns: ReadonlyMap<string, number>;
  readonly #fields: readonly string[];
  problem: string | null = null;

  constructor(columns: ReadonlyMap<string, number>, fields: readonly string[]) {
    this.#columns = columns;
    this.#fields = fields;
  }

  text(column: string): string {
    const index = this.#columns.get(column);
    return index === undefined ? "" : (this.#fields[index] ?? "").trim();
  }

  has(column: string): boolean {
    return this.#columns.has(column);
  }

  fail(message: string): void {
    this.problem ??= message;
  }

  /** The column's value as an integer from 0 to `max`; anything else breaks the row. */
  integer(column: string, max: number): number {
    return this.integerFrom(this.text(column), column, max);
  }

  integerFrom(text: string, column: string, max: number): number {
    const value = plainInteger(text);
    if (value === null) this.fail(`${column}: expected a whole number, got ${quoted(text)}`);
    else if (value < 0 || value > max) this.fail(`${column}: must be between 0 and ${max}, got ${text}`);
    return value ?? 0;
  }
}

/**
 * The integer in a text such as `-12` or `12`; `null` for any other text, including decimals and exponents. Very large
 * numbers keep all their digits.
 */
export function plainInteger(text: string): number | null {
  return /^-?[0-9]+$/.test(text) ? Number(text) : null;
}

/** Text of a damaged file, shortened and with unprintable characters replaced, for a message. */
export function quoted(text: string): string {
  const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  return JSON.stringify(shown);
}

/** Counts the rows of one import. */
export class ImportLedger {
  #rowCount = 0;
  #brokenCount = 0;
  readonly #problems: TraceProblem[] = [];
  readonly #leftOut: Record<string, number> = {};
  readonly jobs: TraceJob[] = [];

  row(): void {
    this.#rowCount++;
  }

  broken(problem: TraceProblem): void {
    this.#brokenCount++;
    if (this.#problems.length < PROBLEMS_KEPT) this.#problems.push(problem);
  }

  leaveOut(reason: string): void {
    this.#leftOut[reason] = (this.#leftOut[reason] ?? 0) + 1;
  }

  /**
   * Adds a job, or counts the row as left out. In every format, a row without run time or accelerators gives no job.
   */
  job(job: TraceJob): void {
    if (job.durationMs === 0) this.leaveOut("zeroDuration");
    else if (job.accelerators === 0) this.leaveOut("noAccelerators");
    else this.jobs.push(job);
  }

  refuse(reason: string): TraceImport {
    return { kind: "refused", reason, report: this.#report() };
  }

  /** The result of the import after the last row. */
  finish(options: ImportOptions, fleet: FleetSpec | null): TraceImport {
    const report = this.#report();
    if (report.brokenCount > 0 && !options.skipBroken) {
      const rows = report.brokenCount === 1 ? "1 row is" : `${report.brokenCount} rows are`;
      return { kind: "refused", reason: `${rows} broken, of ${report.rowCount}`, report };
    }
    if (this.jobs.length === 0) return { kind: "refused", reason: "the file has no job", report };
    return { kind: "imported", trace: { jobs: inOrderOfSubmission(this.jobs), fleet }, report };
  }

  #report(): ImportReport {
    return {
      rowCount: this.#rowCount,
      brokenCount: this.#brokenCount,
      problems: this.#problems,
      leftOut: this.#leftOut,
    };
  }
}
