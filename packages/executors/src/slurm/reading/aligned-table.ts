/**
 * Tables in columns of fixed width: sacct's (with a line of dashes that states the widths), squeue's and sinfo's (without), and those of
 * `sinfo -o "%N %T"`, whose columns have no width.
 */
import { columnsOf, type Columns } from "./columns.ts";
import type { Cell, Field, ReadRow } from "./job-fields.ts";
import { Unreadable } from "./rows.ts";
import { utf8Text } from "./text.ts";

export interface AlignedTable {
  readonly kind: "aligned";
  readonly columns: Columns;
  readonly header: string;
}

/** Half-open range of bytes in a line. `isMarked`: sacct ends a cut text with `+`. */
interface Span {
  readonly from: number;
  readonly to: number;
  readonly isMarked: boolean;
}

export type Spans = readonly Span[];
type Read = (cells: ReadonlyMap<Field, Cell>) => ReadRow;

/** Null: the line is no header of a table. */
export function alignedTable(line: string): AlignedTable | null {
  const columns = columnsOf(line.trim().split(/\s+/));
  return columns === null || columns.titles.length < 2 ? null : { kind: "aligned", columns, header: line };
}

/** The widths that a line of dashes states; null: it is no such line, or of another table. */
export function dashedSpans(line: string, { columns }: AlignedTable): Spans | null {
  if (!/^\s*-+(?: +-+)*\s*$/.test(line)) return null;
  const spans = [...line.matchAll(/-+/g)].map(({ index, 0: { length } }) => ({
    from: index,
    to: index + length,
    isMarked: true,
  }));
  return spans.length === columns.titles.length ? spans : null;
}

/** Part of the rows that a column must fit. */
const FITTING_SHARE = 0.75;

/**
 * The columns of a table without dashes: between two titles lies a byte that is blank in the rows. Null: there is none, so the columns
 * have no width.
 */
export function spansOf({ header }: AlignedTable, rows: readonly string[]): Spans | null {
  const titles = [...header.matchAll(/\S+/g)].map(({ index, 0: { length } }) => ({ from: index, to: index + length }));
  const cuts: number[] = [];
  for (const [index, { to }] of titles.entries()) {
    const next = titles[index + 1];
    if (next === undefined) break;
    let best = { at: -1, blanks: -1 };
    for (let at = to; at < next.from; at += 1) {
      const blanks = rows.filter((row) => at >= row.length || row[at] === " ").length;
      // The last such byte: the column on its left is as wide as it can be, and its texts are cut off as seldom as possible.
      if (blanks >= best.blanks) best = { at, blanks };
    }
    if (best.blanks < rows.length * FITTING_SHARE) return null;
    cuts.push(best.at);
  }
  const isPadded = rows.some((row) => row.endsWith(" "));
  const end = Math.max(0, ...rows.map((row) => row.length));
  const starts = [0, ...cuts.map((at) => at + 1)];
  return starts.map((from, index) => {
    const to = cuts[index] ?? (isPadded ? end : Number.MAX_SAFE_INTEGER);
    return { from, to, isMarked: false };
  });
}

/** Reads a row by its columns, or else by its words, if these say which column each belongs to. */
export function readAligned({ columns }: AlignedTable, line: string, spans: Spans | null, read: Read): ReadRow {
  let problem: Unreadable | null = null;
  for (const cells of candidates(columns, line, spans)) {
    try {
      return read(cells);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      problem ??= error;
    }
  }
  throw problem ?? new Unreadable(`expected ${columns.titles.length} columns`);
}

function* candidates(columns: Columns, line: string, spans: Spans | null): Generator<ReadonlyMap<Field, Cell>> {
  if (spans !== null) {
    if (isWithin(line, spans)) yield sliced(columns, line, spans, utf8Text);
    const text = utf8Text(line);
    if (text !== line && isWithin(text, spans)) yield sliced(columns, text, spans, (cell) => cell);
    if (spans.some(({ isMarked }) => isMarked)) return;
  }
  const words = wordsOf(line, columns);
  const extra = words.length - columns.titles.length;
  if (extra === 0) yield named(columns, words);
  // The text of the only column with spaces takes the words that remain.
  const at = columns.spaced;
  if (extra > 0 && at >= 0) {
    const text = words.slice(at, at + extra + 1).join(" ");
    yield named(columns, [...words.slice(0, at), text, ...words.slice(at + extra + 1)]);
  }
}

/** The words of a row. The reason at the end of squeue's rows is one: `(Nodes required for job are DOWN)`. */
function wordsOf(line: string, { titles }: Columns): readonly string[] {
  const reason = titles.at(-1) === "NODELIST(REASON)" ? /\s\([^()]*\)\s*$/.exec(line) : null;
  if (reason === null) return line.trim().split(/\s+/);
  return [...line.slice(0, reason.index).trim().split(/\s+/), reason[0].trim()];
}

/** Whether the bytes between the columns are blank. */
function isWithin(line: string, spans: Spans): boolean {
  return spans.every(({ to }) => to >= line.length || line[to] === " ");
}

function sliced(
  columns: Columns,
  line: string,
  spans: Spans,
  decode: (cell: string) => string,
): ReadonlyMap<Field, Cell> {
  const cells = new Map<Field, Cell>();
  for (const [index, { from, to, isMarked }] of spans.entries()) {
    const field = columns.fields[index];
    if (field === undefined) continue;
    const raw = line.slice(from, to);
    const trimmed = raw.trim();
    const isFull = trimmed.length === to - from;
    const isCut = isFull && (isMarked ? trimmed.endsWith("+") : mayBeCut(field, trimmed));
    cells.set(field, { column: columns.titles[index] ?? "", text: decode(trimmed), isCut });
  }
  return cells;
}

/** Without marks, an id or a name that fills its column counts as complete; a list does not. */
function mayBeCut(field: Field, text: string): boolean {
  if (field === "jobId" || field === "rawJobId") return false;
  return field !== "nodeName" || text.includes(",");
}

function named({ fields, titles }: Columns, words: readonly string[]): ReadonlyMap<Field, Cell> {
  const cells = new Map<Field, Cell>();
  for (const [index, field] of fields.entries()) {
    if (field !== undefined)
      cells.set(field, { column: titles[index] ?? "", text: utf8Text(words[index] ?? ""), isCut: false });
  }
  return cells;
}
