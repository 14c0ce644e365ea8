/** A table of a panel, which scrolls by itself on narrow screens. */
import type { ReactElement, ReactNode } from "react";

interface PanelTableProps {
  readonly label: string;
  /** Label of the region that scrolls. */
  readonly region: string;
  /** Titles of the first columns, which hold text. */
  readonly texts: readonly string[];
  /** Titles of the columns after them, which hold numbers. */
  readonly numbers: readonly string[];
  /** Rows. */
  readonly children: ReactNode;
}

const title = "px-4 py-2 font-medium";
export const numberCell = "px-4 py-2 text-right tabular-nums";

export function PanelTable({ label, region, texts, numbers, children }: PanelTableProps): ReactElement {
  return (
    <div className="scroll-thin overflow-x-auto" tabIndex={0} role="region" aria-label={region}>
      <table aria-label={label} className="w-full text-left">
        <thead className="text-xs text-ink-3">
          <tr>
            {texts.map((text) => (
              <th key={text} scope="col" className={title}>
                {text}
              </th>
            ))}
            {numbers.map((text) => (
              <th key={text} scope="col" className={`${title} text-right`}>
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">{children}</tbody>
      </table>
    </div>
  );
}
