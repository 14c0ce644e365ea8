/** Policies are data; a preset is a policy with a name that ships with the engine. */
import { z } from "zod";
import * as names from "./names.ts";

export const policy = z
  .strictObject({
    name: names.workloadName,
    order: z
      .array(z.enum(["submitted", "priority", "walltime"]))
      .min(1)
      .max(3)
      .refine((keys) => new Set(keys).size === keys.length, { message: "must not name a key twice" })
      .meta({ description: "Who goes first, most significant key first; ties end in the order of submission." }),
    whenHeadBlocked: z
      .enum(["stop", "skip"])
      .meta({ description: "`stop`: nothing starts past the first that does not fit. `skip`: whatever fits starts." }),
    placement: z.enum(["pack", "spread"]),
    exceedsFleet: z
      .enum(["hold", "reject"])
      .meta({ description: "What becomes of work that the whole fleet could not hold." }),
  })
  .meta({ id: "Policy" });

export const policyChoice = z
  .union([z.strictObject({ preset: names.workloadName }), z.strictObject({ policy })])
  .meta({ id: "PolicyChoice", description: "A preset by its name, or a whole policy." });

export const policySet = z.object({ name: z.string() }).meta({ id: "PolicySet" });
export const presetList = z.object({ items: z.array(policy) }).meta({ id: "PresetList" });

export type Policy = z.output<typeof policy>;
export type PolicyChoice = z.output<typeof policyChoice>;
export type PolicySet = z.output<typeof policySet>;
