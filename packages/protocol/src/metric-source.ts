/** Metric sources that operators declare, and their targets. */
import { z } from "zod";
import { count, instantMs, names } from "@headroom/spec";
import { commandProblems } from "./operation-problems.ts";
import { operation } from "./operation.ts";
import { pageOf, pageQuery } from "./page.ts";

const types = z.enum(["scrape", "replicas", "prometheus", "remote-write"]);

const metricSource = z
  .object({
    name: z.string(),
    type: types,
    settings: z.record(z.string(), z.unknown()),
    up: count.meta({ description: "Targets that answered the last time." }),
    silent: count.meta({ description: "Targets that did not answer, and those that are never read." }),
    waiting: count.meta({ description: "Targets that were not read yet." }),
    problem: z.string().nullable().meta({ description: "Why the source is not read; null: it is." }),
  })
  .meta({ id: "MetricSource" });

const remoteWrite = z
  .object({
    url: z.string(),
    sent: count.meta({ description: "Samples that the receiver took since the start." }),
    queued: count.meta({ description: "Samples that wait for the receiver." }),
    dropped: count.meta({ description: "Samples that were refused, or dropped because too many waited." }),
    sentAtMs: instantMs.nullable(),
    problem: z.string().nullable().meta({ description: "Why the last request failed; null: it did not." }),
  })
  .meta({ id: "RemoteWrite" });

const metricSourceList = z
  .object({
    items: z.array(metricSource),
    remoteWrite: remoteWrite
      .nullable()
      .meta({ description: "Where the control plane writes its metrics and series; null: nowhere." }),
  })
  .meta({ id: "MetricSourceList" });

const metricSourceRequest = z
  .strictObject({
    type: types.meta({ description: "Type of the source (docs/how-to/connect-prometheus.md)." }),
    settings: z
      .record(z.string().max(64), z.unknown())
      .optional()
      .meta({ description: "Settings of the type. Secrets are references: `file:/path` or `env:NAME`." }),
  })
  .meta({ id: "MetricSourceRequest" });

const metricSourceSet = z
  .object({ name: z.string(), action: z.enum(["created", "changed", "unchanged"]) })
  .meta({ id: "MetricSourceDeclared" });

const metricSourceRemoved = z.object({ name: z.string() }).meta({ id: "MetricSourceRemoved" });

const metricTarget = z
  .object({
    source: z.string(),
    target: z.string().meta({ description: "Address, or the name of the value of a query." }),
    subject: z
      .string()
      .nullable()
      .meta({ description: "`node:ID` or `endpoint:ID`; null: the labels decide, or none." }),
    state: z
      .enum(["up", "silent", "waiting", "refused"])
      .meta({ description: "`refused`: the address is never read, see `problem`." }),
    sinceMs: instantMs.nullable(),
    readAtMs: instantMs.nullable().meta({ description: "Last reading that succeeded; null: there was none." }),
    durationMs: z.number().nullable(),
    samples: count.meta({ description: "Samples of the last reading." }),
    values: count.meta({ description: "Values of subjects that the last reading gave." }),
    problem: z.string().nullable(),
  })
  .meta({ id: "MetricTarget" });

const metricTargetPage = pageOf(metricTarget, "MetricTargetPage");

const metricTargetQuery = pageQuery.extend({
  source: names.storeName.optional().meta({ description: "Only targets of this source." }),
  state: z.enum(["up", "silent", "waiting", "refused"]).optional().meta({ description: "Only targets in this state." }),
});

const bySource = z.strictObject({ name: names.storeName });

export const metricSourceOperations = {
  metricSources: operation("GET /v1/metric-sources", "Declared metric sources", metricSourceList, {
    permission: "fleet.read",
  }),
  metricTargets: operation("GET /v1/metric-targets", "Targets of metric sources, silent ones first", metricTargetPage, {
    permission: "fleet.read",
    query: metricTargetQuery,
  }),
  declareMetricSource: operation(
    "PUT /v1/metric-sources/{name}",
    "Declare a metric source, or replace its declaration",
    metricSourceSet,
    {
      permission: "executors.write",
      params: bySource,
      body: metricSourceRequest,
      problems: ["tooManyMetricSources", "metricSourceConflict", ...commandProblems],
    },
  ),
  removeMetricSource: operation(
    "DELETE /v1/metric-sources/{name}",
    "Remove the declaration of a metric source; its series stay until they expire",
    metricSourceRemoved,
    { permission: "executors.write", params: bySource, problems: ["unknownMetricSource", ...commandProblems] },
  ),
};

export type MetricSource = z.output<typeof metricSource>;
export type MetricSourceList = z.output<typeof metricSourceList>;
export type MetricSourceRequestInput = z.input<typeof metricSourceRequest>;
export type MetricSourceDeclared = z.output<typeof metricSourceSet>;
export type MetricSourceRemoved = z.output<typeof metricSourceRemoved>;
export type MetricTarget = z.output<typeof metricTarget>;
export type MetricTargetPage = z.output<typeof metricTargetPage>;
