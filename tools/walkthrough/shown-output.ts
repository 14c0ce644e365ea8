/**
 * Compares what a command printed with what a page shows for it. In a page, `…` stands for any text within a line, and a line
 * of its own for any number of lines. Empty lines and the widths of columns do not count.
 */

import { stripVTControlCharacters } from "node:util";

/** The first difference in words, or `null`. */
export function differenceOf(shown: readonly string[], output: string): string | null {
  const expected = comparable(shown.join("\n"));
  const actual = comparable(output)
    .map((line) => `${line}\n`)
    .join("");
  // The longest part of the page that matches shows where the difference is.
  if (patternOf(expected, true).test(actual)) return null;
  const first = expected.findIndex((_, at) => !patternOf(expected.slice(0, at + 1), false).test(actual));
  const line = first < 0 ? "the page ends earlier" : `the page shows: ${expected[first] ?? ""}`;
  return `${line}\nwhole output:\n${output}`;
}

/** Output of which the page shows a sample: hexadecimal suffixes, durations and other numbers stand for any. */
export const asSample = (text: string): string =>
  stripVTControlCharacters(text)
    // A frame of the sign of progress, which the terminal erases.
    .replaceAll(/[\u2800-\u28ff]/g, "")
    .replaceAll(/(?<=[a-z]-)[0-9a-f]{4}\b/g, "N")
    .replaceAll(/\b(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+\b/g, "TIME")
    .replaceAll(/\d+(?:[.,]\d+)*/g, "N");

const comparable = (text: string): readonly string[] =>
  stripVTControlCharacters(text)
    .split("\n")
    .map((line) => line.replaceAll(/[ \t]+/g, " ").trim())
    .filter((line) => line !== "");

function patternOf(lines: readonly string[], isWhole: boolean): RegExp {
  const patterns = lines.map((line) =>
    line === "…" ? "(?:[^\n]*\n)*?" : `${line.split("…").map(escaped).join("[^\n]*?")}\n`,
  );
  return new RegExp(`^${patterns.join("")}${isWhole ? "$" : ""}`);
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
