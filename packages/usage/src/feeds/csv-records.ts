/** Records of CSV text by RFC 4180: quoted fields, doubled quotes, LF or CRLF. Fields are trimmed; empty lines and a byte order mark are left out. */
export interface CsvRecord {
  readonly fields: readonly string[];
  /** Line at which the record begins, from 1. */
  readonly line: number;
}

const FIELD = /[ \t]*(?:"((?:[^"]|"")*)"[ \t]*|([^,\r\n]*))(,|\r?\n|\r|$)/y;

/** `null`: a quoted field has no end, or text follows it. */
export function csvRecords(text: string): readonly CsvRecord[] | null {
  const body = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const records: CsvRecord[] = [];
  let [at, line, begun] = [0, 1, 1];
  let fields: string[] = [];
  while (at < body.length) {
    FIELD.lastIndex = at;
    const [whole = "", quoted, plain = "", end = ""] = FIELD.exec(body) ?? [];
    if (whole === "" || (quoted === undefined && plain.startsWith('"'))) return null;
    fields.push(quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"'));
    at += whole.length;
    if (quoted !== undefined) line += quoted.split("\n").length - 1;
    if (end === "," && at < body.length) continue;
    if (end === ",") fields.push("");
    if (fields.some((field) => field !== "")) records.push({ fields, line: begun });
    fields = [];
    begun = ++line;
  }
  return records;
}
