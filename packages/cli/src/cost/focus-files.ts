/** Writes a FOCUS dataset as CSV and as Parquet, and reads such files. Both are streamed: memory does not grow with the rows. */
import { createReadStream, createWriteStream, existsSync, readFileSync, renameSync } from "node:fs";
import { once } from "node:events";
import path from "node:path";
import type { FocusColumn, FocusRow, FocusText } from "@headroom/usage";
import { CliError, exitCode } from "../cli-error.ts";

/** Rows that are written at once; one row group of the Parquet file. */
const BATCH_ROWS = 25_000;

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

export interface FocusFiles {
  readonly csv: string;
  readonly parquet: string;
  readonly rowCount: number;
}

/** Writes `focus.csv` and `focus.parquet` in the folder. Readers see the old files or the complete new ones. */
export async function writeFocusFiles(rows: Iterable<FocusRow>, folder: string): Promise<FocusFiles> {
  const { allColumns, focusValueText } = await import("@headroom/usage");
  const [csv, parquet] = [path.join(folder, "focus.csv"), path.join(folder, "focus.parquet")];
  const drafts = [`${csv}.part`, `${parquet}.part`] as const;
  const text = createWriteStream(drafts[0]);
  const table = await parquetTable(drafts[1], allColumns);
  const write = async (chunk: string): Promise<void> => {
    if (!text.write(chunk)) await once(text, "drain");
  };
  await write(`${allColumns.map(({ name }) => name).join(",")}\n`);
  let rowCount = 0;
  let batch: FocusRow[] = [];
  const flush = async (): Promise<void> => {
    const lines = batch.map((row) =>
      allColumns.map(({ name, type }) => quoted(focusValueText(row[name as keyof FocusRow], type) ?? "")).join(","),
    );
    if (batch.length > 0) await write(`${lines.join("\n")}\n`);
    await table.write(batch);
    batch = [];
  };
  for (const row of rows) {
    rowCount++;
    batch.push(row);
    if (batch.length === BATCH_ROWS) await flush();
  }
  await flush();
  text.end();
  await once(text, "close");
  await table.finish();
  renameSync(drafts[0], csv);
  renameSync(drafts[1], parquet);
  return { csv, parquet, rowCount };
}

const parquetTypes = { string: "STRING", json: "STRING", decimal: "DOUBLE", instant: "TIMESTAMP" } as const;

async function parquetTable(
  file: string,
  columns: readonly FocusColumn[],
): Promise<{ write(rows: readonly FocusRow[]): Promise<void>; finish(): Promise<void> }> {
  const { fileWriter, ParquetWriter, schemaFromColumnData } = await import("hyparquet-writer");
  const dataOf = (rows: readonly FocusRow[]) =>
    columns.map(({ name, type, isNullable }) => ({
      name,
      type: parquetTypes[type],
      nullable: isNullable === true,
      data: rows.map((row) => {
        const value = row[name as keyof FocusRow];
        return type === "instant" && typeof value === "number" ? new Date(value) : value;
      }),
    }));
  const schema = schemaFromColumnData({ columnData: dataOf([]) });
  const writer = new ParquetWriter({ writer: fileWriter(file), schema });
  return {
    write: async (rows) => {
      if (rows.length > 0) await writer.write({ columnData: dataOf(rows), rowGroupSize: BATCH_ROWS });
    },
    finish: async () => {
      await writer.finish();
    },
  };
}

/** Rows of a FOCUS file as text, whoever wrote it: CSV, or Parquet by the ending of its name. */
export async function* readFocusFile(file: string): AsyncGenerator<FocusText> {
  if (!existsSync(file)) throw new CliError(`${file} cannot be read: it does not exist`, exitCode.usage);
  if (file.endsWith(".parquet")) yield* readParquet(file);
  else yield* readCsv(file);
}

async function* readCsv(file: string): AsyncGenerator<FocusText> {
  const { parse } = await import("csv-parse");
  const parser = createReadStream(file).pipe(
    parse({ bom: true, columns: true, max_record_size: 1_000_000, skip_empty_lines: true }),
  );
  try {
    for await (const record of parser as AsyncIterable<Record<string, string>>)
      yield Object.fromEntries(Object.entries(record).map(([name, value]) => [name, value === "" ? null : value]));
  } catch (error) {
    throw new CliError(`${file}: ${error instanceof Error ? error.message : String(error)}`, exitCode.usage);
  }
}

/** Bytes of a Parquet file that are read at most, because the whole file is in memory. */
const PARQUET_BYTES_MAX = 1_073_741_824;

async function* readParquet(file: string): AsyncGenerator<FocusText> {
  const { parquetMetadataAsync, parquetReadObjects } = await import("hyparquet");
  const bytes = readFileSync(file);
  if (bytes.length > PARQUET_BYTES_MAX)
    throw new CliError(`${file} is larger than 1 GiB: convert it to CSV`, exitCode.usage);
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  try {
    const metadata = await parquetMetadataAsync(buffer);
    let rowStart = 0;
    for (const group of metadata.row_groups) {
      const rowEnd = rowStart + Number(group.num_rows);
      for (const row of await parquetReadObjects({ file: buffer, metadata, rowStart, rowEnd })) yield textRow(row);
      rowStart = rowEnd;
    }
  } catch (error) {
    throw new CliError(`${file}: ${error instanceof Error ? error.message : String(error)}`, exitCode.usage);
  }
}

function textRow(row: Readonly<Record<string, unknown>>): FocusText {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, textOf(value)]));
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return value.toISOString().replace(/\.\d{3}Z$/, "Z");
  if (typeof value === "string") return value;
  return typeof value === "bigint" ? value.toString() : JSON.stringify(value);
}
