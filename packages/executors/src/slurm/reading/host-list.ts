/** Node names in Slurm's short form: `gpu[01-03,07],cpu1`, `rack[1-2]node[1-4]`. */
import { quoted, Unreadable } from "./rows.ts";

/** Most names of one list: above the nodes of any Slurm cluster. */
const NAMES_MAX = 100_000;
const namePattern = /^[A-Za-z0-9_.\u0080-\u{10ffff}-]+$/u;

export function hostNames(text: string): readonly string[] {
  const names: string[] = [];
  for (const part of partsOf(text)) {
    for (const name of expanded(part)) {
      if (!namePattern.test(name)) throw new Unreadable(`expected names of nodes, got ${quoted(text)}`);
      names.push(name);
      if (names.length > NAMES_MAX) throw new Unreadable(`more than ${NAMES_MAX} nodes in ${quoted(text)}`);
    }
  }
  return names;
}

/** Splits at the commas outside brackets. */
function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index];
    if (char === "[") depth += 1;
    else if (char === "]") depth -= 1;
    else if (char === "," && depth === 0) {
      parts.push(text.slice(start, index));
      start = index + 1;
    }
    if (depth < 0 || depth > 1) throw new Unreadable(`the brackets do not match in ${quoted(text)}`);
  }
  if (depth !== 0) throw new Unreadable(`the list of nodes is cut off: ${quoted(text)}`);
  parts.push(text.slice(start));
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

function expanded(part: string): readonly string[] {
  let names: readonly string[] = [""];
  for (const [, plain = "", ranges] of part.matchAll(/([^[\]]*)(?:\[([^\]]*)\])?/g)) {
    const numbers = ranges === undefined ? [""] : numbersOf(ranges);
    if (names.length * numbers.length > NAMES_MAX)
      throw new Unreadable(`more than ${NAMES_MAX} nodes in ${quoted(part)}`);
    names = names.flatMap((name) => numbers.map((number) => name + plain + number));
  }
  return names;
}

/** `01-03,07`: the numbers with their leading zeros. */
function numbersOf(ranges: string): readonly string[] {
  return ranges.split(",").flatMap((range) => {
    const match = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(range);
    if (match === null) throw new Unreadable(`expected a range of numbers, got ${quoted(range)}`);
    const [, first = "", last = first] = match;
    const length = Number(last) - Number(first) + 1;
    if (length < 1) throw new Unreadable(`the range ${quoted(range)} ends before it starts`);
    if (length > NAMES_MAX) throw new Unreadable(`more than ${NAMES_MAX} nodes in ${quoted(range)}`);
    return Array.from({ length }, (_, index) => String(Number(first) + index).padStart(first.length, "0"));
  });
}
