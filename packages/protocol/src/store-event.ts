/** Fields of the events of stores: declarations, and bytes that were transferred. */
import { z } from "zod";
import { count } from "@headroom/spec";

export const storesChanged = {
  changed: z.array(
    z.object({
      name: z.string(),
      root: z.string(),
      site: z.string().nullable(),
      inPlace: z.literal(true).optional(),
      kibPerS: count.optional().meta({ description: "Declared throughput of one transfer." }),
      egressMicroUsdPerGib: count.optional(),
    }),
  ),
  removed: z.array(z.string()),
};

export const bytesTransferred = {
  workloadId: z.string(),
  attemptId: z.string(),
  direction: z.enum(["in", "out"]).meta({ description: "`in`: from the store to the node." }),
  store: z.string(),
  uri: z.string(),
  bytes: count,
  tookMs: count,
  failed: z.literal(true).optional(),
  resumed: z.literal(true).optional().meta({ description: "An earlier transfer had brought a part." }),
  site: z.string().meta({ description: "Site of the node; empty: unknown." }),
  egressMicroUsd: count.optional().meta({ description: "Cost of bytes that left the site of the store." }),
};
