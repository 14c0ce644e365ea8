/** `overflow` of `kind: serve`: another endpoint or a provider that takes requests while the own replicas are saturated. */
import { z } from "zod";
import type { FieldProblem } from "../document-problem.ts";
import { defaulted, flat, optional, record, type WrittenFields } from "../encoding/field.ts";
import * as notation from "../encoding/notation.ts";
import * as limits from "../limits.ts";
import * as names from "../names.ts";
import { readSpending, writeSpending } from "../notation/quantities.ts";
import { amountOf, latency } from "./scale-targets.ts";

/** Stands among the data rules for requests that have none. */
const UNMARKED = "unmarked";
const RULES_MAX = 100;
const TARGET_CHARS_MAX = 128;

const targetName = z
  .string()
  .max(TARGET_CHARS_MAX)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._/:@-]*$/, "must be a name of letters, digits and . _ - / : @");

const money = notation.scalar({
  wire: z
    .strictObject({
      microUsd: limits.integer(1, limits.BUDGET_MICRO_USD_MAX),
      period: z.enum(["day", "month"]),
    })
    .meta({ id: "OverflowBudget", description: "Millionths of a US dollar for each day or month in UTC." }),
  kind: "amount for each day or month",
  editor: { type: "string", pattern: String.raw`^\d+(\.\d+)? USD/(day|month)$` },
  read: readSpending,
  write: writeSpending,
});

const when = record(
  {
    queueTime: optional(latency, {
      wire: "queueTimeMs",
      description: "Mean wait in the queues of the replicas from which requests leave, until it is half of that.",
      examples: ["5s"],
    }),
    concurrency: optional(amountOf("requests"), {
      wire: "concurrencyMilli",
      description: "Requests in progress for each ready replica from which requests leave.",
      examples: [32],
    }),
  },
  { meant: { queue: "queueTime", wait: "queueTime", requests: "concurrency" } },
);

const rules = record(
  {
    provider: optional(notation.name(targetName), {
      description: "The pool of the gateway that takes the requests, such as an external provider. It needs a budget.",
      examples: ["backup"],
    }),
    endpoint: optional(notation.name(targetName), {
      description: "The endpoint that takes the requests, as `TEAM/NAME`.",
      examples: ["research/chat"],
    }),
    when: flat(when, {
      description: "Conditions besides that no replica takes a request or all failed it. One that holds is enough.",
    }),
    budget: optional(money, {
      description: "Money for requests that leave. Beyond it nothing leaves.",
      examples: ["50 USD/day"],
      otherwise: "unlimited, with `endpoint` only",
    }),
    data: defaulted(
      notation.list(notation.name(names.dataRule), {
        max: RULES_MAX,
        noun: "data rules",
        example: "[unmarked, public]",
      }),
      [UNMARKED],
      {
        wire: "dataRules",
        description: "Data rules of requests that may leave. `unmarked`: requests without a rule.",
        examples: [["unmarked", "public"]],
      },
    ),
  },
  {
    meant: { pool: "provider", to: "provider", target: "provider", money: "budget", rules: "data", dataRules: "data" },
    wire: (shape) =>
      z
        .strictObject(shape)
        .refine(({ provider, endpoint }) => (provider === undefined) !== (endpoint === undefined), {
          path: ["provider"],
          message: "needs either provider or endpoint",
        })
        .refine(({ provider, budget }) => provider === undefined || budget !== undefined, {
          path: ["budget"],
          message: "is needed with provider",
        })
        .meta({ id: "OverflowSpec" }),
  },
);

export const overflow = optional(rules, {
  description: "Another endpoint or a provider that takes requests while the replicas are saturated.",
  otherwise: "requests wait, or are refused",
});

export function overflowProblems(written: WrittenFields<typeof rules.parts> | null): FieldProblem[] {
  if (written === null) return [];
  const { provider, endpoint, budget } = written;
  if ((provider === null) === (endpoint === null))
    return [{ path: ["overflow"], message: "needs either provider or endpoint" }];
  return provider !== null && budget === null
    ? [{ path: ["overflow"], message: "needs a budget, such as budget: 50 USD/day, because a provider costs money" }]
    : [];
}
