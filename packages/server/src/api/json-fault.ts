/**
 * Finds the place at which a text stops being JSON. V8 reports the position of only some errors, but users need line
 * and column for all. The search runs only after `JSON.parse` has failed, and uses no recursion, so that deep nesting
 * is harmless.
 */

type Expected = "value" | "valueOrEnd" | "keyOrEnd" | "key" | "colon" | "commaOrEnd" | "nothing";

const numberOrWord = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null/y;
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

export interface JsonFault {
  readonly line: number;
  readonly column: number;
  /** Text that was expected at this place, in words. */
  readonly expected: string;
}

/** Finds the first place that is not JSON; `null`: the text is valid JSON. */
export function jsonFault(text: string): JsonFault | null {
  const open: ("{" | "[")[] = [];
  let expected: Expected = "value";
  let at = skipSpace(text, 0);
  while (expected !== "nothing" || at < text.length) {
    const end = tokenEnd(text, at);
    const next: Expected | null = end === null ? null : after(text.charAt(at), expected, open);
    if (end === null || next === null) return faultAt(text, at, wording[expected]);
    expected = next;
    at = skipSpace(text, end);
  }
  return null;
}

const wording: Readonly<Record<Expected, string>> = {
  value: "a value",
  valueOrEnd: "a value or ]",
  keyOrEnd: 'a name in "quotes" or }',
  key: 'a name in "quotes"',
  colon: "a colon",
  commaOrEnd: "a comma or the closing bracket",
  nothing: "the end of the text",
};

/**
 * The tokens allowed after a token that begins with `first`; `null`: that token is not allowed here. The function keeps
 * track of brackets.
 */
function after(first: string, expected: Expected, open: ("{" | "[")[]): Expected | null {
  const isValuePlace = expected === "value" || expected === "valueOrEnd";
  switch (first) {
    case "{":
    case "[":
      if (!isValuePlace) return null;
      open.push(first);
      return first === "{" ? "keyOrEnd" : "valueOrEnd";
    case "}":
    case "]": {
      const opener = first === "}" ? "{" : "[";
      const mayEnd = expected === "commaOrEnd" || expected === (first === "}" ? "keyOrEnd" : "valueOrEnd");
      if (!mayEnd || open.pop() !== opener) return null;
      return afterValue(open);
    }
    case ",":
      if (expected !== "commaOrEnd") return null;
      return open.at(-1) === "{" ? "key" : "value";
    case ":":
      return expected === "colon" ? "value" : null;
    case '"':
      if (expected === "key" || expected === "keyOrEnd") return "colon";
      return isValuePlace ? afterValue(open) : null;
    default:
      return isValuePlace ? afterValue(open) : null;
  }
}

const afterValue = (open: readonly string[]): Expected => (open.length === 0 ? "nothing" : "commaOrEnd");

/** End of the token that begins at `at`; `null`: no token begins there. */
function tokenEnd(text: string, at: number): number | null {
  const first = text.charAt(at);
  if (first === "") return null;
  if ("{}[],:".includes(first)) return at + 1;
  if (first === '"') return stringEnd(text, at);
  numberOrWord.lastIndex = at;
  return numberOrWord.test(text) ? numberOrWord.lastIndex : null;
}

function stringEnd(text: string, start: number): number | null {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 34) return at + 1;
    if (code < 32) return null;
    if (code !== 92) continue;
    escape.lastIndex = at;
    if (!escape.test(text)) return null;
    at = escape.lastIndex - 1;
  }
  return null;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (" \t\n\r".includes(text.charAt(at)) && at < text.length) at++;
  return at;
}

function faultAt(text: string, at: number, expected: string): JsonFault {
  const lineStart = text.lastIndexOf("\n", at - 1) + 1;
  let line = 1;
  for (let index = text.indexOf("\n"); index >= 0 && index < at; index = text.indexOf("\n", index + 1)) line++;
  return { line, column: at - lineStart + 1, expected };
}
