/** Price feeds (`*.csv`) and documents of kind tco (`*.yaml`) in `offers/` of the state directory. Only operators of the machine write there. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { csvRecords, feedHeader, feedHeaderRefusal, feedRow, tcoDocument } from "@headroom/usage";
import type { NamedRow, NamedTco } from "@headroom/usage";
import { parseDocument } from "yaml";

const FOLDER = "offers";
const FILES_MAX = 1_000;
const FILE_BYTES_MAX = 16 * 1024 * 1024;
const ROWS_MAX = 200_000;
/** Comments count too. */
const LINES_MAX = ROWS_MAX + 10_000;
const FIELD_CHARS_MAX = 1_000;
const PROBLEM_CHARS_MAX = 500;

export interface OfferFiles {
  readonly rows: readonly NamedRow[];
  readonly documents: readonly NamedTco[];
  readonly feeds: readonly { readonly name: string; readonly rowCount: number }[];
  /** Files that cannot be read, with their first problem. Nothing of such a file is used. */
  readonly problems: readonly string[];
}

export function readOfferFiles(home: string): OfferFiles {
  const folder = path.join(home, FOLDER);
  const rows: NamedRow[] = [];
  const documents: NamedTco[] = [];
  const feeds: { name: string; rowCount: number }[] = [];
  const problems: string[] = [];
  const files = existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => /\.(?:csv|ya?ml|json)$/.test(name))
        .toSorted()
    : [];
  if (files.length > FILES_MAX) problems.push(`${FOLDER}: only the first ${FILES_MAX} files are read`);
  for (const name of files.slice(0, FILES_MAX)) {
    const file = path.join(folder, name);
    const read = readFile(file, name, ROWS_MAX - rows.length);
    if (typeof read === "string") problems.push(`${FOLDER}/${name}: ${read.slice(0, PROBLEM_CHARS_MAX)}`);
    else if ("tco" in read) documents.push(read);
    else {
      for (const row of read.rows) rows.push(row);
      feeds.push({ name, rowCount: read.rows.length });
    }
  }
  return { rows, documents, feeds, problems };
}

interface Feed {
  readonly rows: readonly NamedRow[];
}

/** A feed, a document, or the problem of the file. A file that cannot be read must not hide the others. */
function readFile(file: string, name: string, roomFor: number): Feed | NamedTco | string {
  try {
    const stats = statSync(file);
    const { size, mtimeMs } = stats;
    if (!stats.isFile()) return "is no file";
    if (size > FILE_BYTES_MAX) return `has more than ${FILE_BYTES_MAX} bytes`;
    return name.endsWith(".csv") ? readFeed(file, name, { roomFor, mtimeMs }) : readTco(file, name);
  } catch (error) {
    // Messages of the file system have the path of the state directory, which readers need not know.
    const { code, message } = error as NodeJS.ErrnoException;
    return `cannot be read: ${code ?? message.split("\n")[0] ?? ""}`;
  }
}

/** The rows of a feed, or its problem. Rows without a time are as old as the file. */
function readFeed(
  file: string,
  feed: string,
  { roomFor, mtimeMs }: { readonly roomFor: number; readonly mtimeMs: number },
): Feed | string {
  const records = csvRecords(readFileSync(file, "utf8"), LINES_MAX + 1);
  if (records === null) return "is no CSV: a quoted field has no end";
  if (records.length > LINES_MAX) return `has more than ${LINES_MAX} lines. Split it, or remove older prices.`;
  const long = records.find(({ fields }) => fields.some(({ length }) => length > FIELD_CHARS_MAX));
  if (long !== undefined) return `line ${long.line} has a field of more than ${FIELD_CHARS_MAX} characters`;
  const [first, ...rest] = records.filter(({ fields }) => fields[0]?.startsWith("#") !== true);
  const header = first === undefined ? null : feedHeader(first.fields);
  if (header === null) return first === undefined ? "is empty" : feedHeaderRefusal(first.fields);
  if (rest.length > roomFor) return `has ${rest.length} rows; ${ROWS_MAX} are read in all. Remove older feeds.`;
  const rows = rest.map(({ fields, line }): NamedRow => {
    const row = feedRow(fields, header, line, Date.parse);
    return { ...row, atMs: row.atMs ?? Math.floor(mtimeMs), feed };
  });
  return { rows };
}

function readTco(file: string, name: string): NamedTco | string {
  const parsed = parseDocument(readFileSync(file, "utf8"), { uniqueKeys: true });
  const [fault] = parsed.errors;
  if (fault !== undefined) return fault.message.split("\n")[0] ?? "";
  const reading = tcoDocument.safeParse(parsed.toJS({ maxAliasCount: 0 }));
  if (reading.success) return { document: name, tco: reading.data };
  const [issue] = reading.error.issues;
  return `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "is invalid"}`;
}
