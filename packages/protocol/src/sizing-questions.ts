/** Questions to the performance model. Every field has the same default as on the command line. */
import { z } from "zod";
import { integer } from "@headroom/spec";

/** Maximum number of nodes, more than any announced fleet has. */
const NODES_MAX = 1_000_000;
const PARTS_MAX = 100;
/** Maximum number of sizes, because each size needs a separate search. */
const SIZES_MAX = 32;
const NAME_CHARS_MAX = 100;

const positive = z.number().positive().max(1e24);
const amount = z.number().nonnegative().max(1e24);
const share = z.number().min(0).max(1);
const nodes = integer(1, NODES_MAX);
const label = z.string().min(1).max(NAME_CHARS_MAX);

export const storageTier = z
  .strictObject({
    name: label,
    capacityBytes: positive.optional(),
    readGbPerS: positive.optional(),
    writeGbPerS: positive.optional(),
    operationsPerS: positive.optional(),
    clientCount: positive.optional(),
    source: z.string().max(500).default("as stated"),
  })
  .meta({
    id: "StorageTier",
    description: "Capacity and rates of a storage tier. An axis that is absent is not checked.",
  });

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

export const storageQuestion = z
  .strictObject({
    kind: z.literal("storage"),
    storage: z.strictObject({
      datasets: z.array(dataset).max(PARTS_MAX).default([]),
      checkpoints: z.array(checkpointing).max(PARTS_MAX).default([]),
      starts: z.array(startStorm).max(PARTS_MAX).default([]),
    }),
    tiers: z.array(storageTier).max(20).default([]),
  })
  .meta({ id: "StorageQuestion", description: "Capacity, throughput and concurrency that jobs need from storage." });

export const failureQuestion = z
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
  .meta({
    id: "FailureQuestion",
    description: "Failure rate of a job, best checkpoint interval, and the remaining share of useful time.",
  });

const numberFormat = z.enum(["bf16", "fp16", "fp8", "mxfp8", "int8", "fp4", "mxfp4", "nvfp4", "int4"]);

const modelChoice = z
  .union([label, z.strictObject({ name: label, config: z.record(z.string().max(200), z.unknown()) })])
  .meta({ description: "The name of a preset, or a name and a config.json of Hugging Face." });

export const networkQuestion = z
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
    mix: z
      .strictObject({
        accelerator: label,
        lossShare: share.default(0.1),
        jobs: z
          .array(
            z.strictObject({
              model: modelChoice,
              share: positive.default(1),
              scaling: z.enum(["strong", "weak"]).default("weak"),
              acceleratorCount: integer(1, 1_048_576),
              sequenceLength: integer(1, 100_000_000).default(4096),
              globalBatch: integer(1, 10_000_000),
              format: numberFormat.default("bf16"),
              stack: z.enum(["fused", "eager", "compiled"]).default("fused"),
            }),
          )
          .max(PARTS_MAX),
      })
      .optional()
      .meta({
        description: "Training jobs on the fabric, to find the size at which the network costs more than `lossShare`.",
      }),
  })
  .meta({ id: "NetworkQuestion", description: "Switches and cables of a fabric." });

const profile = z
  .record(z.string().max(200), z.unknown())
  .optional()
  .meta({ description: "Calibration profile that `headroom calibrate` wrote for this accelerator." });

const catalogue = z.record(z.string().max(200), z.unknown()).optional().meta({
  description:
    "Accelerators that are missing in the catalogue: `accelerators`, each with the figures of its datasheet.",
});

const width = integer(1, 1_000_000);

const parallelPlan = z.strictObject({
  tensor: width.optional(),
  pipeline: width.optional(),
  context: width.optional(),
  data: width.optional(),
  expert: width.optional(),
  virtualStages: width.optional(),
  schedule: z.enum(["1f1b", "interleaved", "zero-bubble"]).optional(),
  microBatch: width.optional(),
  sequenceParallel: z.boolean().optional(),
  zeroStage: z.literal([0, 1, 2, 3]).optional(),
  shardCount: width.optional(),
  recomputation: z.enum(["none", "selective", "partial", "full"]).optional(),
});

const corrected = { runCount: integer(0, 1_000_000), logFactor: z.number().min(-3).max(3) };

export const fleetCorrection = z
  .strictObject({
    kind: z.literal("fleet-correction"),
    version: z.literal(1),
    types: z
      .array(
        z.strictObject({
          acceleratorType: label,
          ...corrected,
          families: z
            .array(z.strictObject({ family: z.enum(["dense", "experts", "adapters"]), ...corrected }))
            .max(3)
            .readonly(),
        }),
      )
      .max(1000)
      .readonly(),
  })
  .meta({
    id: "FleetCorrection",
    description:
      "Correction learned from a fleet's own runs: logarithm of measured divided by predicted time, by accelerator type and model family, shrunk towards 0.",
  });

