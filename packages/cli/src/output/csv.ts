/** Comma-separated values (RFC 4180), for spreadsheets. */

/** Beginnings that spreadsheets take for formulas. A quote in front makes the cell a text. */
const FORMULA = /^[=+@\t\r-](?!\d*\.?\d+$)/;

function cellText(value: string | number): string {
  if (typeof value === "number") return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const csvLines = (
  titles: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): readonly string[] => [titles, ...rows].map((row) => row.map(cellText).join(","));
