/**
 * `kind: metricSource`: where readings of nodes, accelerators and replicas come from. Operators declare sources. Secrets are
 * references, never the secrets themselves.
 */
import { z } from "zod";
import type { Mapping } from "../mapping/rules.ts";
import { mappedValue } from "../mapping/rules.ts";

const TARGETS_LISTED_MAX = 2_000;
const QUERIES_MAX = 100;
const CUSTOM_MAX = 100;
const QUERY_CHARS_MAX = 4_096;

const plainName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, "must be at most 63 letters, digits, '.', '_' and '-'");
const text = z.string().min(1).max(256);

const reference = z
  .string()
  .max(4096)
  .regex(/^(?:file:\/.+|env:[A-Za-z_][A-Za-z0-9_]*)$/, {
    message: "must be a reference to the secret: file:/path or env:NAME. The secret itself does not belong here",
  });

const ADDRESS = /^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?(?:\?[^\s#]*)?$/;
const address = z
  .string()
  .max(2_048)
  .regex(ADDRESS, "must be http:// or https:// with a host, without user and password");

/** Seconds, from text such as `15s` or `2m`. */
const duration = (leastS: number, mostS: number) =>
  z
    .string()
    .regex(/^[1-9]\d{0,5}(?:s|m)$/, "must be a duration such as 15s or 2m")
    .transform((each) => Number.parseInt(each, 10) * (each.endsWith("m") ? 60 : 1))
    .refine((seconds) => seconds >= leastS && seconds <= mostS, `must be between ${leastS}s and ${mostS}s`);

/** Values are fields of objects, so names that every object has are none. */
const VALUE_NAME =
  /^(?!(?:constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|toLocaleString|toString|valueOf)$)[a-z][A-Za-z0-9]{0,62}$/;

const custom = z.strictObject({
  metric: text.meta({ description: "Name of the metric in the exporter's text." }),
  value: z
    .string()
    .regex(VALUE_NAME, "must be a name such as fanPercent")
    .meta({ description: "Name of the value in the series of the subject." }),
  unit: z.string().max(16).default("").meta({ description: "Unit of the value, for display." }),
  subject: z.enum(["node", "accelerator", "replica"]).default("node"),
  labels: z.record(text, z.string().max(256)).default({}).meta({ description: "Only lines with these labels." }),
  combine: z.enum(["last", "sum", "max", "mean"]).default("sum").meta({ description: "For several lines." }),
  rate: z.boolean().default(false).meta({ description: "The metric is a counter: its increase for each second." }),
  factor: z.number().default(1),
});

const read = {
  every: duration(1, 3_600).default(15).meta({ description: "Time between two readings." }),
  timeout: duration(1, 60).default(10).meta({ description: "After it the target counts as silent." }),
  authorization: reference.optional().meta({ description: "Reference to a bearer token for the targets." }),
};

const common = {
  kind: z.literal("metricSource").meta({ description: "Kind of the document." }),
  name: plainName.meta({ description: "Name of the source." }),
};
const customs = {
  metrics: z.array(custom).max(CUSTOM_MAX).default([]).meta({ description: "Further metrics of the exporter." }),
};

const listed = z.union([
  address.transform((url) => ({ url, node: undefined, endpoint: undefined })),
  z.strictObject({ url: address, node: text.optional(), endpoint: text.optional() }),
]);

const scrape = z
  .strictObject({
    ...common,
    type: z.literal("scrape"),
    targets: z.array(listed).max(TARGETS_LISTED_MAX).default([]).meta({
      description: "Addresses, each with the `node` or the `endpoint` (id of its workload) that it is about.",
    }),
    address: z
      .string()
      .max(2_048)
      .regex(ADDRESS, "must be a URL such as http://{node}:9400/metrics")
      .optional()
      .meta({ description: "One target for each chosen node: `{node}` is its id, `{label.NAME}` one of its labels." }),
    pool: plainName.optional().meta({ description: "Only nodes of this pool. Default: every pool." }),
    nodeLabels: z.record(text, text).default({}).meta({ description: "Only nodes with these labels." }),
    ...read,
    ...customs,
  })
  .refine((each) => each.address !== undefined || each.targets.length > 0, "needs `targets` or `address`")
  .refine((each) => each.address === undefined || /\{(?:node|label\.[^{}]+)\}/.test(each.address), {
    path: ["address"],
    message: "must contain {node} or {label.NAME}; list single addresses as `targets`",
  });

const replicas = z.strictObject({
  ...common,
  type: z.literal("replicas"),
  path: z
    .string()
    .regex(/^\/[^\s#]*$/, "must begin with /")
    .default("/metrics"),
  endpoints: z.array(text).max(1_000).default([]).meta({ description: "Ids of workloads. Default: every endpoint." }),
  ...read,
  ...customs,
});

const query = z.strictObject({
  value: z
    .string()
    .regex(VALUE_NAME, "must be a name such as linkErrors")
    .meta({ description: "Name of the value in the series of the subject." }),
  unit: z.string().max(16).default(""),
  query: z
    .string()
    .min(1)
    .max(QUERY_CHARS_MAX)
    .meta({ description: "PromQL with a vector or a scalar as its result." }),
  subject: z.enum(["fleet", "pool", "team", "node", "endpoint", "accelerator"]).default("node"),
  label: text.default("instance").meta({
    description: "Label with the subject's id. A port behind it is left out. `fleet` has no label.",
  }),
  indexLabel: text.default("gpu").meta({ description: "Label with the index of the accelerator." }),
});

const prometheus = z.strictObject({
  ...common,
  type: z.literal("prometheus"),
  url: address.meta({ description: "Address of a Prometheus, or of a store with its HTTP API." }),
  queries: z.array(query).min(1).max(QUERIES_MAX),
  every: duration(5, 3_600).default(60).meta({ description: "Time between two evaluations." }),
  timeout: read.timeout,
  authorization: read.authorization,
});

const remoteWrite = z.strictObject({
  ...common,
  type: z.literal("remote-write"),
  label: text.default("instance").meta({ description: "Label with the id of the node. A port behind it is left out." }),
  every: duration(1, 3_600).default(15).meta({ description: "Samples of this time are one reading." }),
  ...customs,
});

export const metricSourceDeclaration = z.discriminatedUnion("type", [scrape, replicas, prometheus, remoteWrite]);
export const metricSourceTypes = ["scrape", "replicas", "prometheus", "remote-write"] as const;

export type MetricSource = z.output<typeof metricSourceDeclaration>;
export type PrometheusQuery = z.output<typeof query>;
type CustomMetric = z.output<typeof custom>;

interface SourceProblem {
  readonly path: readonly string[];
  readonly message: string;
}

export type MetricSourceReading =
  | { readonly ok: true; readonly declaration: MetricSource }
  | { readonly ok: false; readonly problems: readonly SourceProblem[] };

/** Reads a declaration and never throws. */
export function readMetricSource(value: unknown): MetricSourceReading {
  const outcome = metricSourceDeclaration.safeParse(value);
  if (outcome.success) return { ok: true, declaration: outcome.data };
  const problems = outcome.error.issues.map((issue) => ({ path: issue.path.map(String), message: issue.message }));
  return { ok: false, problems };
}

/** The mapping of the declared metrics. Two rows with one value are parts of the same value. */
export function customMapping(metrics: readonly CustomMetric[]): Mapping {
  const values = new Map(
    metrics.map((each) => [
      each.value,
      mappedValue(each.subject, each.value, each.unit, {
        combine: each.combine,
        isRate: each.rate,
        factor: each.factor,
      }),
    ]),
  );
  return {
    values: [...values.values()],
    rules: metrics.map(({ metric, value, labels }) => ({ metric, value, labels })),
  };
}
