/** Predictions of the performance model and measured steps of attempts, for a workload and for the fleet. */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";
import { fleetCorrection, trainingQuestion } from "./sizing-questions.ts";

/**
 * The model that a workload trains. It is a question to the performance model without accelerators, which are known
 * only after placement.
 */
export const workloadModel = z
  .strictObject({
    training: trainingQuestion.shape.training.omit({
      accelerator: true,
      acceleratorCount: true,
      acceleratorsPerNode: true,
      scalingCounts: true,
      alternatives: true,
      correction: true,
    }),
  })
  .meta({ id: "WorkloadModel" });

const seconds = z.number().positive();
const partSeconds = z.object({ compute: z.number(), network: z.number(), storage: z.number() });
const knownSeconds = z.number().nullable();
const part = z.enum(["compute", "network", "storage"]);
const family = z.enum(["dense", "experts", "adapters"]);

export const measuredRun = z
  .object({
    attemptId: z.string(),
    workloadId: z.string(),
    workload: z.string(),
    team: z.string(),
    acceleratorType: z.string().meta({ description: "Name in the catalogue of accelerators." }),
    family: family.meta({
      description: "Family of the model. `experts`: a mixture of experts; `adapters`: LoRA; `dense`: all others.",
    }),
    acceleratorCount: count,
    isCalibrated: z
      .boolean()
      .meta({ description: "Whether the model has a profile of the accelerator; then no correction applies." }),
    predicted: z
      .object({
        seconds: seconds.meta({ description: "Time of a step, corrected by the fleet's runs." }),
        uncorrectedSeconds: seconds,
        lowSeconds: seconds.meta({ description: "Ends of the 80% interval, with the correction." }),
        highSeconds: seconds,
        parts: partSeconds,
      })
      .meta({ description: "Present prediction of the performance model." }),
    measured: z
      .object({
        seconds: seconds.meta({ description: "Median step of what the attempt reported." }),
        steps: count.meta({ description: "Number of measured steps." }),
        parts: z.object({ compute: knownSeconds, network: knownSeconds, storage: knownSeconds }).meta({
          description:
            "Time of the part, reported by the attempt or inferred from the use of its accelerators; `null`: not known.",
        }),
        atMs: instantMs,
      })
      .nullable()
      .meta({ description: "Measured step; `null`: there are too few reports so far." }),
    slow: z
      .object({
        expectedSeconds: seconds.meta({ description: "Time of a step expected from the other runs of its kind." }),
        excessShare: z.number(),
        responsible: part.nullable().meta({
          description: "The likely cause; `null`: not known. `missing` then lists the metrics that would show it.",
        }),
        ground: z.enum(["reported", "idle", "rest"]).nullable().meta({
          description:
            "Source of the time of this part: reported by the attempt, idle time of its accelerators (storage), or the rest of the step.",
        }),
        missing: z
          .array(z.string())
          .readonly()
          .meta({ description: "Metrics of progress that the attempt would have to report." }),
        otherRuns: count.meta({
          description: "Number of other measured runs of its kind on which the expectation is based.",
        }),
      })
      .nullable()
      .meta({
        description:
          "Comparison with the expectation; `null`: the run is not more than 15% slower than expected for its kind.",
      }),
  })
  .meta({ id: "MeasuredRun" });

export const workloadPredictions = z
  .object({
    items: z.array(measuredRun).readonly().meta({ description: "Attempts, newest first, at most 100." }),
    unpredicted: z
      .string()
      .nullable()
      .meta({ description: "Why there is no prediction: no model is named, or the model has no answer." }),
  })
  .meta({ id: "WorkloadPredictions" });

export const fleetPredictions = z
  .object({
    correction: fleetCorrection,
    kinds: z
      .array(
        z.object({
          acceleratorType: z.string(),
          family,
          runCount: count,
          factor: z.number().meta({ description: "Factor by which predictions of this kind are multiplied." }),
          uncorrectedBias: z.number().meta({ description: "Mean of measured over predicted, less one." }),
          correctedBias: z.number().meta({
            description:
              "Mean of measured over corrected prediction, less one; each run is corrected by the other runs.",
          }),
          uncorrectedError: z.number().meta({ description: "Mean absolute error of predictions." }),
          correctedError: z.number(),
        }),
      )
      .readonly(),
    runs: z.array(measuredRun).readonly().meta({ description: "The newest measured runs, at most 200." }),
  })
  .meta({ id: "FleetPredictions" });

export type WorkloadModel = z.output<typeof workloadModel>;
export type WorkloadModelInput = z.input<typeof workloadModel>;
export type MeasuredRun = z.output<typeof measuredRun>;
export type WorkloadPredictions = z.output<typeof workloadPredictions>;
export type FleetPredictions = z.output<typeof fleetPredictions>;
