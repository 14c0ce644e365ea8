import type { ReactElement } from "react";

interface NumberTableProps {
  readonly label: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A small table of text with the first column on the left and numbers on the right. */
export function NumberTable({ label, columns, rows }: NumberTableProps): ReactElement {
  return (
    <div className="scroll-thin relative overflow-x-auto px-4 py-3" tabIndex={0} role="group" aria-label={label}>
      <table className="w-full text-left">
        <caption className="sr-only">{label}</caption>
        <thead className="text-ink-3">
          <tr>
            {columns.map((column, index) => (
              <th key={column} scope="col" className={`pr-4 pb-1 font-medium ${index === 0 ? "" : "text-right"}`}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="font-mono">
          {rows.map((row) => (
            <tr key={row.join(" ")} className="border-t border-line">
              {row.map((cell, index) => (
                <td key={columns[index]} className={`py-1 pr-4 whitespace-nowrap ${index === 0 ? "" : "text-right"}`}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