export const trainingQuestion = z
  .strictObject({
    kind: z.literal("training"),
    training: z.strictObject({
      model: modelChoice,
      accelerator: label,
      catalogue,
      acceleratorCount: integer(1, 1_048_576),
      acceleratorsPerNode: integer(1, 1024).optional(),
      nodeNetworkGbPerS: positive.optional(),
      fabric: z
        .strictObject({
          kind: z.enum(["fat-tree", "rail-optimised", "dragonfly"]).optional(),
          portsPerNode: integer(1, 1024).optional(),
          switchPorts: integer(4, 4096).optional(),
          leafOversubscription: z.number().min(1).max(1000).optional(),
          spineOversubscription: z.number().min(1).max(1000).optional(),
        })
        .optional()
        .meta({ description: "The network between nodes; absent: non-blocking." }),
      fabricName: label.optional().meta({ description: "A fabric of `catalogue` by its name, instead of `fabric`." }),
      sequenceLength: integer(1, 100_000_000),
      globalBatch: integer(1, 10_000_000).meta({ description: "Sequences per optimizer step." }),
      tokens: positive.optional().meta({ description: "Tokens of the whole run." }),
      method: z
        .discriminatedUnion("kind", [
          z.strictObject({ kind: z.literal("full") }),
          z.strictObject({ kind: z.literal("lora"), rank: integer(1, 65_536) }),
        ])
        .default({ kind: "full" }),
      format: numberFormat.optional().meta({
        description:
          "Number format of the linear layers. Absent: the format in which the model was trained (`fp8` for deepseek-v3), if accelerator and stack support it, else `bf16`, or `fp16` on accelerators without bf16.",
      }),
      stack: z
        .enum(["fused", "eager", "compiled"])
        .optional()
        .meta({ description: "Training software; absent: `compiled` on TPUs, `fused` elsewhere." }),
      plan: parallelPlan.optional().meta({
        description: "The plan. Absent fields are chosen as users of the stack usually choose them, within memory.",
      }),
      profile,
      correction: fleetCorrection.nullish().meta({
        description: "Correction of the prediction. Absent: the one from this fleet's own measured runs. `null`: none.",
      }),
      pricePerAcceleratorHour: amount.default(0),
      perThousandNodeDays: positive.optional(),
      restartSeconds: positive.default(300),
      scaling: z.enum(["strong", "weak"]).default("strong"),
      scalingCounts: z
        .array(integer(1, 1_048_576))
        .min(1)
        .max(SIZES_MAX)
        .optional()
        .meta({ description: "Sizes to compare; absent: halvings and doublings of the requested size." }),
      alternatives: z
        .boolean()
        .default(false)
        .meta({ description: "Whether to search also for plans that need less memory or cost but more time." }),
      checkpointOverlapped: z.boolean().default(false),
      checkpointGbPerS: positive.default(100),
      tiers: z.array(storageTier).max(20).default([]),
    }),
  })
  .meta({ id: "TrainingQuestion", description: "Plan, step time, memory, failures and storage of a training run." });

export const servingQuestion = z
  .strictObject({
    kind: z.literal("serving"),
    serving: z.strictObject({
      model: modelChoice,
      accelerator: label,
      catalogue,
      weights: numberFormat.default("bf16"),
      kv: numberFormat.optional(),
      promptTokens: integer(1, 100_000_000),
      outputTokens: integer(1, 100_000_000),
      prefixHitShare: share.default(0),
      requestsPerS: positive.max(1e9),
      ttftMs: positive.default(1000),
      tpotMs: positive.default(50),
      share: z.number().min(0.5).max(0.9999).default(0.95),
      pricePerAcceleratorHour: amount.default(0),
      layout: z
        .strictObject({
          tensor: width.default(1),
          pipeline: width.default(1),
          attentionData: width.default(1),
          expert: width.default(1),
        })
        .optional(),
      profile,
      weightsGbPerS: positive.default(5),
      provisioningSeconds: amount.default(0).meta({ description: "Time until a starting replica gets a node." }),
      imageGb: amount.default(0).meta({ description: "Container image that a starting node must fetch." }),
      storageGbPerS: positive.optional().meta({
        description:
          "Total rate of the store from which all starting replicas read the weights, GB/s; absent: it never limits a start.",
      }),
      startingReplicas: integer(1, 1_000_000)
        .optional()
        .meta({ description: "Replicas that start at once and share the store; absent: all replicas of the plan." }),
    }),
  })
  .meta({ id: "ServingQuestion", description: "Replicas, latency and cost of an endpoint under traffic." });
