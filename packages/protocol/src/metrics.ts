/** Progress and accelerator utilisation that attempts reported, rolled up by age. */
import { z } from "zod";
import { pageOf, pageQuery, queryInteger } from "./page.ts";
import { count, instantMs, names } from "@headroom/spec";

const reports = count.meta({ description: "Number of reports in this point; values are their means." });

export const attemptMetrics = z
  .object({
    attemptId: z.string(),
    totalSteps: count.nullable().meta({ description: "Values as they were reported last." }),
    rejectedLines: z
      .object({
        count: count.meta({ description: "Number of lines." }),
        faults: z
          .array(
            z.object({
              problem: z.string(),
              expected: z.string().meta({ description: "Example of a valid line." }),
              line: z.string().meta({ description: "The first such line, shortened and without control characters." }),
              worker: count.nullable().meta({
                description: "Rank of the worker; null: unknown, because the workers of a gang share the file.",
              }),
              count: count.meta({ description: "Number of lines with this problem." }),
            }),
          )
          .meta({ description: "Problems with such lines, one entry for each, at most 8." }),
      })
      .optional()
      .meta({ description: "Lines of the progress file that are not reports and were ignored; absent: none." }),
    progress: z
      .array(
        z.object({
          atMs: instantMs.meta({ description: "Time of the newest report." }),
          step: count,
          reports,
          metrics: z.record(z.string(), z.number()),
        }),
      )
      .meta({ description: "Points, oldest first; the newest are single reports, older ones cover longer periods." }),
    utilization: z.array(
      z.object({
        atMs: instantMs,
        reports,
        busyMilli: z
          .number()
          .meta({ description: "Mean share of time in which its accelerators were busy, in thousandths." }),
        busyAccelerators: z.number(),
        peakMemoryMib: z.number().nullable(),
      }),
    ),
  })
  .meta({ id: "AttemptMetrics" });

export const METRICS_POINTS_DEFAULT = 300;
const METRICS_POINTS_MAX = 600;
/** Largest instant: the end of year 9999. */
const INSTANT_MAX_MS = 253_402_300_799_999;

export const metricsQuery = pageQuery.extend({
  attempt: names.opaqueId.optional().meta({ description: "Only reports of this attempt." }),
  fromMs: queryInteger(0, INSTANT_MAX_MS).optional(),
  toMs: queryInteger(0, INSTANT_MAX_MS).optional(),
  points: queryInteger(1, METRICS_POINTS_MAX)
    .optional()
    .meta({
      description: `Maximum number of points in a series, ${METRICS_POINTS_DEFAULT} by default; neighbours are merged.`,
    }),
});

/** Attempts in the order of their first reports. */
export const metricsPage = pageOf(attemptMetrics, "MetricsPage");

export type AttemptMetrics = z.output<typeof attemptMetrics>;
