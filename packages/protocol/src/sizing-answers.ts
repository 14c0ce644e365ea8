/** Answers of the performance model. Later versions can add fields. */
import { z } from "zod";
import { count } from "@headroom/spec";
import { storageTier } from "./sizing-questions.ts";

const numbers = <Name extends string>(...names: readonly Name[]) =>
  z.object(Object.fromEntries(names.map((name) => [name, z.number()])) as Record<Name, z.ZodNumber>);

export const networkAnswer = z
  .object({
    kind: z.literal("network"),
    levels: z
      .array(z.object({ name: z.enum(["leaf", "spine", "core", "group"]), switchCount: count, cablesDown: z.number() }))
      .readonly(),
    switchCount: count,
    cableCount: z.number(),
    nodesBelow: z
      .array(z.number())
      .readonly()
      .meta({ description: "Number of nodes under one switch of each level; their traffic stays below that level." }),
    oversubscription: z
      .array(z.number())
      .readonly()
      .meta({ description: "Downlink divided by uplink bandwidth of each level except the highest." }),
    nodeCountMax: count,
    bisectionGbPerS: z.number(),
    wall: z
      .object({
        points: z
          .array(
            numbers("nodeCount", "networkShare", "oversubscriptionShare").extend({
              byJob: z.array(z.object({ name: z.string(), networkShare: z.number() })).readonly(),
            }),
          )
          .readonly(),
        wall: z.object({ nodeCount: count, blame: z.enum(["oversubscription", "ports"]) }).optional(),
      })
      .optional()
      .meta({
        description:
          "Share of time that a mix of jobs waits for the network, by size of the fleet, and the size at which the share is too large.",
      }),
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
    load: z.number().optional().meta({ description: "Needed divided by offered; above 1 this axis is too small." }),
    cause: z.string(),
  })
  .meta({ id: "AxisLoad" });

