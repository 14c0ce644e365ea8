/** Warnings about declared documents. The documents are accepted nevertheless. */
import { z } from "zod";

export const applyWarning = z
  .object({
    team: z.string().optional().meta({ description: "The team with the quotas or the work in question." }),
    pool: z.string().optional().meta({ description: "The pool with the declaration in question." }),
    message: z.string(),
  })
  .meta({
    id: "ApplyWarning",
    description:
      "Warnings about quotas that contradict each other, exceed the fleet, name a type that no pool has, or are added along the tree under the policy; about a pool that has only hot spares; about running work in a pool that no longer admits its data rule; about a deadline that has passed, or is closer than the walltime.",
  });

export type ApplyWarning = z.output<typeof applyWarning>;
