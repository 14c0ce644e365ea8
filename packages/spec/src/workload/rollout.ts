/** `rollout` of `kind: serve`: steps by which a changed endpoint gets its requests, and what ends a rollout early. */
import { z } from "zod";
import { defaulted, nested, optional, record } from "../encoding/field.ts";
import * as notation from "../encoding/notation.ts";
import * as limits from "../limits.ts";
import { read, refuse, shown } from "../notation/reading.ts";

const STEPS_MAX = 20;
const EVERY_MS = 300_000;
const TIMEOUT_MS = 6 * 3_600_000;
const MARGIN_MILLI_MAX = 10_000;

/** Whole units of 1/`perPercent` percent, written like `5%`. */
const percent = (min: number, max: number, perPercent: 1 | 10) =>
  notation.scalar({
    wire: limits.integer(min, max),
    unit: perPercent === 1 ? "Percent." : "Thousandths.",
    kind: "percentage",
    editor: { type: "string", pattern: String.raw`^\d+(\.\d+)?%$` },
    read: (value) => {
      const text = typeof value === "string" ? /^(\d{1,4}(?:\.\d)?) ?%$/.exec(value)?.[1] : undefined;
      const units = text === undefined ? Number.NaN : Math.round(Number(text) * perPercent);
      return units >= min && units <= max && (perPercent === 10 || Number.isInteger(Number(text)))
        ? read(units)
        : refuse(`must be a percentage from ${min / perPercent}% to ${max / perPercent}%, got ${shown(value)}`);
    },
    write: (units) => `${units / perPercent}%`,
  });

const margin = percent(0, MARGIN_MILLI_MAX, 10);

const abort = record(
  {
    errorRate: defaulted(margin, 10, {
      wire: "errorRateMilli",
      description: "Failed requests of 100 that the new revision may have more than the present one.",
    }),
    ttft: optional(margin, {
      wire: "ttftMilli",
      description: "How much longer the time to the first token may be than that of the present revision.",
      examples: ["5%"],
      otherwise: "not looked at",
    }),
    tpot: optional(margin, {
      wire: "tpotMilli",
      description: "How much longer the time per output token may be.",
      examples: ["3%"],
      otherwise: "not looked at",
    }),
    quality: optional(percent(0, 1000, 10), {
      wire: "qualityMilli",
      description:
        "How much lower the mean score of copied requests may be, of 1: of the scorer of the gateway, or the agreement with the answers of the present revision. Needs `shadow`.",
      examples: ["5%"],
      otherwise: "not looked at",
    }),
  },
  { wire: (shape) => z.strictObject(shape).meta({ id: "RolloutMargins" }) },
);

const isAscending = (steps: readonly number[]): boolean =>
  steps.every((step, index) => index === 0 || step > (steps[index - 1] ?? 0));

const rules = record(
  {
    steps: defaulted(
      notation.list(percent(1, 100, 1), { min: 1, max: STEPS_MAX, noun: "steps", example: "[5%, 25%, 100%]" }),
      [5, 25, 100],
      {
        description:
          "Shares of the requests that the new revision gets, one after another. The last one is 100%. `[100%]` is blue/green.",
      },
    ),
    shadow: optional(percent(1, 100, 1), {
      description:
        "Share of the requests of which the new revision gets copies before the first step. Its answers to them are compared and thrown away.",
      examples: ["10%"],
      otherwise: "the first step comes at once",
    }),
    every: defaulted(notation.duration(1_000, limits.GRACE_MS_MAX), EVERY_MS, {
      wire: "everyMs",
      description: "Least time of a step. A step also lasts until enough requests were compared.",
    }),
    timeout: defaulted(notation.duration(1_000, limits.DURATION_MS_MAX), TIMEOUT_MS, {
      wire: "timeoutMs",
      description: "Time after which a rollout that has not ended is rolled back.",
    }),
    abort: nested(abort, { description: "Regressions that a rollout accepts. A proven larger one rolls it back." }),
  },
  {
    meant: { interval: "every", weights: "steps", deadline: "timeout" },
    wire: (shape) =>
      z
        .strictObject(shape)
        .refine(({ steps }) => steps.at(-1) === 100 && isAscending(steps), {
          path: ["steps"],
          message: "must ascend and end with 100%",
        })
        .refine(({ shadow, abort: { qualityMilli } }) => qualityMilli === undefined || shadow !== undefined, {
          path: ["abort", "quality"],
          message: "needs shadow: copied requests alone have a score",
        })
        .meta({ id: "RolloutSpec" }),
  },
);

export const rollout = optional(rules, {
  description:
    "How replicas come to run a changed command, environment, readiness or model. The present ones stay until the end.",
  otherwise: "replicas are replaced one after another",
});
