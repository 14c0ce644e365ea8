import { deriveCalibration } from "../calibration/derive.ts";
import { readProfile } from "../calibration/profile.ts";
import type { Accelerator } from "../catalogue/accelerator.ts";
import type { AcceleratorCalibration } from "../catalogue/calibration.ts";
import { nonBlockingFabric, type Fabric } from "../catalogue/fabric.ts";
import type { ModelArchitecture } from "../catalogue/model.ts";
import type { NodeShape } from "../catalogue/node.ts";
import { usualCluster } from "../catalogue/nodes.ts";
import type { NumberFormat } from "../catalogue/number-format.ts";
import type { FleetCorrection } from "../correction/fleet-correction.ts";
import { fabricCounts, fabricOf, fabricRequest } from "../network/fabric-counts.ts";
import type { FabricRequest } from "../network/fabric-request.ts";
import type { StorageTier } from "../storage/axes.ts";
import {
  mixedPrecision,
  type ParallelPlan,
  type SoftwareStack,
  type TrainingJob,
  type TrainingSystem,
} from "../training/job.ts";
import { chosenFormat, type FormatChoice } from "./training-format.ts";
import {
  impossible,
  isImpossible,
  otherDevice,
  resolveAccelerator,
  resolveFabric,
  resolveModel,
  stated,
  type Given,
  type Impossible,
  type ModelChoice,
} from "./resolve.ts";

/** A training run on a part of a fleet. Values of absent fields are chosen. */
export interface TrainingSizing {
  readonly model: ModelChoice;
  readonly accelerator: string;
  /** A parsed file with accelerators that are not in the catalogue. */
  readonly catalogue?: unknown;
  readonly acceleratorCount: number;
  readonly acceleratorsPerNode?: number | undefined;
  readonly nodeNetworkGbPerS?: number | undefined;
  /** The network between nodes. If absent, it is non-blocking. */
  readonly fabric?: Given<Omit<FabricRequest, "nodeCount">> | undefined;
  readonly sequenceLength: number;
  /** Name of a fabric in the user's catalogue file. It replaces the ratios of `fabric`. */
  readonly fabricName?: string | undefined;
  /** Number of sequences per optimizer step. */
  readonly globalBatch: number;
  /** Number of tokens of the whole run. */
  readonly tokens?: number | undefined;
  readonly method: { readonly kind: "full" } | { readonly kind: "lora"; readonly rank: number };
  /**
   * Number format of the operands of the linear layers. If absent, it is the format in which the model was trained, if
   * accelerator and stack have this format; otherwise bf16, or fp16 on accelerators without bf16.
   */
  readonly format?: NumberFormat | undefined;
  /** Software stack. If absent: `compiled` (JAX) on TPUs, `fused` (Megatron) on other accelerators. */
  readonly stack?: SoftwareStack | undefined;
  readonly plan?: Given<ParallelPlan> | undefined;
  readonly profile?: unknown;
  /**
   * Correction from the fleet's runs. The accelerator types in it have their catalogue names. `null` means no
   * correction.
   */
  readonly correction?: FleetCorrection | null | undefined;
  readonly pricePerAcceleratorHour: number;
  readonly perThousandNodeDays?: number | undefined;
  readonly restartSeconds: number;
  /** How the run is compared with other sizes: `strong` keeps the batch, `weak` lets the batch grow with the size. */
  readonly scaling: "strong" | "weak";
  /** Sizes to compare. If absent, halvings and doublings of the requested size. */
  readonly scalingCounts?: readonly number[] | undefined;
  /**
   * Whether plans that trade time for memory and cost are searched too. This takes longer than a search for only the
   * best plan.
   */
  readonly alternatives?: boolean | undefined;
  readonly checkpointOverlapped: boolean;
  /** Rate in GB/s at which storage takes a checkpoint from this job. */
  readonly checkpointGbPerS: number;
  readonly tiers: readonly StorageTier[];
}

/** A question with its named entries (model, accelerator, fabric) looked up. */
export interface TrainingSetting {
  readonly question: TrainingSizing;
  readonly model: ModelArchitecture;
  readonly job: TrainingJob;
  readonly system: TrainingSystem;
  readonly format: FormatChoice;
}

export function settingOf(question: TrainingSizing): TrainingSetting | Impossible {
  const model = resolveModel(question.model);
  if (isImpossible(model)) return model;
  const accelerator = resolveAccelerator(question.accelerator, question.catalogue);
  if (isImpossible(accelerator)) return accelerator;
  if (accelerator.denseTflops.bf16 === undefined) {
    return impossible(`the 16-bit rate of ${accelerator.name} is not known`, "an accelerator with 16-bit matrix units");
  }
  const node = nodeOf(question, accelerator);
  const nodeCount = Math.ceil(question.acceleratorCount / node.acceleratorCount);
  const fabric = fabricFor(question, nodeCount);
  if (isImpossible(fabric)) return fabric;
  const calibration = calibrationOf(question.profile, accelerator);
  if (calibration !== undefined && "reason" in calibration) return calibration;
  const stack = question.stack ?? usualStack(accelerator);
  const format = chosenFormat(question, accelerator, stack);
  const job: TrainingJob = {
    model,
    sequenceLength: question.sequenceLength,
    globalBatch: question.globalBatch,
    method: question.method,
    precision: mixedPrecision(format.linear),
    software: { stack, attention: "flash" },
  };
  const cluster = { node, nodeCount, fabric };
  const system = calibration === undefined ? { cluster } : { cluster, calibration };
  return { question, model, job, system, format };
}

/** The software stack with which most users of an accelerator train. */
function usualStack(accelerator: Accelerator): SoftwareStack {
  return accelerator.scaleUp.kind === "torus" ? "compiled" : "fused";
}

function fabricFor(question: TrainingSizing, nodeCount: number): Fabric | Impossible {
  if (question.fabricName !== undefined) return resolveFabric(question.fabricName, question.catalogue);
  if (question.fabric === undefined) return nonBlockingFabric;
  const counts = fabricCounts(fabricRequest({ ...stated(question.fabric), nodeCount }));
  if (counts.kind === "impossible") return counts;
  return nodeCount === 1 ? nonBlockingFabric : fabricOf(counts);
}

function calibrationOf(
  profile: unknown,
  accelerator: Parameters<typeof deriveCalibration>[1],
): AcceleratorCalibration | Impossible | undefined {
  if (profile === undefined) return undefined;
  const reading = readProfile(profile);
  if (reading.kind === "refused") return impossible(reading.reason, "a profile that `headroom calibrate` wrote");
  const other = otherDevice(reading.profile, accelerator);
  return other ?? deriveCalibration(reading.profile, accelerator).training;
}

/**
 * The accelerator's usual server, with the number of accelerators and the network that the question states, if it
 * states them.
 */
function nodeOf(question: TrainingSizing, accelerator: Accelerator): NodeShape {
  const { node } = usualCluster(accelerator, question.acceleratorCount);
  const acceleratorCount = question.acceleratorsPerNode ?? node.acceleratorCount;
  const scaleOutGbPerS = question.nodeNetworkGbPerS ?? accelerator.scaleOutGbPerS * acceleratorCount;
  return { ...node, acceleratorCount, scaleOutGbPerS };
}
