/* oxlint-disable no-control-regex -- control characters are what this file is about. */
/**
 * Colours in logs. Programs write them as escape sequences (ECMA-48 SGR). The sixteen basic colours, bold and dim are
 * kept. All other sequences (cursor, titles, links) are dropped, so that a log can never draw outside its lines.
 */
export interface LogSpan {
  readonly text: string;
  /** Number of the colour, 0 to 7 as in SGR 30 to 37; `null`: the ordinary colour. */
  readonly colour: number | null;
  readonly isBold: boolean;
  readonly isDim: boolean;
}

interface Style {
  colour: number | null;
  isBold: boolean;
  isDim: boolean;
}

/** Forms of escape sequences: CSI, OSC (ended by BEL or ST), others; and control characters other than the tab. */
const sequences =
  /\u001b\[([0-9;:?]*)[ -/]*([@-~])|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]?|[\u0000-\u0008\u000a-\u001f\u007f]/g;

/** Final content of a line that a progress bar overwrote several times. */
export function afterCarriageReturns(line: string): string {
  const text = line.endsWith("\r") ? line.slice(0, -1) : line;
  return text.slice(text.lastIndexOf("\r") + 1);
}

export function parseAnsi(line: string): readonly LogSpan[] {
  const spans: LogSpan[] = [];
  const style: Style = { colour: null, isBold: false, isDim: false };
  let position = 0;
  const take = (end: number): void => {
    if (end > position) spans.push({ text: line.slice(position, end), ...style });
  };
  for (const match of line.matchAll(sequences)) {
    take(match.index);
    position = match.index + match[0].length;
    if (match[2] === "m") applyCodes(style, match[1] ?? "");
  }
  take(line.length);
  return spans;
}

export interface MarkedSpan extends LogSpan {
  readonly isMatch: boolean;
}

/** The spans, split at the matches of the text in the line without its colours (case ignored). */
export function markMatches(spans: readonly LogSpan[], search: string): readonly MarkedSpan[] {
  if (search === "") return spans.map((span) => ({ ...span, isMatch: false }));
  const line = spans
    .map(({ text }) => text)
    .join("")
    .toLowerCase();
  const wanted = search.toLowerCase();
  const edges: number[] = [];
  for (let at = line.indexOf(wanted); at >= 0; at = line.indexOf(wanted, at + wanted.length)) {
    edges.push(at, at + wanted.length);
  }
  const marked: MarkedSpan[] = [];
  let position = 0;
  for (const span of spans) {
    const end = position + span.text.length;
    const start = position;
    const cuts = [...new Set([start, ...edges.filter((edge) => edge > start && edge < end), end])];
    for (let index = 0; index + 1 < cuts.length; index++) {
      const [from = 0, to = 0] = [cuts[index], cuts[index + 1]];
      // A piece lies within a match if an odd number of match borders is at or before its start.
      const isMatch = edges.filter((edge) => edge <= from).length % 2 === 1;
      marked.push({ ...span, text: span.text.slice(from - start, to - start), isMatch });
    }
    position = end;
  }
  return marked;
}

export const plainText = (line: string): string => line.replaceAll(sequences, "");

function applyCodes(style: Style, codes: string): void {
  const numbers = codes === "" ? [0] : codes.split(/[;:]/).map(Number);
  for (let index = 0; index < numbers.length; index++) {
    const code = numbers[index] ?? 0;
    if (code === 0) Object.assign(style, { colour: null, isBold: false, isDim: false });
    else if (code === 1) style.isBold = true;
    else if (code === 2) style.isDim = true;
    else if (code === 22) Object.assign(style, { isBold: false, isDim: false });
    else if (code === 39) style.colour = null;
    else if (code >= 30 && code <= 37) style.colour = code - 30;
    else if (code >= 90 && code <= 97) style.colour = code - 90;
    // Skips the parameters of 256 colours and true colours, which would otherwise be read as codes.
    else if (code === 38 || code === 48) index += numbers[index + 1] === 5 ? 2 : 4;
  }
}

/** The lines of a log as plain text, without escape sequences, overwritten progress bars and empty lines at the end. */
export function plainLines(text: string): readonly string[] {
  const lines = text.split("\n").map((line) =>
    parseAnsi(afterCarriageReturns(line))
      .map((span) => span.text)
      .join(""),
  );
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}
