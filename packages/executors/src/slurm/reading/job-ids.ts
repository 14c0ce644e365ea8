/** Ids of jobs, tasks of arrays, components of heterogeneous jobs, and steps. */
import { quoted, Unreadable } from "./rows.ts";

export type JobName =
  | { readonly kind: "step" }
  | { readonly kind: "job"; readonly id: string; readonly arrayTask: number | string | null };

const plainPattern = /^\d{1,19}$/;
const componentPattern = /^\d{1,19}\+\d{1,9}$/;
const taskPattern = /^(\d{1,19})_(\d{1,10})$/;
const setPattern = /^(\d{1,19})_\[([\d,:%.-]+)\]$/;
/** `123.batch`, `123_4.0`, `123+1.extern`; of a cut step, the dot is enough. */
const stepPattern = /^\d{1,19}(?:_\d{1,10}|_\[[\d,:%.-]+\]|\+\d{1,9})?\.[A-Za-z0-9_+]*$/;

/** `isCut`: the column may have cut the end of the id off. */
export function jobName(column: string, text: string, isCut: boolean): JobName {
  if (stepPattern.test(text)) return { kind: "step" };
  if (isCut)
    throw new Unreadable(`${column}: the id ${quoted(text)} is cut off; print the column wider, such as JobID%30`);
  if (plainPattern.test(text) || componentPattern.test(text)) return { kind: "job", id: text, arrayTask: null };
  const task = taskPattern.exec(text);
  if (task !== null) return { kind: "job", id: task[1] ?? "", arrayTask: Number(task[2]) };
  const set = setPattern.exec(text);
  if (set !== null) return { kind: "job", id: set[1] ?? "", arrayTask: arrayTaskOf(set[2] ?? "") };
  throw new Unreadable(`${column}: ${quoted(text)} is no id of a job`);
}

/** The index of a task, or the text of several: `5-10%2`. */
export function arrayTaskOf(text: string): number | string {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  const [, digits, limit = ""] = /^0x([0-9a-f]{1,65536})(%\d{1,10})?$/i.exec(text) ?? [];
  return digits === undefined ? text : `${rangesOf(digits)}${limit}`;
}

/** `7FE`: `1-10`. The database has the pending tasks of an array as a bit mask, which sacct translates and `sacct --json` does not. */
function rangesOf(digits: string): string {
  const isPending = (index: number): boolean => {
    const digit = Number.parseInt(digits.at(-1 - Math.floor(index / 4)) ?? "0", 16);
    return (digit & (1 << (index % 4))) !== 0;
  };
  const ranges: string[] = [];
  let first: number | null = null;
  for (let index = 0; index <= digits.length * 4; index += 1) {
    const isIn = index < digits.length * 4 && isPending(index);
    if (isIn) first ??= index;
    else if (first !== null) {
      ranges.push(first === index - 1 ? String(first) : `${first}-${index - 1}`);
      first = null;
    }
  }
  return ranges.join(",");
}
