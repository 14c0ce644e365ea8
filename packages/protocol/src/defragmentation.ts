/** Migrations that would gather idle accelerators now, with their cost and gain. */
import { z } from "zod";
import { count } from "@headroom/spec";

const idleBlocks = z
  .object({
    acceleratorType: z.string(),
    nodesByIdle: z
      .array(z.object({ idle: count, nodes: count }))
      .meta({ description: "Number of schedulable nodes, by their number of idle accelerators." }),
  })
  .meta({ id: "IdleBlocks" });

export const defragmentation = z
  .object({
    isActive: z.boolean().meta({
      description: "Whether the active policy defragments; if not, the plan uses default bounds.",
    }),
    bounds: z.object({ migrationsPerHour: count, restMs: count, lossPerPairMs: count }),
    migrations: z
      .array(
        z.object({
          workloadId: z.string(),
          name: z.string(),
          team: z.string(),
          attemptId: z.string(),
          accelerators: count,
          from: z.string(),
          to: z.string(),
          pairsGathered: count.meta({
            description: "Increase of the number of pairs of idle accelerators on one node.",
          }),
          lostAcceleratorMs: z.number().meta({ description: "Repeated work, in accelerator-milliseconds." }),
        }),
      )
      .meta({
        description:
          "Migrations in the order in which they would be made, without regard to periods and waiting requests.",
      }),
    before: z.array(idleBlocks),
    after: z.array(idleBlocks),
    sentence: z.string(),
  })
  .meta({ id: "Defragmentation" });

export type Defragmentation = z.output<typeof defragmentation>;
