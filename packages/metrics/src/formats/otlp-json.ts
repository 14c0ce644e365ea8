/** OTLP metrics in JSON: names in lowerCamelCase, integers of 64 bits as text or numbers. Unknown fields are ignored. */
import { z } from "zod";
import { refuseLargeJson } from "./json-structure.ts";
import { OtlpLabels } from "./otlp-series.ts";
import type { OtlpSeries, Point } from "./otlp-series.ts";

const integer = z.union([z.number(), z.string().regex(/^-?\d{1,20}$/)]);
const number = z.union([z.number(), z.enum(["NaN", "Infinity", "-Infinity"])]);
const attribute = z.object({
  key: z.string(),
  value: z
    .object({
      stringValue: z.string().optional(),
      boolValue: z.boolean().optional(),
      intValue: integer.optional(),
      doubleValue: number.optional(),
    })
    .optional(),
});
const attributes = z.array(attribute).default([]);
const point = z.object({
  attributes,
  timeUnixNano: integer.default(0),
  asDouble: number.optional(),
  asInt: integer.optional(),
  flags: z.number().default(0),
});
const points = z.object({ dataPoints: z.array(point).default([]) });
const counted = z.object({ dataPoints: z.array(z.unknown()).default([]) });
const metric = z.object({
  name: z.string().default(""),
  gauge: points.optional(),
  sum: points
    .extend({
      aggregationTemporality: z.union([z.number(), z.string()]).default(0),
      isMonotonic: z.boolean().default(false),
    })
    .optional(),
  histogram: counted.optional(),
  exponentialHistogram: counted.optional(),
  summary: counted.optional(),
});
const request = z.object({
  resourceMetrics: z
    .array(
      z.object({
        resource: z.object({ attributes }).optional(),
        scopeMetrics: z.array(z.object({ metrics: z.array(metric).default([]) })).default([]),
      }),
    )
    .default([]),
});

/** A point of a collector with five attributes has 30 values, so these are more than 30,000 points. */
const VALUES_MAX = 1_000_000;
const DEPTH_MAX = 64;
const NO_RECORDED_VALUE = 1;
const isCumulative = (temporality: string | number): boolean =>
  temporality === 2 || temporality === "AGGREGATION_TEMPORALITY_CUMULATIVE";

/** Throws if the body is no request, or has too many values, which are counted before they are built. */
export function readOtlpJson(text: string, into: OtlpSeries): void {
  refuseLargeJson(text, VALUES_MAX, DEPTH_MAX);
  const { resourceMetrics } = request.parse(JSON.parse(text));
  for (const { resource, scopeMetrics } of resourceMetrics) {
    into.setResource(labelsOf(resource?.attributes ?? [], into));
    for (const { metrics } of scopeMetrics) for (const each of metrics) readMetric(each, into);
  }
}

function readMetric(
  { name, gauge, sum, histogram, exponentialHistogram, summary }: z.output<typeof metric>,
  into: OtlpSeries,
): void {
  if (gauge !== undefined)
    into.add(
      name,
      false,
      gauge.dataPoints.map((each) => pointOf(each, into)),
    );
  if (sum !== undefined && isCumulative(sum.aggregationTemporality))
    into.add(
      name,
      sum.isMonotonic,
      sum.dataPoints.map((each) => pointOf(each, into)),
    );
  else if (sum !== undefined) into.reject(sum.dataPoints.length);
  for (const other of [histogram, exponentialHistogram, summary]) into.reject(other?.dataPoints.length ?? 0);
}

function pointOf(
  { attributes: own, timeUnixNano, asDouble, asInt, flags }: z.output<typeof point>,
  into: OtlpSeries,
): Point {
  into.count();
  return {
    labels: labelsOf(own, into),
    atMs: Math.round(Number(timeUnixNano) / 1_000_000),
    value: Number(asDouble ?? asInt ?? Number.NaN),
    isRecorded: (flags & NO_RECORDED_VALUE) === 0,
  };
}

function labelsOf(list: z.output<typeof attributes>, into: OtlpSeries): OtlpLabels {
  const labels = new OtlpLabels();
  for (const { key, value } of list) {
    into.count();
    const text = value?.stringValue ?? value?.boolValue ?? value?.intValue ?? value?.doubleValue;
    if (text !== undefined) labels.set(key, String(text));
  }
  return labels;
}
