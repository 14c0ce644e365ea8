/** Tables with a delimiter: `sacct -P`, `sacct -p`, `squeue -o "%i|%T"`. A free text may contain the delimiter and line ends. */
import { columnsOf, type Columns } from "./columns.ts";
import type { Cell, Field, ReadRow } from "./job-fields.ts";
import { Unreadable } from "./rows.ts";
import { utf8Text } from "./text.ts";

export interface DelimitedTable {
  readonly kind: "delimited";
  readonly columns: Columns;
  readonly delimiter: string;
}

/** Null: the line is no header with a delimiter. */
export function delimitedTable(line: string): DelimitedTable | null {
  // A title of Slurm has letters, digits, and marks such as `_`, `/`, `(`, `%`. Anything else between two titles is the delimiter.
  const delimiter = line.includes("|") ? "|" : /^\s*[A-Za-z_]+([^A-Za-z0-9_()/%: ]+)[A-Za-z]/.exec(line)?.[1];
  if (delimiter === undefined) return null;
  const titles = withoutEnd(line, delimiter)
    .split(delimiter)
    .map((title) => title.trim());
  const columns = columnsOf(titles);
  return columns === null ? null : { kind: "delimited", columns, delimiter };
}

/** `sacct --parsable` ends a line with the delimiter. */
function withoutEnd(line: string, delimiter: string): string {
  const trimmed = line.trimEnd();
  return trimmed.endsWith(delimiter) ? trimmed.slice(0, -delimiter.length) : line;
}

/**
 * Reads a line, or several joined ones. Extra delimiters belong to one of the free texts; if the row reads the same whichever it is,
 * it is read.
 */
export function readDelimited(
  { columns, delimiter }: DelimitedTable,
  line: string,
  read: (cells: ReadonlyMap<Field, Cell>) => ReadRow,
): ReadRow {
  const width = columns.titles.length;
  const parts = line.split(delimiter);
  if (parts.length === width + 1 && parts.at(-1)?.trim() === "") parts.pop();
  if (delimiter === ",") joinResources(parts, width);
  if (parts.length < width) throw new Unreadable(`expected ${width} columns, got ${parts.length}`);
  if (parts.length === width) return read(cellsOf(columns, parts));
  return readSpread(columns, parts, { delimiter, read });
}

function readSpread(
  columns: Columns,
  parts: readonly string[],
  { delimiter, read }: { readonly delimiter: string; readonly read: (cells: ReadonlyMap<Field, Cell>) => ReadRow },
): ReadRow {
  const extra = parts.length - columns.titles.length;
  const found = new Map<string, ReadRow>();
  for (const column of columns.free) {
    const cells = [
      ...parts.slice(0, column),
      parts.slice(column, column + extra + 1).join(delimiter),
      ...parts.slice(column + extra + 1),
    ];
    try {
      const row = withoutName(read(cellsOf(columns, cells)));
      found.set(JSON.stringify(row), row);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
    }
  }
  const [row] = found.values();
  if (row !== undefined && found.size === 1) return row;
  throw new Unreadable(`expected ${columns.titles.length} columns, got ${parts.length}`);
}

/** The name of a job is a free text, so its ends are not known. */
function withoutName(row: ReadRow): ReadRow {
  if (row.kind !== "job" || row.row.charge === undefined) return row;
  return { ...row, row: { ...row.row, charge: { ...row.row.charge, name: null } } };
}

/** With a comma as delimiter, `billing=1,cpu=1` is one cell. */
function joinResources(parts: string[], width: number): void {
  for (let index = 1; index < parts.length && parts.length > width;) {
    const isResource = (text: string): boolean => /^[a-z][\w/:.-]*=\S+$/.test(text);
    const part = parts[index] ?? "";
    if (isResource(part) && isResource((parts[index - 1] ?? "").split(",").at(-1) ?? "")) {
      parts.splice(index - 1, 2, `${parts[index - 1] ?? ""},${part}`);
    } else index += 1;
  }
}

function cellsOf({ fields, titles }: Columns, texts: readonly string[]): ReadonlyMap<Field, Cell> {
  const cells = new Map<Field, Cell>();
  for (const [index, field] of fields.entries()) {
    if (field === undefined) continue;
    cells.set(field, { column: titles[index] ?? "", text: utf8Text(texts[index] ?? "").trim(), isCut: false });
  }
  return cells;
}
