/** Fields of `checkpoint` about the store to which checkpoints are drained. */
import { z } from "zod";
import { optional } from "../encoding/field.ts";
import * as notation from "../encoding/notation.ts";
import type { FieldProblem } from "../document-problem.ts";
import * as names from "../names.ts";

const KEPT_MAX = 1_000;

const best = z
  .string()
  .max(128)
  .regex(/^(?:min|max) [^\s].*$/, "must be min or max and the name of a metric, like min loss");

export const checkpointStoreFields = {
  store: optional(notation.name(names.storeName), {
    wire: "checkpointStore",
    description:
      "Store to which each reported checkpoint is copied while the work goes on. Work that starts on another machine resumes from the copy. Only for `kind: train`.",
    examples: ["lake"],
    otherwise: "checkpoints stay where they are",
  }),
  keep: optional(notation.integer(1, KEPT_MAX), {
    wire: "checkpointKeep",
    description: "Number of the newest stored checkpoints that are kept.",
    otherwise: "`3`",
  }),
  keepEvery: optional(notation.integer(1, Number.MAX_SAFE_INTEGER), {
    wire: "checkpointKeepEvery",
    description: "Stored checkpoints whose step is a multiple of it are kept too.",
    examples: [1000],
    otherwise: "none",
  }),
  keepBest: optional(notation.text(best, 128, "min or max and the name of a metric"), {
    wire: "checkpointKeepBest",
    description: "The stored checkpoint with the smallest or largest value of this metric is kept too.",
    examples: ["min loss", "max score"],
    otherwise: "none",
  }),
};

interface StoredCheckpoints {
  readonly kind: string;
  readonly checkpoint: {
    readonly store: string | null;
    readonly keep: number | null;
    readonly keepEvery: number | null;
    readonly keepBest: string | null;
  } | null;
}

export function checkpointProblems({ kind, checkpoint }: StoredCheckpoints): FieldProblem[] {
  if (checkpoint === null) return [];
  const { store, keep, keepEvery, keepBest } = checkpoint;
  if (store !== null && kind !== "train")
    return [{ path: ["checkpoint", "store"], message: "is only for kind: train, whose checkpoints have one owner" }];
  if (store !== null) return [];
  const rule = { keep, keepEvery, keepBest };
  return Object.entries(rule).flatMap(([name, value]) =>
    value === null
      ? []
      : [{ path: ["checkpoint", name], message: "needs checkpoint.store: only stored checkpoints are removed" }],
  );
}
