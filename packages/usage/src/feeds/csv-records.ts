/** Records of CSV text by RFC 4180: quoted fields, doubled quotes, LF or CRLF. Fields are trimmed; empty lines and a byte order mark are left out. */
export interface CsvRecord {
  readonly fields: readonly string[];
  /** Line at which the record begins, from 1. */
  readonly line: number;
}

const BLANKS = /[ \t]*/y;
const PLAIN = /[^,\r\n]*/y;
const END = /[ \t]*(,|\r?\n|\r|$)/y;

interface Field {
  readonly text: string;
  /** Position after the text and its quotes. */
  readonly next: number;
  /** Line ends within the quotes. */
  readonly lineEnds: number;
}

/**
 * Reading ends after `recordsMax` records, so that memory is bounded. `null`: a quoted field has no end, or text follows it. A quoted
 * field is searched for its end, because a regular expression needs memory for each of its characters.
 */
export function csvRecords(text: string, recordsMax = Number.POSITIVE_INFINITY): readonly CsvRecord[] | null {
  const body = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const records: CsvRecord[] = [];
  let [at, line, begun] = [0, 1, 1];
  let fields: string[] = [];
  while (at < body.length && records.length < recordsMax) {
    const field = fieldAt(body, at);
    if (field === null) return null;
    fields.push(field.text);
    line += field.lineEnds;
    const [whole = "", end = ""] = matchAt(END, body, field.next) ?? [];
    at = field.next + whole.length;
    if (end === "" && at < body.length) return null;
    if (end === "," && at < body.length) continue;
    if (end === ",") fields.push("");
    if (fields.some((each) => each !== "")) records.push({ fields, line: begun });
    fields = [];
    begun = ++line;
  }
  return records;
}

function fieldAt(body: string, at: number): Field | null {
  const from = at + (matchAt(BLANKS, body, at)?.[0].length ?? 0);
  if (body[from] !== '"') {
    const plain = matchAt(PLAIN, body, from)?.[0] ?? "";
    return { text: plain.trim(), next: from + plain.length, lineEnds: 0 };
  }
  let end = body.indexOf('"', from + 1);
  while (end >= 0 && body[end + 1] === '"') end = body.indexOf('"', end + 2);
  if (end < 0) return null;
  const quoted = body.slice(from + 1, end);
  return { text: quoted.replaceAll('""', '"'), next: end + 1, lineEnds: quoted.split("\n").length - 1 };
}

function matchAt(pattern: RegExp, body: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(body);
}
