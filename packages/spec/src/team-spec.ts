/** Teams as they are declared: nodes of the quota tree. */
import { z } from "zod";
import * as limits from "./limits.ts";
import { integer } from "./limits.ts";
import * as names from "./names.ts";

/** Resources that teams state beside accelerator types: all types together, thousandths of a core, MiB. */
export const resourceNames = { allAccelerators: "accelerators", cores: "cores", memory: "memory" } as const;

const amounts = z
  .record(names.acceleratorType, z.number().min(0).max(limits.AMOUNT_MAX))
  .refine((entries) => Object.keys(entries).length <= limits.AMOUNT_KINDS_MAX, {
    message: `must have at most ${limits.AMOUNT_KINDS_MAX} entries`,
  })
  .check(({ value, issues }) => {
    for (const [resource, amount] of Object.entries(value)) {
      const message = amountFault(resource, amount);
      if (message !== null) issues.push({ code: "custom", input: amount, path: [resource], message });
    }
  })
  .meta({
    id: "Amounts",
    description:
      "By accelerator type, `accelerators` (all types; to the thousandth), `cores` (thousandths), `memory` (MiB).",
  });

function amountFault(resource: string, amount: number): string | null {
  if (resource === resourceNames.cores || resource === resourceNames.memory) {
    return Number.isInteger(amount) ? null : "must be a whole number";
  }
  if (amount > limits.ACCELERATOR_LIMIT_MAX) return `must be between 0 and ${limits.ACCELERATOR_LIMIT_MAX}`;
  // Thousandths of what a person wrote: a double is nearer to them than this, whatever its size here.
  const milli = amount * 1000;
  return Math.abs(milli - Math.round(milli)) < 1e-4 ? null : "must be a whole number of thousandths";
}

export const budget = z
  .strictObject({
    gpuHours: z.number().min(0).max(limits.AMOUNT_MAX).optional(),
    microUsd: integer(0, limits.BUDGET_MICRO_USD_MAX).optional().meta({ description: "By the prices of the pools." }),
    period: z.enum(["month", "total"]).meta({ description: "Anew with every month in UTC, or once." }),
    over: z.enum(["warn", "hold", "stop"]).meta({
      description: "Once used up: it is recorded and no more; nothing starts; what runs is stopped, too.",
    }),
  })
  .refine(({ gpuHours, microUsd }) => gpuHours !== undefined || microUsd !== undefined, {
    message: "must bound hours, money or both",
  })
  .meta({ id: "Budget" });

export const teamSpec = z
  .strictObject({
    name: names.teamName,
    parent: names.teamName.nullable().default(null),
    limit: amounts.default({}).meta({ description: "The most that the team and all below it may hold at once." }),
    userLimit: amounts.optional().meta({
      description: "The most that the work of any one user of it may hold at once; as the team, if left out.",
    }),
    guarantee: amounts.optional().meta({ description: "What the team gets back whenever it asks, by resource." }),
    weight: z
      .number()
      .min(0)
      .max(limits.WEIGHT_MAX)
      .optional()
      .meta({ description: "Its part of what no guarantee covers, against its siblings; 1 if left out." }),
    lendingLimit: amounts
      .optional()
      .meta({ description: "How much of its guarantee others may use; all if left out." }),
    borrowingLimit: amounts.optional().meta({ description: "How much beyond its guarantee it may use." }),
    priority: integer(-limits.PRIORITY_MAX, limits.PRIORITY_MAX)
      .optional()
      .meta({ description: "Among its siblings: larger is served first; 0 if left out." }),
    preemption: z
      .strictObject({
        within: z.enum(["never", "lowerPriority"]),
        reclaim: z.enum(["never", "lowerPriority", "any"]),
        whileBorrowing: z.strictObject({ priorityMax: integer(-limits.PRIORITY_MAX, limits.PRIORITY_MAX) }).optional(),
      })
      .optional()
      .meta({ description: "Whose work its waiting work may evict." }),
    budget: budget.optional().meta({ description: "What it and all below it may use up over time." }),
    reservedTopology: z
      .array(
        z.strictObject({
          within: names.fabricName,
          accelerators: integer(1, limits.ACCELERATOR_LIMIT_MAX),
          count: integer(1, limits.ACCELERATOR_LIMIT_MAX),
          acceleratorType: names.acceleratorType.optional(),
          domain: z.array(names.opaqueId).max(limits.FABRIC_LEVELS_MAX).optional(),
          nodes: z.array(names.opaqueId).max(limits.SHAPE_NODES_MAX).optional(),
        }),
      )
      .max(limits.TEAM_SHAPES_MAX)
      .optional()
      .meta({ description: "Accelerators that hang together, owned by the team." }),
  })
  .meta({ id: "TeamSpec" });

export type TeamSpec = z.output<typeof teamSpec>;
