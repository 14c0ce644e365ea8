/** Sites and pools as they are declared. */
import { z } from "zod";
import * as limits from "./limits.ts";
import { integer } from "./limits.ts";
import * as names from "./names.ts";

const dataPlace = z
  .strictObject({
    rules: z
      .array(names.dataRule)
      .max(limits.DATA_RULES_MAX)
      .optional()
      .meta({ description: "Rules under which work may run here; a pool's own stand in place of its site's." }),
    holds: z
      .array(names.dataset)
      .max(limits.DATASETS_MAX)
      .optional()
      .meta({ description: "Data sets that lie here, each with all that is below it." }),
  })
  .meta({ id: "DataPlace" });

export const site = z
  .strictObject({
    name: names.siteName,
    fabricLevels: z
      .array(names.fabricName)
      .max(limits.FABRIC_LEVELS_MAX)
      .default([])
      .meta({ description: "Levels of the placement tree below the site, widest first, without the node." }),
    data: dataPlace.optional(),
  })
  .meta({ id: "Site" });

/** Devices whose division into parts is known. */
export const migDevice = z.enum(["A100-40GB", "A100-80GB", "H100-80GB", "H100-94GB", "H200-141GB", "B200-180GB"]);

export const executorKind = z.enum(["local", "simulated"]);

export const pool = z
  .strictObject({
    name: names.poolName,
    site: names.siteName,
    executor: executorKind,
    acceleratorType: z
      .union([names.acceleratorType, z.literal("")])
      .meta({ description: "The one accelerator type of the pool; empty where its nodes have none." }),
    mig: migDevice.optional().meta({
      description: "The device as which its accelerators may be divided by profiles; left out: they are not.",
    }),
    priceMicroUsdPerHour: integer(0, limits.PRICE_MICRO_USD_MAX).default(0),
    labels: names.labels.optional().meta({ description: "Labels of all of its nodes." }),
    nodeLabels: z
      .record(names.nodeName, names.labels)
      .refine((nodes) => Object.keys(nodes).length <= limits.LABELLED_NODES_MAX, {
        message: `must have at most ${limits.LABELLED_NODES_MAX} entries`,
      })
      .optional()
      .meta({ description: "Labels of single nodes, by id; they win over those of the pool." }),
    data: dataPlace.optional(),
    hotSpares: integer(1, limits.HOT_SPARES_MAX).optional().meta({
      description: "So many empty nodes are kept for work that loses some of its own; of fewer, all that are empty.",
    }),
  })
  .meta({ id: "Pool" });

export type Site = z.output<typeof site>;
export type Pool = z.output<typeof pool>;
