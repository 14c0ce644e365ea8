/**
 * Questions to the performance model and its answers. Estimates are not facts of a fleet: their times are seconds, their
 * rates GB/s (10^9 bytes), both fractional, as `packages/perf` has them.
 */
import { z } from "zod";
import { count, integer } from "./limits.ts";

/** Larger than any fleet that was announced so far. */
const NODES_MAX = 1_000_000;
const PARTS_MAX = 100;
const NAME_CHARS_MAX = 100;

const positive = z.number().positive().max(1e24);
const amount = z.number().nonnegative().max(1e24);
const share = z.number().min(0).max(1);
const nodes = integer(1, NODES_MAX);
const label = z.string().min(1).max(NAME_CHARS_MAX);

const networkQuestion = z
  .strictObject({
    kind: z.literal("network"),
    network: z.strictObject({
      kind: z.enum(["fat-tree", "rail-optimised", "dragonfly"]).default("rail-optimised"),
      nodeCount: nodes,
      portsPerNode: integer(1, 1024).default(8),
      switchPorts: integer(4, 4096).default(64),
      portGbps: positive.default(400),
      leafOversubscription: z.number().min(1).max(1000).default(1),
      spineOversubscription: z.number().min(1).max(1000).default(1),
      planes: integer(1, 64).default(1),
    }),
  })
  .meta({ id: "NetworkQuestion", description: "Switches and cables of a fabric." });

const dataset = z.strictObject({
  acceleratorCount: integer(1, 10_000_000),
  sampleBytes: positive,
  samplesPerFile: positive.default(1),
  batchSamples: positive.default(1),
  computeSeconds: positive,
  utilisation: share.default(1),
  readerThreads: integer(1, 1024).default(4),
  datasetBytes: amount.default(0),
});

const checkpointMode = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("blocking"), stallSeconds: positive }),
  z.strictObject({ kind: z.literal("overlapped") }),
]);

const checkpointing = z.strictObject({
  bytes: positive,
  intervalSeconds: positive.default(1800),
  keptCount: integer(0, 100_000).default(2),
  writerCount: integer(1, 10_000_000),
  filesPerWriter: integer(1, 100_000).default(1),
  mode: checkpointMode.default({ kind: "blocking", stallSeconds: 30 }),
});

const startStorm = z.strictObject({
  nodeCount: nodes,
  processesPerNode: integer(1, 1024).default(8),
  imageBytesPerNode: amount.default(20e9),
  filesPerProcess: amount.default(5000),
  stateBytes: amount.default(0),
  budgetSeconds: positive.default(300),
  startsPerDay: positive.default(4),
});

const tier = z
  .strictObject({
    name: label,
    capacityBytes: positive.optional(),
    readGbPerS: positive.optional(),
    writeGbPerS: positive.optional(),
    operationsPerS: positive.optional(),
    clientCount: positive.optional(),
    source: z.string().max(500).default("as stated"),
  })
  .meta({ id: "StorageTier", description: "What a storage tier offers, as bought. An axis left out is not judged." });

const storageQuestion = z
  .strictObject({
    kind: z.literal("storage"),
    storage: z.strictObject({
      datasets: z.array(dataset).max(PARTS_MAX).default([]),
      checkpoints: z.array(checkpointing).max(PARTS_MAX).default([]),
      starts: z.array(startStorm).max(PARTS_MAX).default([]),
    }),
    tiers: z.array(tier).max(20).default([]),
  })
  .meta({ id: "StorageQuestion", description: "Capacity, throughput and concurrency that jobs need." });

const failureQuestion = z
  .strictObject({
    kind: z.literal("failures"),
    failures: z.strictObject({
      nodeCount: nodes,
      acceleratorsPerNode: integer(1, 1024).default(8),
      perThousandNodeDays: positive.default(3.79),
      otherPerDay: amount.default(0),
      restartSeconds: positive.default(300),
      stallSeconds: positive.default(10),
      intervalSeconds: positive.optional(),
      stragglerShare: share.default(0),
      repairHours: positive.default(24),
      spareCoverage: z.number().min(0).max(0.999_999).default(0.99),
      burstiness: z.number().min(1).max(1000).default(1),
      fleet: z.strictObject({ nodeCount: nodes, placement: z.enum(["packed", "scattered"]) }).optional(),
      domains: z
        .array(z.strictObject({ name: label, nodeCount: nodes }))
        .max(20)
        .default([]),
    }),
  })
  .meta({ id: "FailureQuestion", description: "How often a job fails, how often to save, what is left." });

