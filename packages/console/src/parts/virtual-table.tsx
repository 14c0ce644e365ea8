/**
 * A table that renders only visible rows. Rows grow with their text, so that none is cut. Arrow keys (and j and k) move between rows, and each row has one link, so
 * that Tab, a click and a screen reader work without a second version of the table.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import type { KeyboardEvent, MouseEvent, ReactElement, ReactNode } from "react";

export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  /** Control that replaces the text of the header. */
  readonly headerControl?: ReactNode;
  readonly cell: (row: Row, index: number) => ReactNode;
  /** Alignment of the column, and the screen widths at which it is shown; the same for header and cells. */
  readonly className?: string;
  /** Whether only screen readers read the header, because the cells are clear without it. */
  readonly isHeaderHidden?: boolean;
}

interface VirtualTableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  /** Value of `grid-template-columns` by screen width, as CSS classes. */
  readonly template: string;
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Number of rows of the whole table, including those that are not loaded. */
  readonly rowCount: number;
  readonly onShow?: (first: number, last: number) => void;
  /** Content below the last row. */
  readonly footer?: ReactNode;
  /** Height of a row of one line, with the browser's default text size. Rows grow with their text. */
  readonly rowHeightPx?: number;
}

const ROW_PX = 40;
const REM_PX = 16;
const OVERSCAN = 12;

export function VirtualTable<Row>(props: VirtualTableProps<Row>): ReactElement {
  const { label, columns, template, rows, rowCount, footer, rowHeightPx = ROW_PX } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeightPx * textScale(),
    getItemKey: (index) => {
      const row = rows[index];
      return row === undefined ? index : props.keyOf(row);
    },
    overscan: OVERSCAN,
  });
  const shown = virtualizer.getVirtualItems();
  const [first, last] = [shown[0]?.index ?? 0, shown.at(-1)?.index ?? 0];
  const { onShow } = props;
  useEffect(() => onShow?.(first, last), [first, last, onShow]);
  const onKeyDown = useRowKeys(scroller, rows.length, (index) => virtualizer.scrollToIndex(index, { align: "auto" }));

  return (
    <div
      ref={scroller}
      role="presentation"
      className="scroll-thin h-full overflow-y-auto border-t border-line bg-surface"
      onKeyDown={onKeyDown}
      onClick={followRow}
    >
      <div role="table" aria-label={label} aria-rowcount={rowCount + 1} aria-colcount={columns.length}>
        <div role="rowgroup" className="sticky top-0 z-10 border-b border-line bg-surface">
          <div role="row" aria-rowindex={1} className={`grid items-center gap-x-3 px-4 md:px-6 ${template}`}>
            {columns.map((column) => (
              <span
                key={column.id}
                role="columnheader"
                className={`py-2 text-xs font-medium text-ink-3 ${column.className ?? ""}`}
              >
                {column.headerControl !== undefined ? (
                  column.headerControl
                ) : column.isHeaderHidden === true ? (
                  <span className="sr-only">{column.header}</span>
                ) : (
                  column.header
                )}
              </span>
            ))}
          </div>
        </div>
        <div role="rowgroup" className="relative" style={{ height: virtualizer.getTotalSize() }}>
          {shown.map(({ index, start, key }) => (
            <div
              key={key}
              ref={virtualizer.measureElement}
              data-index={index}
              role="row"
              aria-rowindex={index + 2}
              data-row={index}
              className={`absolute inset-x-0 grid cursor-pointer items-center gap-x-3 border-b border-line px-4 py-1 focus-within:bg-hover hover:bg-hover md:px-6 ${template}`}
              style={{ minHeight: `${rowHeightPx / REM_PX}rem`, transform: `translateY(${start}px)` }}
            >
              <Cells row={rows[index]} index={index} columns={columns} />
            </div>
          ))}
        </div>
      </div>
      {footer}
    </div>
  );
}

/** Factor by which the user's text size differs from the browser's default. */
const textScale = (): number => Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / REM_PX;

interface CellsProps<Row> {
  readonly row: Row | undefined;
  readonly index: number;
  readonly columns: readonly Column<Row>[];
}

function Cells<Row>({ row, index, columns }: CellsProps<Row>): ReactNode {
  if (row === undefined) return null;
  return columns.map((column) => (
    <div key={column.id} role="cell" className={`min-w-0 leading-[1.15rem] wrap-break-word ${column.className ?? ""}`}>
      {column.cell(row, index)}
    </div>
  ));
}

/** A click in a row follows the row's link, unless it was on another control or selected text. */
function followRow(event: MouseEvent<HTMLDivElement>): void {
  const target = event.target as HTMLElement;
  if (target.closest("a,button,input,select,label") !== null || window.getSelection()?.isCollapsed === false) return;
  target.closest("[data-row]")?.querySelector<HTMLElement>("a,button")?.click();
}

/** Arrow keys move the focus between the rows' links; a row that is not rendered is scrolled to first. */
function useRowKeys(
  scroller: { readonly current: HTMLDivElement | null },
  rowCount: number,
  scrollTo: (index: number) => void,
): (event: KeyboardEvent<HTMLDivElement>) => void {
  /**
   * Index of the row that is about to get the focus. If keys are pressed fast, the next move starts from this index.
   */
  const pending = useRef<number | null>(null);
  return (event) => {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-row]");
    if (row === null || event.altKey || event.ctrlKey || event.metaKey) return;
    const index = pending.current ?? Number(row.dataset["row"]);
    const wanted = rowAfterKey(event.key, index, rowCount);
    if (wanted === null) return;
    event.preventDefault();
    pending.current = wanted;
    scrollTo(wanted);
    requestAnimationFrame(() => {
      if (pending.current !== wanted) return;
      pending.current = null;
      scroller.current
        ?.querySelector<HTMLElement>(`[data-row="${wanted}"] :is(a,button)`)
        ?.focus({ preventScroll: true });
    });
  };
}

const STRIDE = 10;

function rowAfterKey(key: string, index: number, rowCount: number): number | null {
  const within = (wanted: number): number => Math.max(0, Math.min(rowCount - 1, wanted));
  switch (key) {
    case "ArrowDown":
    case "j":
      return within(index + 1);
    case "ArrowUp":
    case "k":
      return within(index - 1);
    case "PageDown":
      return within(index + STRIDE);
    case "PageUp":
      return within(index - STRIDE);
    case "Home":
      return 0;
    case "End":
      return rowCount - 1;
    default:
      return null;
  }
}
