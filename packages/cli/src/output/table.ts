/** Aligned tables. In a narrow terminal, the columns that can shrink are cut. */
import { printable, type Sink } from "../terminal.ts";
import type { Paint, Tone } from "./style.ts";
import { displayWidth, truncated } from "./width.ts";

export interface Cell {
  readonly text: string;
  readonly tone?: Tone | undefined;
}

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
  /** Minimum width of the column in a narrow terminal; absent: the column never shrinks. */
  readonly minWidth?: number;
}

const GAP = "  ";

/** The lines of a table, without line ends. `columns`: width of the terminal. */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly (Cell | string)[])[],
  sink: Pick<Sink, "columns">,
  paint: Paint,
): string[] {
  const cells = rows.map((row) => row.map((cell) => clean(typeof cell === "string" ? { text: cell } : cell)));
  const widths = fitted(columns, naturalWidths(columns, cells), sink.columns);
  const titles = columns.map(({ title }): Cell => ({ text: title, tone: "dim" }));
  return [titles, ...cells].map((row) => line(columns, row, widths, paint));
}

function clean(cell: Cell): Cell {
  return { text: printable(cell.text), tone: cell.tone };
}

function naturalWidths(columns: readonly Column[], rows: readonly (readonly Cell[])[]): number[] {
  const widths = columns.map(({ title }) => displayWidth(title));
  for (const row of rows) {
    for (const [index, { text }] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, displayWidth(text));
  }
  return widths;
}

/** Narrows the widest of the columns that can shrink until the row fits. */
function fitted(columns: readonly Column[], natural: readonly number[], available: number | undefined): number[] {
  const widths = [...natural];
  if (available === undefined) return widths;
  let excess = widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1) - available;
  const shrinkable = columns
    .map((column, index) => ({ index, minWidth: column.minWidth }))
    .filter((each) => each.minWidth !== undefined);
  while (excess > 0) {
    const widest = shrinkable
      .filter(({ index, minWidth = 0 }) => (widths[index] ?? 0) > minWidth)
      .toSorted((left, right) => (widths[right.index] ?? 0) - (widths[left.index] ?? 0))[0];
    if (widest === undefined) return widths;
    widths[widest.index] = (widths[widest.index] ?? 0) - 1;
    excess -= 1;
  }
  return widths;
}

function line(columns: readonly Column[], row: readonly Cell[], widths: readonly number[], paint: Paint): string {
  const parts = row.map(({ text, tone }, index) => {
    const width = widths[index] ?? 0;
    const shown = truncated(text, width);
    const padding = " ".repeat(Math.max(0, width - displayWidth(shown)));
    const painted = tone === undefined ? shown : paint(tone, shown);
    if (columns[index]?.align === "right") return padding + painted;
    return index === row.length - 1 ? painted : painted + padding;
  });
  return parts.join(GAP).trimEnd();
}

/** Names and values, one pair on each line, with aligned values. */
export function pairLines(pairs: readonly (readonly [string, string])[], paint: Paint): string[] {
  const width = Math.max(0, ...pairs.map(([name]) => displayWidth(name)));
  return pairs.map(([name, value]) => `${paint("dim", name.padEnd(width))}  ${printable(value)}`);
}
