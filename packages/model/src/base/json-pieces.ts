/**
 * JSON texts that are longer than the longest string of the runtime (2^29 - 24 characters in V8), as bytes. They are written and read
 * in pieces; the bytes are those that `JSON.stringify` would give, if it could.
 */
import { utf8Decode, utf8Encode } from "./utf8.ts";

/** Number of list entries that are written as one text. */
const ENTRIES_IN_PIECE = 4096;

/**
 * The object as UTF-8 JSON. Members that are lists are written in pieces; Members with the value `undefined` are left
 * out.
 */
export function jsonBytes(members: Readonly<Record<string, unknown>>): Uint8Array {
  const pieces: Uint8Array[] = [];
  let text = "{";
  let separator = "";
  for (const [name, value] of Object.entries(members)) {
    if (value === undefined) continue;
    text += `${separator}${JSON.stringify(name)}:`;
    separator = ",";
    if (!Array.isArray(value) || value.length <= ENTRIES_IN_PIECE) {
      text += JSON.stringify(value);
      continue;
    }
    for (let from = 0; from < value.length; from += ENTRIES_IN_PIECE) {
      const list = JSON.stringify(value.slice(from, from + ENTRIES_IN_PIECE));
      text += from === 0 ? list.slice(0, -1) : `,${list.slice(1, -1)}`;
      pieces.push(utf8Encode(text));
      text = "";
    }
    text = "]";
  }
  pieces.push(utf8Encode(`${text}}`));
  return joined(pieces);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const CLOSE_LIST = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/**
 * The object that `jsonBytes` wrote. Lists are parsed in pieces of about `pieceBytes`. Throws `SyntaxError` on any
 * other bytes, including JSON with white space between values.
 */
export function parseJsonBytes(bytes: Uint8Array, pieceBytes: number): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  let at = expect(bytes, 0, OPEN_OBJECT);
  for (;;) {
    const nameEnd = endOfString(bytes, at);
    const name = parsed(bytes, at, nameEnd) as string;
    at = expect(bytes, nameEnd, COLON);
    const end = endOfValue(bytes, at);
    members[name] =
      bytes[at] === OPEN_LIST && end - at > pieceBytes ? parseList(bytes, at, pieceBytes) : parsed(bytes, at, end);
    if (bytes[end] !== COMMA) {
      at = expect(bytes, end, CLOSE_OBJECT);
      break;
    }
    at = end + 1;
  }
  if (at !== bytes.length) throw new SyntaxError("text follows the object");
  return members;
}

const parsed = (bytes: Uint8Array, from: number, to: number): unknown =>
  JSON.parse(utf8Decode(bytes.subarray(from, to)));

function parseList(bytes: Uint8Array, openAt: number, pieceBytes: number): readonly unknown[] {
  const list: unknown[] = [];
  let from = openAt + 1;
  let at = from;
  for (;;) {
    at = endOfValue(bytes, at);
    const isLast = bytes[at] === CLOSE_LIST;
    if (at === from && list.length > 0) throw new SyntaxError(`an entry is missing before byte ${at}`);
    if (isLast || at - from >= pieceBytes) {
      const piece = JSON.parse(`[${utf8Decode(bytes.subarray(from, at))}]`) as readonly unknown[];
      for (const entry of piece) list.push(entry);
      from = at + 1;
    }
    if (isLast) return list;
    at = expect(bytes, at, COMMA);
  }
}

function expect(bytes: Uint8Array, at: number, code: number): number {
  if (bytes[at] !== code) throw new SyntaxError(`byte ${at} is not "${String.fromCharCode(code)}"`);
  return at + 1;
}

/** Position after the string that begins at `openAt`. */
function endOfString(bytes: Uint8Array, openAt: number): number {
  for (let at = expect(bytes, openAt, QUOTE); at < bytes.length; at++) {
    if (bytes[at] === QUOTE) return at + 1;
    if (bytes[at] === BACKSLASH) at++;
  }
  throw new SyntaxError(`the string at byte ${openAt} does not end`);
}

/**
 * Position after the value that begins at `from`: the position of the comma or of the closing bracket that follows it.
 */
function endOfValue(bytes: Uint8Array, from: number): number {
  let depth = 0;
  for (let at = from; at < bytes.length; at++) {
    const code = bytes[at];
    if (code === QUOTE) at = endOfString(bytes, at) - 1;
    else if (code === OPEN_LIST || code === OPEN_OBJECT) depth++;
    else if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
      if (depth-- === 0) return at;
    } else if (code === COMMA && depth === 0) return at;
  }
  throw new SyntaxError(`the value at byte ${from} does not end`);
}
