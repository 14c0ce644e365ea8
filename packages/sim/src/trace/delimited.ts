/**
 * Reads tables with a header row and a delimiter: RFC 4180 with any line end and an optional byte order mark. Blank
 * lines are skipped.
 */
import { quoted, Row } from "./row.ts";
import type { ImportLedger } from "./row.ts";
import type { TraceLines } from "./trace.ts";

/** Callbacks of a table's reader. */
export type RowLedger = Pick<ImportLedger, "row" | "broken">;

export interface TableFormat {
  readonly delimiter: "," | "|";
  /** Required columns in any order. The table can have others. */
  readonly required: readonly string[];
  /** How fields are quoted. `sacct --parsable2` does not quote them. */
  readonly quotes: "rfc4180" | "literal";
}

/**
 * Calls `visit` with every row that has as many fields as the header. Returns a problem if the whole file has another
 * format. Rows with another number of fields count as broken, and so do rows that `visit` rejects.
 */
export function readTable(
  source: TraceLines,
  format: TableFormat,
  ledger: RowLedger,
  visit: (row: Row) => void,
): string | null {
  let columns: Map<string, number> | null = null;
  let line = 0;
  for (const raw of source.lines) {
    line++;
    const text = cleanLine(raw, line);
    if (text.trim() === "") continue;
    const fields = splitFields(text, format);
    if (columns === null) {
      columns = new Map(fields.map((name, index) => [name.trim(), index]));
      const missing = format.required.filter((name) => !columns?.has(name));
      if (missing.length > 0) {
        return `${source.file}:${line}: the header lacks ${missing.join(", ")}; the header is ${quoted(text)}`;
      }
      if (columns.size !== fields.length) return `${source.file}:${line}: the header names a column twice`;
      continue;
    }
    ledger.row();
    const row = new Row(columns, fields);
    if (fields.length !== columns.size) row.fail(`expected ${columns.size} fields, got ${fields.length}`);
    else visit(row);
    if (row.problem !== null) ledger.broken({ file: source.file, line, message: row.problem });
  }
  return columns === null ? `${source.file}: the file is empty` : null;
}

export function cleanLine(raw: string, line: number): string {
  const start = line === 1 && raw.charCodeAt(0) === 0xfeff ? 1 : 0;
  let end = raw.length;
  while (end > start && (raw.charCodeAt(end - 1) === 13 || raw.charCodeAt(end - 1) === 10)) end--;
  return start === 0 && end === raw.length ? raw : raw.slice(start, end);
}

function splitFields(text: string, format: TableFormat): string[] {
  if (format.quotes === "literal" || !text.includes('"')) return text.split(format.delimiter);
  const fields: string[] = [];
  let position = 0;
  while (position <= text.length) {
    const field = readField(text, position, format.delimiter);
    fields.push(field.value);
    position = field.next;
  }
  return fields;
}

/**
 * One field, from `position` on. `next`: start of the following field; after the last field it lies past the end of the
 * text.
 */
function readField(text: string, position: number, delimiter: string): { value: string; next: number } {
  if (text[position] !== '"') {
    const end = text.indexOf(delimiter, position);
    if (end < 0) return { value: text.slice(position), next: text.length + 1 };
    return { value: text.slice(position, end), next: end + 1 };
  }
  let value = "";
  let from = position + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    // An unmatched quote extends the field to the end of the line, so the number of fields becomes wrong.
    if (quote < 0) return { value: value + text.slice(from), next: text.length + 1 };
    value += text.slice(from, quote);
    if (text[quote + 1] !== '"') {
      const end = text.indexOf(delimiter, quote + 1);
      const rest = text.slice(quote + 1, end < 0 ? text.length : end);
      return { value: value + rest, next: end < 0 ? text.length + 1 : end + 1 };
    }
    value += '"';
    from = quote + 2;
  }
}
