/** Formats the JSON of benchmarks for people: one table for each sequence of records with the same fields. */

type Json = Readonly<Record<string, unknown>>;

const isMapping = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * The JSON values in a program's output, in order. A value can take one line or several. Text between values is
 * dropped.
 */
export function recordsIn(output: string): readonly Json[] {
  const records: Json[] = [];
  let pending = "";
  for (const line of output.split("\n")) {
    if (pending === "" && !line.startsWith("{")) continue;
    pending += `${line}\n`;
    try {
      const value: unknown = JSON.parse(pending);
      if (isMapping(value)) records.push(value);
      pending = "";
    } catch {
      // The record continues on the next line.
    }
  }
  return records;
}

/**
 * Makes the columns of a record. A nested field `{ a: { b: 1 } }` becomes column `a.b`. Lists of numbers stay on one
 * line; lists of records become separate tables.
 */
function cellsOf(record: Json, prefix = ""): [string, string][] {
  return Object.entries(record).flatMap(([name, value]): [string, string][] => {
    if (isMapping(value)) return cellsOf(value, `${prefix}${name}.`);
    if (Array.isArray(value)) return value.some(isMapping) ? [] : [[prefix + name, value.join(", ")]];
    return [[prefix + name, typeof value === "number" ? numberText(value) : String(value)]];
  });
}

function numberText(value: number): string {
  if (!Number.isFinite(value) || (Number.isInteger(value) && Math.abs(value) < 10_000)) return String(value);
  const [whole = "", fraction] = String(value).split(".");
  const grouped = whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

const listsIn = (record: Json): [string, readonly Json[]][] =>
  Object.entries(record).flatMap(([name, value]): [string, readonly Json[]][] => {
    if (isMapping(value)) return listsIn(value);
    return Array.isArray(value) && value.some(isMapping) ? [[name, value.filter(isMapping)]] : [];
  });

/** `widthMax`: wider tables are printed with one field on each line. */
export function benchText(records: readonly Json[], widthMax: number): string {
  const runs: { readonly names: string; readonly rows: [string, string][][] }[] = [];
  const blocks: string[] = [];
  const flush = (): void => {
    for (const { rows } of runs.splice(0)) blocks.push(tableText(rows, widthMax));
  };
  for (const record of records) {
    const cells = cellsOf(record);
    const names = cells.map(([name]) => name).join(" ");
    const last = runs.at(-1);
    if (last?.names === names) last.rows.push(cells);
    else if (cells.length > 0) runs.push({ names, rows: [cells] });
    for (const [name, list] of listsIn(record)) {
      flush();
      blocks.push(`${name}:\n${benchText(list, widthMax).trimEnd()}`);
    }
  }
  flush();
  return blocks.length === 0 ? "" : `${blocks.join("\n\n")}\n`;
}

const isNumber = (text: string): boolean => /^-?[\d,.]+(?:e[+-]?\d+)?$/.test(text);

function tableText(rows: readonly (readonly [string, string])[][], widthMax: number): string {
  const names = rows[0]?.map(([name]) => name) ?? [];
  const columns = names.map((name, at) => [name, ...rows.map((row) => row[at]?.[1] ?? "")]);
  const widths = columns.map((column) => Math.max(...column.map((text) => text.length)));
  const width = widths.reduce((sum, each) => sum + each + 2, -2);
  if (width > widthMax) return rows.map(sideText).join("\n\n");
  // Numbers are aligned to the right, so that their digits are in columns.
  const isRight = columns.map(([, ...texts]) => texts.every(isNumber));
  const lines = columns[0]?.map((_, line) =>
    columns.map((column, at) => padded(column[line] ?? "", widths[at] ?? 0, isRight[at] ?? false)),
  );
  return (lines ?? []).map((cells) => cells.join("  ").trimEnd()).join("\n");
}

const padded = (text: string, width: number, isRight: boolean): string =>
  isRight ? text.padStart(width) : text.padEnd(width);

function sideText(row: readonly (readonly [string, string])[]): string {
  const width = Math.max(...row.map(([name]) => name.length));
  return row.map(([name, text]) => `${name.padEnd(width)}  ${text}`).join("\n");
}
