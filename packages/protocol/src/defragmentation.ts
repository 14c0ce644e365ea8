/** Migrations that would gather idle accelerators now, with their cost and gain. */
import { z } from "zod";
import { count } from "@headroom/spec";

const idleBlocks = z
  .object({
    acceleratorType: z.string(),
    nodesByIdle: z
      .array(z.object({ idle: count, nodes: count }))
      .meta({ description: "Nodes that take work, by how many idle accelerators they have." }),
  })
  .meta({ id: "IdleBlocks" });

export const defragmentation = z
  .object({
    isInForce: z.boolean().meta({
      description: "Whether the policy in force moves anything for it; if not, usual bounds were tried.",
    }),
    bounds: z.object({ movesPerHour: count, restMs: count, lossPerPairMs: count }),
    moves: z
      .array(
        z.object({
          workloadId: z.string(),
          name: z.string(),
          team: z.string(),
          attemptId: z.string(),
          accelerators: count,
          from: z.string(),
          to: z.string(),
          pairsGathered: count.meta({ description: "Pairs of idle accelerators more that lie on one node." }),
          lostAcceleratorMs: z.number().meta({ description: "Work done again, in accelerators times milliseconds." }),
        }),
      )
      .meta({ description: "In the order in which they would be made, whatever the hour and whoever waits." }),
    before: z.array(idleBlocks),
    after: z.array(idleBlocks),
    sentence: z.string(),
  })
  .meta({ id: "Defragmentation" });

export type Defragmentation = z.output<typeof defragmentation>;
