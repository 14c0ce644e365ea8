/** Reads text line by line: finds headers and records, collects what belongs together, and reports what cannot be read. */
import { alignedTable, dashedSpans, readAligned, spansOf, type AlignedTable, type Spans } from "./aligned-table.ts";
import { delimitedTable, readDelimited, type DelimitedTable } from "./delimited-table.ts";
import { jobRow, nodeRows, type Cell, type Field, type ReadRow } from "./job-fields.ts";
import { jsonReader } from "./json-reader.ts";
import type { JsonRecords } from "./json-records.ts";
import { readRecord, recordKind, type RecordKind } from "./record-text.ts";
import { shownText, Unreadable, type RowSink } from "./rows.ts";
import { utf8Text } from "./text.ts";
import type { Zone } from "./times.ts";

interface Line {
  readonly line: number;
  readonly text: string;
}

/** Rows from which the widths of columns are found. */
const SAMPLE_ROWS = 500;
/** Most lines of one row or record: a script in a comment has fewer. */
const JOINED_LINES_MAX = 100;
const RECORD_LINES_MAX = 10_000;

type Section =
  | { readonly kind: "none" }
  | { readonly kind: "delimited"; readonly table: DelimitedTable }
  | { readonly kind: "aligned"; readonly table: AlignedTable; spans: Spans | null; isMeasured: boolean }
  | { readonly kind: "record"; readonly record: RecordKind }
  /** JSON after messages of the tool. */
  | { readonly kind: "json"; readonly reader: JsonRecords };

export class TextReader {
  readonly #sink: RowSink;
  readonly #zone: Zone;
  #section: Section = { kind: "none" };
  /** Lines of an incomplete row or record, or the first rows of a table. */
  #held: Line[] = [];

  constructor(sink: RowSink, zone: Zone) {
    this.#sink = sink;
    this.#zone = zone;
  }

  /** `text` has one character for each byte of the line. */
  line(line: number, text: string): void {
    const section = this.#section;
    if (section.kind === "json") {
      section.reader.push(Buffer.from(`${text}\n`, "latin1"));
      return;
    }
    if (section.kind === "none" && text === "{") {
      this.#section = { kind: "json", reader: jsonReader(this.#sink, line) };
      this.line(line, text);
      return;
    }
    // A comment of several lines in a row of a table may have a line such as `JobId=7`.
    const start = section.kind === "delimited" && this.#held.length > 0 ? null : recordKind(text);
    if (start !== null) {
      this.#open({ kind: "record", record: start });
      this.#held.push({ line, text });
    } else if (section.kind === "record") this.#recordLine({ line, text });
    else if (text.trim() === "") this.#blank();
    else if (!this.#header(text)) this.#row({ line, text });
  }

  /** A line that is too long to be kept. */
  overlong(line: number, text: string, bytes: number): void {
    this.#close();
    this.#unread({ line, text }, `the line has ${bytes} bytes; no line of Slurm is that long`);
  }

  end(): void {
    this.#open({ kind: "none" });
  }

  #open(section: Section): void {
    this.#close();
    this.#section = section;
  }

