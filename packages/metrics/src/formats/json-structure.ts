/** Bounds of a JSON text before it is parsed: the values of a parsed text can take a hundred times its memory. */

const QUOTE = 34;
const COMMA = 44;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const CLOSE_LIST = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/** Throws if the text has more values, or deeper ones. A text that is no JSON is left to the parser. */
export function refuseLargeJson(text: string, valueCountMax: number, depthMax: number): void {
  let count = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
      if (at < 0) return;
    } else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      count++;
      depth++;
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth--;
    // Every value but the first of its object or list follows a comma; the first one follows a bracket.
    else if (code === COMMA) count++;
    if (count > valueCountMax || depth > depthMax) throw new RangeError("the text has too many values");
  }
}

/** Position of the quote that ends the string; -1 if there is none. */
function endOfString(text: string, open: number): number {
  for (let at = open + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
  }
  return -1;
}
