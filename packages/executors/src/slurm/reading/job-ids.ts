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
  return /^\d{1,10}$/.test(text) ? Number(text) : text;
}
