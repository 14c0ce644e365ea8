/** Readings of accelerators from their vendors' tools, and the history of readings. */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";
import { metricsQuery } from "./metrics.ts";
import { pageOf, pageQuery } from "./page.ts";

const values = {
  busyMilli: z
    .number()
    .nullable()
    .meta({ description: "Share of time in which the accelerator was busy, in thousandths." }),
  memoryUsedMib: z.number().nullable(),
  memoryTotalMib: z.number().nullable(),
  temperatureC: z.number().nullable(),
  powerMilliwatts: z.number().nullable(),
  errorCount: z
    .number()
    .nullable()
    .meta({ description: "Number of uncorrected memory errors since the driver was loaded; unknown for AMD's cards." }),
};

export const acceleratorReading = z
  .object({
    index: count.meta({ description: "Index of the accelerator on its node." }),
    ...values,
    fault: z.string().nullable().meta({
      description: "Why the reading has no value: an error of the tool, or the tool no longer lists the card.",
    }),
  })
  .meta({ id: "AcceleratorReading", description: "The value; null: the tool does not report it." });

export const nodeReadings = z
  .object({
    node: z.string(),
    source: z.enum(["nvidia-smi", "dcgmi", "rocm-smi", "simulated", "exporter"]).nullable().meta({
      description:
        "Name of the tool that reads the accelerators, or `exporter` for a metric source; null: the node has no tool, for example a node with declared slots.",
    }),
    atMs: instantMs.nullable().meta({ description: "Time of the last reading; null: there was none since the start." }),
    problem: z
      .string()
      .nullable()
      .meta({ description: "Why there are no readings; null: there are readings, or the node has no tool." }),
    accelerators: z.array(acceleratorReading),
  })
  .meta({ id: "NodeReadings" });

export const nodeReadingsPage = pageOf(nodeReadings, "NodeReadingsPage");
export const nodeReadingsQuery = pageQuery;

const historyPoint = z.object({
  atMs: instantMs.meta({ description: "Time of the newest reading." }),
  readings: count.meta({ description: "Number of readings in this point; values are their means." }),
  ...values,
});

export const acceleratorHistory = z
  .object({
    index: count,
    points: z
      .array(historyPoint)
      .meta({ description: "Points of the history, oldest first; older points cover longer periods." }),
  })
  .meta({ id: "AcceleratorHistory" });

export const nodeTelemetry = z
  .object({ readings: nodeReadings, history: z.array(acceleratorHistory) })
  .meta({ id: "NodeTelemetry" });

export const nodeTelemetryQuery = metricsQuery.pick({ fromMs: true, toMs: true, points: true });

export type AcceleratorReading = z.output<typeof acceleratorReading>;
export type NodeReadings = z.output<typeof nodeReadings>;
export type AcceleratorHistory = z.output<typeof acceleratorHistory>;
export type NodeTelemetry = z.output<typeof nodeTelemetry>;
export type NodeTelemetryQuery = Partial<z.output<typeof nodeTelemetryQuery>>;
