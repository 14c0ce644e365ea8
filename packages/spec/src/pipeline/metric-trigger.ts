/** The threshold of a metric that starts a pipeline: `endpoint:chat ttftMs > 800`. */
import { z } from "zod";
import * as notation from "../encoding/notation.ts";
import { readText } from "../encoding/read-values.ts";
import * as limits from "../limits.ts";
import { read, refuse, shown, type Reading } from "../notation/reading.ts";

/** Time in ms for which a reading must be beyond its threshold, if a trigger states none. */
export const METRIC_FOR_MS = 600_000;

/** Readings are kept for 30 days: a longer time could never pass with readings that are known to be beyond the threshold. */
export const METRIC_FOR_MS_MAX = 28 * 86_400_000;

const SUBJECT = /^(?:fleet|(?:pool|team|node|endpoint):[^\s:]{1,200})$/;
const METRIC = /^[A-Za-z_:][\w:]{0,127}$/;
const NUMBER = /^-?\d{1,15}(?:\.\d{1,9})?$/;
const signs = { "<=": "le", ">=": "ge", "<": "lt", ">": "gt" } as const;

const threshold = z.object({
  subject: z.string().regex(SUBJECT, "must be fleet, pool:NAME, team:NAME, node:ID or endpoint:NAME"),
  metric: z.string().regex(METRIC, "must be the name of a metric"),
  operator: z.enum(["lt", "le", "gt", "ge"]),
  value: z.string().regex(NUMBER, "must be a number"),
});
type Threshold = z.output<typeof threshold>;

export const metricTrigger = threshold
  .extend({ kind: z.literal("metric"), forMs: limits.integer(1, METRIC_FOR_MS_MAX) })
  .strict();

const form = "a subject, a metric and a threshold, like endpoint:chat ttftMs > 800";

function readThreshold(value: unknown): Reading<Threshold> {
  const text = readText(value, { lengthMax: limits.PARAM_CHARS_MAX, form });
  if (!text.ok) return text;
  const found = /^\s*(\S+)\s+(\S+?)\s*(<=|>=|<|>)\s*(\S+)\s*$/.exec(text.value);
  if (found === null) return refuse(`must be ${form}, got ${shown(value)}`);
  const [, subject = "", metric = "", sign = ">", number = ""] = found;
  const wanted = { subject, metric, operator: signs[sign as keyof typeof signs], value: number };
  const outcome = threshold.safeParse(wanted);
  return outcome.success ? read(wanted) : refuse(`must be ${form}: ${outcome.error.issues[0]?.message ?? ""}`);
}

export const metricThreshold = notation.scalar({
  wire: threshold,
  kind: "threshold of a metric",
  editor: { type: "string" },
  read: readThreshold,
  write: ({ subject, metric, operator, value }: Threshold): string => {
    const [sign = ">"] = Object.entries(signs).find(([, each]) => each === operator) ?? [];
    return `${subject} ${metric} ${sign} ${value}`;
  },
});
