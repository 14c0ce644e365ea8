/**
 * Splits the prose of the repository into passages, for the phrase check and for samples: comments, messages (sentences
 * in string literals) and the sentences of documents.
 */
import { parseSync, Visitor } from "oxc-parser";

export interface Passage {
  readonly file: string;
  /** Line number, from 1. */
  readonly line: number;
  /** Offsets in the file of the start and end of the text, including delimiters. */
  readonly start: number;
  readonly end: number;
  readonly kind: "comment" | "message" | "document";
  /** Text of one paragraph without delimiters. An expression in a template literal is shown as `…`. */
  readonly text: string;
}

type Range = Pick<Passage, "start" | "end" | "text">;

/** Pattern of comments that are directives for tools. */
const directive = /^(?:\/|\s*(?:oxlint-|eslint-|@ts-|#__|@__|<reference|prettier-|sourceMappingURL|#!))/;
const lineStart = (text: string, at: number): number => text.lastIndexOf("\n", at - 1) + 1;
const isAlone = (text: string, at: number): boolean => text.slice(lineStart(text, at), at).trim() === "";
const plain = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

function lineOf(text: string): (at: number) => number {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (at) => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= at) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}

/** Whether nothing but white space lies between two line comments that stand alone on neighbouring lines. */
const continues = (text: string, last: Range, start: number): boolean =>
  isAlone(text, start) && isAlone(text, last.start) && /^[ \t]*\n[ \t]*$/.test(text.slice(last.end, start));

function sourceRanges(
  file: string,
  text: string,
): { readonly comments: readonly Range[]; readonly messages: readonly Range[] } {
  const { program, comments } = parseSync(file, text);
  const merged: (Range & { readonly isLine: boolean })[] = [];
  for (const { type, value, start, end } of comments) {
    if (directive.test(value)) continue;
    const isLine = type === "Line";
    const last = merged.at(-1);
    if (isLine && last?.isLine === true && continues(text, last, start)) {
      merged[merged.length - 1] = { ...last, end, text: `${last.text} ${plain(value)}` };
    } else {
      merged.push({ isLine, start, end, text: plain(isLine ? value : value.replaceAll(/^\s*\*/gm, "")) });
    }
  }
  const messages: Range[] = [];
  const keep = (start: number, end: number, value: string): void => {
    if (isSentence(value)) messages.push({ start, end, text: plain(value) });
  };
  new Visitor({
    Literal: ({ value, start, end }) => {
      if (typeof value === "string") keep(start, end, value);
    },
    JSXText: ({ value, start, end }) => keep(start, end, value),
    TemplateLiteral: ({ quasis, start, end }) =>
      keep(start, end, quasis.map(({ value }) => value.cooked ?? value.raw).join("…")),
  }).visit(program);
  return { comments: merged, messages };
}

/**
 * Whether a string is a sentence: at least three words, of which one is neither a name nor a symbol, and not a query,
 * path, format or style.
 */
function isSentence(value: string): boolean {
  if (/^\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|BEGIN|ALTER|DROP|WITH) |^[#.M-]|[{}<>]|=>|;\s*$|\\/.test(value))
    return false;
  const words = value.trim().split(/\s+/);
  return words.length >= 3 && words.filter((word) => /^[(“"]?[A-Za-z][a-z]+[,.:;)”"]?$/.test(word)).length >= 2;
}

export function passagesOfSource(file: string, text: string): readonly Passage[] {
  const line = lineOf(text);
  const { comments, messages } = sourceRanges(file, text);
  const of = (kind: Passage["kind"], ranges: readonly Range[]): readonly Passage[] =>
    ranges.map(({ start, end, text: value }) => ({ file, line: line(start), start, end, kind, text: value }));
  return [...of("comment", comments), ...of("message", messages)].filter(({ text: value }) => value !== "");
}

/** Paragraphs, list items and table cells of Markdown, without code blocks. */
export function passagesOfDocument(file: string, text: string): readonly Passage[] {
  const line = lineOf(text);
  const blank = (found: string): string => found.replaceAll(/[^\n]/g, " ");
  const prose = text.replaceAll(/^(```|~~~)[\s\S]*?^\1/gm, blank);
  const passages: Passage[] = [];
  const keep = (start: number, end: number): void => {
    const value = plain(prose.slice(start, end).replaceAll(/^\s*(?:[-*>#]+|\d+\.)\s+/gm, ""));
    if (/[a-z]/.test(value)) passages.push({ file, line: line(start), start, end, kind: "document", text: value });
  };
  let start: number | undefined;
  for (const match of prose.matchAll(/[^\n]*(?:\n|$)/g)) {
    const [row] = match;
    const ends = /^\s*$|^\s*\||^#/.test(row);
    if ((ends || /^\s*(?:[-*]|\d+\.)\s/.test(row)) && start !== undefined) {
      keep(start, match.index);
      start = undefined;
    }
    if (/^\s*\|/.test(row)) {
      for (const cell of row.matchAll(/[^|]+/g))
        keep(match.index + cell.index, match.index + cell.index + cell[0].length);
    } else if (row.startsWith("#")) keep(match.index, match.index + row.length);
    else if (!ends) start ??= match.index;
  }
  if (start !== undefined) keep(start, prose.length);
  return passages;
}

/** The sentences of a passage. An abbreviation such as "e.g." does not end one. */
export const sentencesOf = (text: string): readonly string[] =>
  text
    .split(/(?<=[.!?][)"”`*]*)\s+(?=[(“"`*[]*[A-Z0-9])|(?<=\.)\s+(?=`)/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "");
