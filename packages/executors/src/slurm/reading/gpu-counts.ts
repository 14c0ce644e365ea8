/** Counts of GPUs in texts of generic resources (`gpu:a100:4(S:0-1)`) and of trackable resources (`gres/gpu=4`). */
import { isAbsent, quoted, Unreadable } from "./rows.ts";

/** Far above the GPUs of any job or node. */
const GPUS_MAX = 10_000_000;

/** `isCut`: the column may have cut the end of the text off. */
export interface ResourceText {
  readonly column: string;
  readonly text: string;
  readonly isCut: boolean;
}

/**
 * GPUs of a text such as `billing=64,cpu=64,gres/gpu=8,gres/gpu:a100=8,node=1`: the count without a type, or else the sum of the
 * counts with a type. Null: the part with the answer is cut off, or the text names no resource.
 */
export function trackedGpus({ column, text, isCut }: ResourceText): number | null {
  if (isAbsent(text)) return null;
  const entries = text.split(",");
  // A list whose last entry has no count is cut off, in a column of unknown width.
  const isShort = isCut || (entries.length > 1 && !/=\d/.test(entries.at(-1) ?? ""));
  if (isShort) entries.pop();
  let typed = 0;
  for (const entry of entries) {
    const match = /^\s*([^=]*)=(.*)$/.exec(entry);
    if (match === null) throw new Unreadable(`${column}: expected name=count, got ${quoted(entry)}`);
    const [, name = "", value = ""] = match;
    if (name !== "gres/gpu" && !name.startsWith("gres/gpu:")) continue;
    const count = countOf(column, value, entry);
    if (name === "gres/gpu") return count;
    typed += count;
  }
  return isShort ? null : within(column, typed);
}

/**
 * GPUs of a text such as `gpu:a100:4(S:0-1),nic:2`. A resource without a count is one. Types of MIG devices count like GPUs, because
 * Slurm schedules them as GPUs.
 */
export function genericGpus({ column, text, isCut }: ResourceText): number | null {
  if (isAbsent(text)) return isCut ? null : 0;
  const entries = withoutDetails(text).split(",");
  let total = 0;
  for (const [index, entry] of entries.entries()) {
    const isLast = index === entries.length - 1;
    const parts = entry
      .trim()
      .replace(/^gres[:/]/, "")
      .split(/[:=]/);
    if (parts[0] !== "gpu") {
      if (isLast && isCut) return null;
      continue;
    }
    const counts = parts.slice(1).filter((part) => part !== "no_consume");
    const last = counts.at(-1);
    const isCounted = last !== undefined && /^\d+$/.test(last);
    // `gpu:a100:1` may be the start of `gpu:a100:16`, unless details follow the count.
    if (isLast && isCut && !text.includes("(", text.lastIndexOf("gpu"))) return null;
    if (!isCounted && counts.length > 1) throw new Unreadable(`${column}: expected a count, got ${quoted(entry)}`);
    total += isCounted ? countOf(column, last, entry) : 1;
  }
  return within(column, total);
}

/** The types of the GPUs of a text that `genericGpus` reads. */
export function gpuTypes({
  column,
  text,
}: ResourceText): readonly { readonly type: string | null; readonly count: number }[] {
  if (isAbsent(text)) return [];
  return withoutDetails(text)
    .split(",")
    .map((entry) => entry.trim().replace(/^gres[:/]/, ""))
    .filter((entry) => /^gpu(?:[:=]|$)/.test(entry))
    .map((entry) => {
      const parts = entry
        .split(/[:=]/)
        .slice(1)
        .filter((part) => part !== "no_consume");
      const isCounted = /^\d+$/.test(parts.at(-1) ?? "");
      const [type = null] = isCounted ? parts.slice(0, -1) : parts;
      return { type, count: isCounted ? countOf(column, parts.at(-1) ?? "", entry) : 1 };
    });
}

/** Removes `(S:0-1)` and `(IDX:0,2-3)`, whose commas separate nothing. The end of such a part may be cut off. */
function withoutDetails(text: string): string {
  return text.replaceAll(/\([^)]*(?:\)|$)/g, "");
}

function countOf(column: string, text: string, entry: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Unreadable(`${column}: expected a count, got ${quoted(entry)}`);
  return within(column, Number(text));
}

export const isCount = (count: number): boolean => Number.isInteger(count) && count >= 0 && count <= GPUS_MAX;

function within(column: string, count: number): number {
  if (count > GPUS_MAX) throw new Unreadable(`${column}: more than ${GPUS_MAX} GPUs`);
  return count;
}
