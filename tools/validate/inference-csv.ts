export type CsvFields = Readonly<Record<string, string>>;

export interface CsvRow {
  /** Number of the line in the file on which the row begins. The first line is 1. */
  readonly line: number;
  readonly fields: CsvFields;
}

/** Parses comma-separated values with a header line and double quotes (RFC 4180). */
export function readCsv(text: string): { readonly header: readonly string[]; readonly rows: readonly CsvRow[] } {
  const [head, ...rest] = splitRows(text);
  const header = (head?.cells ?? []).map((name) => name.trim());
  const rows = rest.map(({ line, cells }) => ({
    line,
    fields: Object.fromEntries(header.map((name, index) => [name, cells[index] ?? ""])),
  }));
  return { header, rows };
}

/** The rows of `readCsv` without line numbers. */
export function parseCsv(text: string): readonly CsvFields[] {
  return readCsv(text).rows.map(({ fields }) => fields);
}

interface SplitRow {
  readonly line: number;
  readonly cells: readonly string[];
}

function splitRows(text: string): readonly SplitRow[] {
  const rows: SplitRow[] = [];
  let line = 1;
  let begin = 1;
  let row: string[] = [];
  let cell = "";
  let isQuoted = false;
  const endCell = (): void => {
    row.push(cell);
    cell = "";
  };
  const endRow = (): void => {
    endCell();
    if (row.length > 1 || row[0] !== "") rows.push({ line: begin, cells: row });
    row = [];
    begin = line;
  };
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === "\n") line += 1;
    if (isQuoted) {
      if (character !== '"') cell += character;
      else if (text[index + 1] === '"') {
        cell += '"';
        index += 1;
      } else isQuoted = false;
    } else if (character === '"') isQuoted = true;
    else if (character === ",") endCell();
    else if (character === "\n") endRow();
    else if (character !== "\r") cell += character;
  }
  if (cell !== "" || row.length > 0) endRow();
  return rows;
}