  /** Reads or reports what is held. */
  #close(): void {
    const held = this.#held;
    this.#held = [];
    const section = this.#section;
    if (section.kind === "json") section.reader.end();
    else if (section.kind === "record") this.#record(section.record, held);
    else if (section.kind === "aligned") this.#alignedRows(section, held);
    else this.#report(held, this.#delimitedProblem(held));
  }

  #blank(): void {
    if (this.#section.kind === "delimited" && this.#held.length > 0) this.#held.push({ line: 0, text: "" });
  }

  #recordLine(line: Line): void {
    if (line.text.trim() === "") {
      // `scontrol -d show job` ends a record with a line of spaces, and a reason may contain an empty line.
      return;
    }
    if (/^\s/.test(line.text) && this.#held.length < RECORD_LINES_MAX) {
      this.#held.push(line);
      return;
    }
    // The text of a reason or a comment continues at the margin; a header or a message of a tool does not belong to the record.
    const isNext = this.#isHeader(line.text) || isMessage(line.text) || this.#held.length >= RECORD_LINES_MAX;
    if (!isNext) {
      this.#held.push(line);
      return;
    }
    this.#open({ kind: "none" });
    this.line(line.line, line.text);
  }

  #isHeader(text: string): boolean {
    return delimitedTable(text) !== null || alignedTable(text) !== null;
  }

  #header(text: string): boolean {
    const delimited = delimitedTable(text);
    if (delimited !== null) {
      this.#open({ kind: "delimited", table: delimited });
      return true;
    }
    const section = this.#section;
    if (section.kind === "aligned") {
      const spans = dashedSpans(text, section.table);
      if (spans !== null && this.#held.length === 0) {
        section.spans = spans;
        section.isMeasured = true;
        return true;
      }
    }
    const aligned = alignedTable(text);
    if (aligned === null) return false;
    this.#open({ kind: "aligned", table: aligned, spans: null, isMeasured: false });
    return true;
  }

  #row(line: Line): void {
    if (
      isTimestamp(line.text) ||
      /^CLUSTER: \S+\s*$/.test(line.text) ||
      /^No (?:jobs|job steps|nodes) in the system/.test(line.text)
    ) {
      return;
    }
    const section = this.#section;
    if (section.kind === "none")
      this.#unread(line, messageOf(line.text) ?? "there is no header above it that is known");
    else if (section.kind === "aligned") this.#alignedRow(section, line);
    else if (section.kind === "delimited") this.#delimitedRow(section.table, line);
  }

  #alignedRow(section: Extract<Section, { kind: "aligned" }>, line: Line): void {
    this.#held.push(line);
    if (section.isMeasured || this.#held.length >= SAMPLE_ROWS) {
      const held = this.#held;
      this.#held = [];
      this.#alignedRows(section, held);
    }
  }

  #alignedRows(section: Extract<Section, { kind: "aligned" }>, held: readonly Line[]): void {
    if (held.length === 0) return;
    if (!section.isMeasured) {
      section.spans = spansOf(
        section.table,
        held.map(({ text }) => text),
      );
      section.isMeasured = true;
    }
    for (const line of held) {
      this.#try(line, () =>
        readAligned(section.table, line.text, section.spans, (cells) => this.#read(section.table, cells)),
      );
    }
  }

  #delimitedRow(table: DelimitedTable, line: Line): void {
    const held = this.#held;
    const alone = this.#attempt(table, line.text);
    if (alone !== null) {
      this.#report(held, this.#delimitedProblem(held));
      this.#held = [];
      this.#accept(line, alone);
      return;
    }
    const joined = [...held, line];
    const together = held.length === 0 ? null : this.#attempt(table, joined.map(({ text }) => text).join("\n"));
    if (together !== null) {
      this.#held = [];
      this.#accept(joined[0] ?? line, together);
    } else if (joined.length >= JOINED_LINES_MAX) {
      this.#report(joined, this.#delimitedProblem(joined));
      this.#held = [];
    } else this.#held = joined;
  }

  #attempt(table: DelimitedTable, text: string): ReadRow | null {
    try {
      return readDelimited(table, text, (cells) => this.#read(table, cells));
    } catch (error) {
      if (error instanceof Unreadable) return null;
      throw error;
    }
  }

  /** The problem of each held line that stands alone. */
  #delimitedProblem(held: readonly Line[]): (line: Line) => string {
    const section = this.#section;
    return ({ text }) => {
      if (section.kind !== "delimited" || held.length === 0) return "it belongs to no row";
      try {
        readDelimited(section.table, text, (cells) => this.#read(section.table, cells));
        return "it belongs to no row";
      } catch (error) {
        if (error instanceof Unreadable) return messageOf(text) ?? error.message;
        throw error;
      }
    };
  }

  #record(kind: RecordKind, held: readonly Line[]): void {
    const [first] = held;
    if (first === undefined) return;
    if (kind === "step") this.#sink.step();
    else if (kind === "other") this.#unread(first, "only records of jobs and nodes are read");
    else {
      this.#try(first, () =>
        readRecord(
          kind,
          held.map(({ text }) => text),
          this.#zone,
        ),
      );
    }
  }

  #read({ columns }: DelimitedTable | AlignedTable, cells: ReadonlyMap<Field, Cell>): ReadRow {
    if (columns.kind === "steps") return { kind: "step" };
    return columns.kind === "jobs" ? jobRow(cells, this.#zone) : nodeRows(cells);
  }

  #try(line: Line, read: () => ReadRow): void {
    try {
      this.#accept(line, read());
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      this.#unread(line, messageOf(line.text) ?? error.message);
    }
  }

  #accept(line: Line, read: ReadRow): void {
    if (read.kind === "step") this.#sink.step();
    else if (read.kind === "nodes") for (const row of read.rows) this.#sink.node(row);
    else {
      this.#sink.job(read.row);
      if (read.problems.length > 0) this.#unread(line, read.problems.join("; "));
    }
  }

  #report(lines: readonly Line[], problem: (line: Line) => string): void {
    for (const line of lines) if (line.text.trim() !== "") this.#unread(line, problem(line));
  }

  #unread({ line, text }: Line, reason: string): void {
    this.#sink.unread({ line, reason, text: shownText(utf8Text(text.slice(0, 1000)).trim()) });
  }
}

/** Messages of the tools themselves: `squeue: error: …`, `slurm_load_jobs error: …`. */
function isMessage(text: string): boolean {
  return /^(?:[a-z_]+: (?:error|fatal|warning|debug|info)|slurm_\w+ (?:error|warning)|Slurm accounting storage is disabled)/.test(
    text,
  );
}

function messageOf(text: string): string | null {
  return isMessage(text.trimStart()) ? "it is a message of the tool" : null;
}

/** The line with date and time that `-l` and `-i` print above a table, in any locale. */
function isTimestamp(text: string): boolean {
  const words = text.trim().split(/\s+/);
  const hasTime = words.some((word) => /^\d{1,2}:\d\d:\d\d$/.test(word));
  const hasYear = words.some((word) => /^20\d\d,?$/.test(word));
  return words.length >= 4 && words.length <= 8 && hasTime && hasYear && words.every((word) => !word.includes("|"));
}
