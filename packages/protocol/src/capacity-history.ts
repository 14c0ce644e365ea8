/** Recent history of the fleet's capacity: used, queued and out of service. */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";

const accelerators = z.number().nonnegative();

export const capacitySample = z
  .object({
    atMs: instantMs,
    total: count,
    held: accelerators.meta({ description: "Accelerators allocated to attempts." }),
    queued: accelerators.meta({
      description: "Accelerators requested by tasks that could start if capacity were free.",
    }),
    unavailable: accelerators.meta({
      description: "Free accelerators on nodes that are lost, draining, in maintenance or kept as spares.",
    }),
    teams: z.record(z.string(), accelerators).meta({
      description: "Accelerators held by each team and all teams below it; at most 100 teams, those that hold most.",
    }),
  })
  .meta({ id: "CapacitySample" });

export const capacityHistory = z
  .object({
    everyMs: count.meta({ description: "Time between two samples." }),
    samples: z.array(capacitySample).meta({ description: "Samples of at most the last 24 hours, oldest first." }),
  })
  .meta({ id: "CapacityHistory" });

export type CapacitySample = z.output<typeof capacitySample>;
export type CapacityHistory = z.output<typeof capacityHistory>;
