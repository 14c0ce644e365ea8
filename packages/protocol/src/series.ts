/** Series of a subject over time: the fleet, a pool, a team, a node or an endpoint. */
import { z } from "zod";
import { instantMs } from "@headroom/spec";
import { metricsQuery } from "./metrics.ts";

const SUBJECT = /^(?:fleet|(?:pool|team|node|accelerator|endpoint|replica):\S{1,200})$/;

export const seriesQuery = metricsQuery.pick({ fromMs: true, toMs: true, points: true }).extend({
  subject: z
    .string()
    .regex(
      SUBJECT,
      "must be fleet, pool:NAME, team:NAME, node:ID, accelerator:NODE#INDEX, endpoint:ID or replica:ID/NAME",
    )
    .meta({
      description:
        "`fleet`, `pool:NAME`, `team:NAME`, `node:ID`, `accelerator:NODE#INDEX`, `endpoint:ID` with the id of its workload, or `replica:ID/ATTEMPT`.",
    }),
});

const seriesMetric = z.object({
  name: z.string().meta({
    description:
      "`accelerators`, `held`, `foreign` (used by work that Headroom does not run), `outOfService`, `queued`, `attempts`, `utilizationPercent`, `powerWatts`, `temperatureMaxC`, `replicasWanted`, `replicasReady`; a subject has those that concern it. Metric sources add others (docs/how-to/connect-prometheus.md).",
  }),
  unit: z.string(),
  values: z.array(z.number().nullable()).meta({ description: "One for each time; null: it is not known." }),
});

export const subjectSeries = z
  .object({
    subject: z.string(),
    atMs: z.array(instantMs).meta({
      description:
        "Times of the points, oldest first. A point is the mean of its period; older points cover longer periods.",
    }),
    metrics: z.array(seriesMetric),
  })
  .meta({ id: "SubjectSeries" });

export type SeriesQuery = z.output<typeof seriesQuery>;
export type SubjectSeries = z.output<typeof subjectSeries>;
