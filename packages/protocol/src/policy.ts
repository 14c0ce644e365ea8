/** Policies in requests and answers; their settings are declared in `spec`. */
import { names, policy } from "@headroom/spec";
import { z } from "zod";
import { applyWarning } from "./apply-warning.ts";

export const policyChoice = z
  .union([z.strictObject({ preset: names.workloadName }), z.strictObject({ policy })])
  .meta({ id: "PolicyChoice", description: "A preset by its name, or a whole policy." });

export const policySet = z
  .object({
    name: z.string(),
    warnings: z.array(applyWarning).optional().meta({
      description:
        "Warnings about quotas that have another effect under the policy than they may be intended to have; absent: none.",
    }),
  })
  .meta({ id: "PolicySet" });
export const presetList = z.object({ items: z.array(policy) }).meta({ id: "PresetList" });

export type PolicyChoice = z.output<typeof policyChoice>;
export type PolicySet = z.output<typeof policySet>;