export const sizingQuestion = z
  .discriminatedUnion("kind", [networkQuestion, storageQuestion, failureQuestion])
  .meta({ id: "SizingQuestion" });

const networkAnswer = z
  .object({
    kind: z.literal("network"),
    levels: z
      .array(z.object({ name: z.enum(["leaf", "spine", "core", "group"]), switchCount: count, cablesDown: z.number() }))
      .readonly(),
    switchCount: count,
    cableCount: z.number(),
    nodesBelow: z.array(z.number()).readonly().meta({ description: "Nodes whose traffic stays below each level." }),
    oversubscription: z
      .array(z.number())
      .readonly()
      .meta({ description: "Of the way up from each level but the highest." }),
    nodeCountMax: count,
    bisectionGbPerS: z.number(),
  })
  .meta({ id: "NetworkAnswer" });

const axisDemand = z.object({
  name: z.string(),
  capacityBytes: z.number(),
  readGbPerS: z.number(),
  writeGbPerS: z.number(),
  operationsPerS: z.number(),
  clientCount: z.number(),
  dutyShare: z.number(),
});

const axisLoad = z
  .object({
    axis: z.enum(["capacity", "read", "write", "operations", "clients"]),
    needed: z.number(),
    offered: z.number().optional(),
    load: z.number().optional().meta({ description: "needed ÷ offered; above 1 the axis starves." }),
    cause: z.string(),
  })
  .meta({ id: "AxisLoad" });

const storageAnswer = z
  .object({
    kind: z.literal("storage"),
    demand: axisDemand.omit({ name: true, dutyShare: true }).extend({ parts: z.array(axisDemand).readonly() }),
    verdicts: z
      .array(
        z.object({
          tier,
          verdict: z.object({
            axes: z.array(axisLoad).readonly(),
            breaksFirst: axisLoad.optional(),
            isEnough: z.boolean(),
            headroom: z.number().optional(),
          }),
        }),
      )
      .readonly(),
  })
  .meta({ id: "StorageAnswer" });

const failureAnswer = z
  .object({
    kind: z.literal("failures"),
    mttfSeconds: z.number(),
    failuresPerDay: z.number(),
    intervals: z.object({ young: z.number(), daly: z.number(), availability: z.number(), best: z.number() }),
    chosen: z.object({
      intervalSeconds: z.number(),
      ettr: z.number(),
      lost: z.object({ checkpoints: z.number(), restarts: z.number(), repeatedWork: z.number() }),
    }),
    ettrLinear: z.number().meta({ description: "Meta's linear form (arXiv 2410.21680) at the chosen interval." }),
    goodputShare: z.number(),
    spares: z.object({ meanAwayCount: z.number(), spareCount: count, coverage: z.number() }),
    domainLosses: z
      .array(
        z.object({
          domain: z.string(),
          jobsStopped: z.number(),
          acceleratorHours: z.number(),
          acceleratorHoursPerYear: z.number().optional(),
        }),
      )
      .readonly(),
  })
  .meta({ id: "FailureAnswer" });

const impossibleAnswer = z
  .object({ kind: z.literal("impossible"), reason: z.string(), nearest: z.string() })
  .meta({ id: "ImpossibleAnswer", description: "What was asked for cannot be; `nearest` is what could." });

export const sizingAnswer = z
  .discriminatedUnion("kind", [networkAnswer, storageAnswer, failureAnswer, impossibleAnswer])
  .meta({ id: "SizingAnswer" });

export type SizingQuestion = z.output<typeof sizingQuestion>;
export type SizingQuestionInput = z.input<typeof sizingQuestion>;
export type SizingAnswer = z.output<typeof sizingAnswer>;
