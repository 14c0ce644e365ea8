/**
 * Bounds of a request body that are checked on its text, before it is parsed. JSON with many distinct keys or values
 * costs far more to parse and validate than to send. The scan stops at the first excess.
 */
import { limits } from "@headroom/protocol";

/** Maximum number of fields in one object: above every list of fields and every map of the API but `nodeLabels`. */
export const OBJECT_FIELDS_MAX = 1_024;
/** The only map of the API with more entries: the labels of the nodes of a pool. */
const LARGE_MAP = '"nodeLabels"';
/** Maximum number of values in a body. The largest `apply` that fits into a body has fewer. */
export const BODY_VALUES_MAX = 150_000;
/** Bodies up to this length cost so little that the scan would cost more. */
const SCANNED_FROM_CHARS = 4_096;

const [QUOTE, BACKSLASH, COMMA, COLON, OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [
  '"',
  "\\",
  ",",
  ":",
  "{",
  "}",
  "[",
  "]",
].map((each) => each.charCodeAt(0));

/** States the first bound that the text exceeds; `null`: none. The text need not be valid JSON. */
export function excessIn(text: string): string | null {
  if (text.length <= SCANNED_FROM_CHARS) return null;
  // Remaining fields of the open objects; Infinity stands for a list, whose length the schema limits.
  const open: number[] = [];
  let [left, valueCount, key] = [Infinity, 0, ""];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at);
      key = end - at === LARGE_MAP.length - 1 ? text.slice(at, end + 1) : "";
      at = end;
    } else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      open.push(left);
      if (code === OPEN_LIST) left = Infinity;
      else left = key === LARGE_MAP ? limits.LABELLED_NODES_MAX : OBJECT_FIELDS_MAX;
      key = "";
      valueCount++;
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      left = open.pop() ?? Infinity;
    } else if (code === COMMA) {
      if (--left <= 0) return `has an object with more than ${OBJECT_FIELDS_MAX} fields`;
      if (++valueCount > BODY_VALUES_MAX) return `has more than ${BODY_VALUES_MAX} values`;
      key = "";
    } else if (code !== COLON && code !== 0x20) key = "";
  }
  return valueCount > BODY_VALUES_MAX ? `has more than ${BODY_VALUES_MAX} values` : null;
}

/** Position of the closing quote, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}