export const storageAnswer = z
  .object({
    kind: z.literal("storage"),
    demand: axisDemand.omit({ name: true, dutyShare: true }).extend({ parts: z.array(axisDemand).readonly() }),
    verdicts: z
      .array(
        z.object({
          tier: storageTier,
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

export const failureAnswer = z
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

export const impossibleAnswer = z
  .object({ kind: z.literal("impossible"), reason: z.string(), nearest: z.string() })
  .meta({ id: "ImpossibleAnswer", description: "The request cannot be met; `nearest` is the closest possible one." });

export const unknownAnswer = z.object({ kind: z.literal("unknown"), reasons: z.array(z.string()).readonly() }).meta({
  id: "UnknownAnswer",
  description: "No measurement supports a prediction for this case; the reason says why.",
});

const plan = z
  .object({
    tensor: count,
    pipeline: count,
    context: count,
    data: count,
    expert: count,
    virtualStages: count,
    schedule: z.enum(["1f1b", "interleaved", "zero-bubble"]),
    microBatch: count,
    sequenceParallel: z.boolean(),
    zeroStage: z.literal([0, 1, 2, 3]),
    shardCount: count,
    recomputation: z.enum(["none", "selective", "partial", "full"]),
  })
  .meta({ id: "ParallelPlan" });

const stepBreakdown = numbers(
  "matmul",
  "attention",
  "elements",
  "routing",
  "launch",
  "recomputation",
  "tensorExchange",
  "contextExchange",
  "expertExchange",
  "stageTransfer",
  "bubble",
  "stateExchange",
  "optimizer",
  "jitter",
).meta({ id: "StepBreakdown", description: "Seconds of one step by cause; they add up to the step." });

const memoryBreakdown = numbers(
  "weights",
  "gradients",
  "optimizer",
  "gathered",
  "activations",
  "logits",
  "overhead",
).meta({ id: "MemoryBreakdown", description: "Bytes on the fullest accelerator; they add up to the peak." });

export const trainingAnswer = z
  .object({
    kind: z.literal("training"),
    model: z.object({ name: z.string(), parameterCount: z.number(), activeParameterCount: z.number() }),
    accelerator: z.string(),
    nodeCount: count,
    stack: z.enum(["fused", "eager", "compiled"]),
    plan,
    isPlanGiven: z.boolean(),
    chosen: z.array(z.string()).readonly().meta({
      description:
        "Parts of the plan that the question did not state. They are the usual choices of the stack that fit into memory.",
    }),
    precision: numbers("weightBytes", "gradientBytes", "optimizerBytes").meta({
      description: "Bytes per parameter of weights, gradients and optimizer.",
    }),
    format: z
      .object({ linear: z.string(), reason: z.string().optional() })
      .meta({ description: "Number format of the linear layers, and why it was chosen if the question left it open." }),
    isCalibrated: z.boolean(),
    step: z.object({
      seconds: z.number(),
      breakdown: stepBreakdown,
      interval: numbers("lowSeconds", "highSeconds", "level"),
    }),
    evidence: z
      .object({ distance: z.number(), isNear: z.boolean(), nearest: z.string().optional() })
      .meta({ description: "How different measured runs are from this one; the interval widens with the distance." }),
    family: z
      .enum(["dense", "experts", "adapters"])
      .meta({ description: "Models whose prediction errors are alike: corrections hold for one family." }),
    correction: numbers("factor", "runCount", "typeRunCount").meta({
      description: "Factor for all times, learned from the fleet's own runs; 1 if there are none.",
    }),
    tokensPerS: z.number(),
    tokensPerSPerAccelerator: z.number(),
    modelFlopsShare: z.number(),
    memory: z.object({
      peakBytes: z.number(),
      availableBytes: z.number(),
      verdict: z.enum(["fits", "tight", "does not fit"]),
      outOfMemoryProbability: z.number(),
      breakdown: memoryBreakdown,
    }),
    failures: failureAnswer.omit({ kind: true }),
    storage: storageAnswer.omit({ kind: true }),
    network: numbers("networkShare", "oversubscriptionShare").meta({
      description:
        "Share of the step that the network between nodes takes, and the part of it that oversubscribed levels cause.",
    }),
    run: z
      .object({
        tokens: z.number(),
        steps: z.number(),
        undisturbedDays: z.number(),
        days: z.number(),
        acceleratorHours: z.number(),
        cost: z.number(),
      })
      .optional(),
    scaling: z
      .object({
        kind: z.enum(["strong", "weak"]),
        points: z
          .array(numbers("acceleratorCount", "globalBatch", "stepSeconds", "tokensPerS", "efficiency"))
          .readonly(),
        withoutPlan: z.array(count).readonly().meta({ description: "Sizes at which no plan fits into memory." }),
        wall: numbers("acceleratorCount", "nextCount", "gainPerDoubling").extend({ scarce: z.string() }).optional(),
      })
      .meta({
        description:
          "Other sizes, each with the best plan for it, and the size from which doubling is no longer worthwhile.",
      }),
    alternatives: z
      .array(numbers("acceleratorCount", "stepSeconds", "peakBytes", "cost").extend({ plan }))
      .readonly()
      .meta({
        description: "Plans that no other plan beats in time, memory and cost at once; empty unless requested.",
      }),
    warnings: z.array(z.string()).readonly(),
  })
  .meta({ id: "TrainingAnswer" });

const layout = z
  .object({ tensor: count, pipeline: count, attentionData: count, expert: count })
  .meta({ id: "ServingLayout" });

export const servingAnswer = z
  .object({
    kind: z.literal("serving"),
    model: z.object({ name: z.string(), source: z.string() }),
    accelerator: z.string(),
    chosen: z.array(z.string()).readonly().meta({ description: "Choices that the question did not state, in words." }),
    evidence: z.object({ distance: z.number(), isNear: z.boolean(), nearest: z.string().optional() }).meta({
      description: "How different measured endpoints are from this one; the intervals widen with the distance.",
    }),
    plans: z
      .array(
        numbers(
          "replicaCount",
          "acceleratorCount",
          "requestsPerSPerReplica",
          "ttftMs",
          "tpotMs",
          "costPerHour",
          "costPerMillionOutputTokens",
        ).extend({ layout }),
      )
      .readonly()
      .meta({ description: "Cheapest first." }),
    best: z.object({
      memory: numbers("weightBytes", "activationBytes", "runtimeBytes", "kvCacheBytes", "unusedBytes", "totalBytes"),
      batch: z.number(),
      batchLimit: z.number(),
      step: numbers("linearMs", "expertMs", "attentionMs", "exchangeMs", "floorMs", "hostMs", "totalMs"),
      tpotIntervalMs: numbers("low", "high"),
      ttftIntervalMs: numbers("low", "high"),
      coldStart: numbers("provisioningS", "imageS", "weightsS", "engineS", "totalS", "startingReplicas")
        .extend({ storageGbPerS: z.number().nullable() })
        .meta({ description: "Start of one replica while `startingReplicas` read the weights from the same store." }),
    }),
    rejected: z.array(z.object({ layout, reason: z.string() })).readonly(),
    disaggregated: z
      .discriminatedUnion("kind", [
        z.object({
          kind: z.literal("plan"),
          prefill: layout,
          prefillCount: count,
          decode: layout,
          decodeCount: count,
          acceleratorCount: count,
          latency: numbers("ttftMs", "tpotMs"),
          transferMs: z.number(),
          costPerHour: z.number(),
          costPerMillionOutputTokens: z.number(),
        }),
        z.object({ kind: z.literal("impossible"), reason: z.string() }),
      ])
      .meta({
        description: "Prefill and decode on separate workers (disaggregated), within the same latency targets.",
      }),
    isCalibrated: z.boolean(),
  })
  .meta({ id: "ServingAnswer" });
