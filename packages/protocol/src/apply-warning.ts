/** Warnings about declared documents that are accepted nevertheless. */
import { z } from "zod";

export const applyWarning = z
  .object({
    team: z.string().optional().meta({ description: "The team whose quotas or work it is about." }),
    pool: z.string().optional().meta({ description: "The pool whose declaration is odd." }),
    message: z.string(),
  })
  .meta({
    id: "ApplyWarning",
    description:
      "Quotas that contradict each other, promise more than the fleet has, name what no pool has or come on top of others under the policy, a pool that is spares alone, work that runs where its data may no longer be worked on, or work whose deadline is over, or nearer than its walltime is long.",
  });

export type ApplyWarning = z.output<typeof applyWarning>;
