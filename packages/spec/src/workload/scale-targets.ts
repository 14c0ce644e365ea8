/** `scale` of `kind: serve`: targets by which the number of replicas follows traffic. */
import { z } from "zod";
import type { FieldProblem } from "../document-problem.ts";
import { defaulted, listOf, optional, record, required, type WrittenFields } from "../encoding/field.ts";
import * as notation from "../encoding/notation.ts";
import * as limits from "../limits.ts";
import * as names from "../names.ts";
import { readThousandths } from "../notation/quantities.ts";

/** The stabilization window of the Kubernetes HorizontalPodAutoscaler for scaling down. */
const DOWN_AFTER_MS = 300_000;
const AMOUNT_MILLI_MAX = 1_000_000_000;
/** Values of metric sources can be bytes or tokens. */
const VALUE_MILLI_MAX = 1_000_000_000_000_000;

export const amountOf = (noun: string) =>
  notation.scalar({
    wire: limits.integer(1, AMOUNT_MILLI_MAX),
    unit: "Thousandths.",
    kind: "number",
    editor: { type: ["number", "string"], exclusiveMinimum: 0 },
    read: (value) => readThousandths(value, { range: { min: 1, max: AMOUNT_MILLI_MAX }, noun }),
    write: (milli) => milli / 1000,
  });

export const latency = notation.duration(1, limits.GRACE_MS_MAX);

const latencyTarget = record(
  {
    p95: optional(latency, { wire: "p95Ms", description: "Time that 95% of the requests of a minute stay within." }),
    p99: optional(latency, { wire: "p99Ms", description: "Time that 99% of the requests of a minute stay within." }),
  },
  {
    wire: (shape) =>
      z
        .strictObject(shape)
        .refine(({ p95Ms, p99Ms }) => p95Ms !== undefined || p99Ms !== undefined, { message: "needs p95Ms or p99Ms" })
        .meta({ id: "LatencyTarget" }),
  },
);

const METRICS_MAX = 8;

const valueAmount = notation.scalar({
  wire: limits.integer(1, VALUE_MILLI_MAX),
  unit: "Thousandths.",
  kind: "number",
  editor: { type: ["number", "string"], exclusiveMinimum: 0 },
  read: (value) => readThousandths(value, { range: { min: 1, max: VALUE_MILLI_MAX }, noun: "the unit of the value" }),
  write: (milli) => milli / 1000,
});

const metric = record(
  {
    name: required(notation.name(names.metricValue), {
      description: "Name of the value in the series of the endpoint (`headroom series endpoint:ID`).",
      examples: ["jobsQueued"],
    }),
    source: optional(notation.name(names.metricSourceName), {
      description: "Name of the metric source.",
      otherwise: "the only source with the value",
    }),
    perReplica: optional(valueAmount, {
      wire: "perReplicaMilli",
      description: "Amount for each replica, of a value that replicas share, such as the length of a queue.",
      examples: [20],
    }),
    level: optional(valueAmount, {
      wire: "levelMilli",
      description: "The value to keep, of a value that falls when replicas are added, such as a utilisation.",
      examples: [70],
    }),
  },
  {
    meant: { value: "name", averageValue: "perReplica", threshold: "level", averageUtilization: "level" },
    wire: (shape) =>
      z
        .strictObject(shape)
        .refine(({ perReplicaMilli, levelMilli }) => (perReplicaMilli === undefined) !== (levelMilli === undefined), {
          message: "needs either perReplicaMilli or levelMilli",
        })
        .meta({ id: "ScaleMetric" }),
  },
);

const targets = record(
  {
    concurrency: optional(amountOf("requests"), {
      wire: "concurrencyMilli",
      description: "Requests in progress for each replica, waiting ones included.",
      examples: [16],
    }),
    requestsPerSecond: optional(amountOf("requests"), {
      wire: "requestsPerSecondMilli",
      description: "Requests per second for each replica.",
      examples: [2.5],
    }),
    queueTime: optional(latency, {
      wire: "queueTimeMs",
      description: "Mean time for which a request waits before a replica works on it.",
      examples: ["500ms"],
    }),
    ttft: optional(latencyTarget, { description: "Time to the first token.", examples: [{ p95: "2s" }] }),
    tpot: optional(latencyTarget, {
      description: "Time for each output token after the first.",
      examples: [{ p95: "100ms" }],
    }),
    metrics: optional(
      listOf(metric, {
        min: 1,
        max: METRICS_MAX,
        error: () => "must be a list like [{ name: jobsQueued, perReplica: 20 }]",
      }),
      {
        description: "Targets for values that metric sources read about the endpoint, such as PromQL queries.",
        examples: [[{ name: "jobsQueued", perReplica: 20 }]],
      },
    ),
    idleToZero: optional(notation.duration(1_000, limits.DURATION_MS_MAX), {
      wire: "idleToZeroMs",
      description: "Time without requests after which the endpoint has no replicas. It needs `replicas.min: 0`.",
      examples: ["15m"],
      otherwise: "one replica stays",
    }),
    downAfter: defaulted(notation.duration(1_000, limits.GRACE_MS_MAX), DOWN_AFTER_MS, {
      wire: "downAfterMs",
      description: "Time for which fewer replicas must have been enough before some are stopped.",
    }),
  },
  {
    meant: {
      targetConcurrency: "concurrency",
      rps: "requestsPerSecond",
      scaleToZeroAfter: "idleToZero",
      stabilizationWindow: "downAfter",
    },
    wire: (shape) => z.strictObject(shape).meta({ id: "ScaleTargets" }),
  },
);

export const scale = optional(targets, {
  description:
    "Targets by which the number of replicas follows traffic. The largest number that a target needs counts.",
  otherwise: "commands alone change the number",
});

function metricProblems(metrics: readonly WrittenFields<typeof metric.parts>[]): FieldProblem[] {
  return metrics.flatMap(({ name, source, perReplica, level }, index): FieldProblem[] => {
    const path = ["scale", "metrics", index];
    const first = metrics.findIndex((each) => each.name === name && each.source === source);
    if ((perReplica === null) === (level === null)) return [{ path, message: "needs either perReplica or level" }];
    return first < index ? [{ path, message: `has the value ${name} a second time` }] : [];
  });
}

type WrittenTargets = WrittenFields<typeof targets.parts>;

/** Problems between the targets and the bounds of an endpoint. */
export function scaleProblems(
  written: WrittenTargets | null,
  replicas: { readonly min: number } | null,
): FieldProblem[] {
  if (written === null) return [];
  const { concurrency, requestsPerSecond, queueTime, ttft, tpot, metrics, idleToZero } = written;
  const problems: FieldProblem[] = metricProblems(metrics ?? []);
  if ([concurrency, requestsPerSecond, queueTime, ttft, tpot, metrics, idleToZero].every((target) => target === null))
    problems.push({ path: ["scale"], message: "needs a target, such as concurrency: 16" });
  if (idleToZero !== null && (replicas?.min ?? 1) > 0)
    problems.push({ path: ["scale", "idleToZero"], message: "needs replicas with min: 0" });
  for (const [name, target] of Object.entries({ ttft, tpot }))
    if (target !== null && target.p95 === null && target.p99 === null)
      problems.push({ path: ["scale", name], message: "needs p95 or p99" });
  return problems;
}
