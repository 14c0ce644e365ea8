/** `burst` of a pool: rules under which the engine orders nodes for work that fits nowhere. */
import { z } from "zod";
import { defaulted, optional, record, required } from "./encoding/field.ts";
import * as notation from "./encoding/notation.ts";
import * as limits from "./limits.ts";
import * as names from "./names.ts";
import { dollars } from "./team.ts";

const ORDER_AFTER_MS = 60_000;
const RELEASE_AFTER_MS = 600_000;

export const burst = record(
  {
    provisioner: required(notation.name(names.executorId), {
      description:
        "The provisioner that starts and stops the machines (`provisioners.yaml`). `manual`: a person does it.",
      examples: ["cloud"],
    }),
    nodes: required(notation.integer(1, limits.ORDER_NODES_MAX), {
      wire: "nodesMax",
      description: "The most extra nodes at a time, those that are coming included.",
    }),
    perNode: required(notation.integer(0, limits.ACCELERATORS_PER_NODE_MAX), {
      wire: "acceleratorCount",
      description: "Number of accelerators on each ordered node.",
    }),
    cores: required(notation.cores(limits.CORES_MILLI_MAX), {
      wire: "coresMilli",
      description: "Cores of each ordered node.",
    }),
    memory: required(notation.memory(limits.MEMORY_MIB_MAX), {
      wire: "memoryMib",
      description: "Memory of each ordered node.",
    }),
    leadTime: required(notation.duration(0, limits.DURATION_MS_MAX), {
      wire: "leadTimeMs",
      description: "Time from an order until its nodes take work, for half of the orders.",
      examples: ["4m"],
    }),
    leadTimeP95: required(notation.duration(0, limits.DURATION_MS_MAX), {
      wire: "leadTimeP95Ms",
      description:
        "The lead time that 95 of 100 orders keep. An order that takes more than three times as long has failed.",
      examples: ["10m"],
    }),
    orderAfter: defaulted(notation.duration(0, limits.DURATION_MS_MAX), ORDER_AFTER_MS, {
      wire: "orderAfterMs",
      description: "How long work must have waited before nodes are ordered for it.",
    }),
    releaseAfter: defaulted(notation.duration(0, limits.DURATION_MS_MAX), RELEASE_AFTER_MS, {
      wire: "releaseAfterMs",
      description: "An extra node that was idle for this long is released.",
    }),
    nodesPerDay: optional(notation.integer(1, limits.ORDER_NODES_MAX), {
      description: "The most nodes that are ordered on one day (UTC).",
      otherwise: "not limited",
    }),
    moneyPerDay: optional(dollars, {
      wire: "microUsdPerDay",
      description:
        "The most money in USD that the extra nodes may cost in 24 hours if none is released, by the price of the pool.",
      otherwise: "not limited",
    }),
  },
  { wire: (shape) => z.strictObject(shape).meta({ id: "BurstRule" }) },
);
