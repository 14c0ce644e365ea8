import type { Accelerator } from "../catalogue/accelerator.ts";
import type { ModelArchitecture } from "../catalogue/model.ts";
import { bytesPerElement } from "../catalogue/number-format.ts";
import { activationBytes } from "./quantization.ts";
import type { ServingFormats } from "./quantization.ts";
import { servedShape } from "./served-shape.ts";
import type { ServedShape } from "./served-shape.ts";

/** How one copy of the model is laid over accelerators. */
export interface ServingLayout {
  /** Accelerators that share every matrix of a layer. */
  readonly tensor: number;
  readonly pipeline: number;
  /** Ranks that each attend to their own requests while they share the experts ("attention data parallelism"). */
  readonly attentionData: number;
  /** Accelerators that hold different experts; 1 where every expert is cut by tensor parallelism. */
  readonly expert: number;
}

/** Software that runs the model. */
export interface ServingEngine {
  /** Decoding steps are captured and replayed as one graph; engines before 2024 launched every kernel. */
  readonly isGraphCaptured: boolean;
  /** Kernels fused by a compiler for the model (TensorRT-LLM), not PyTorch's one by one. */
  readonly isKernelFused: boolean;
  /** Prompt tokens ride in decoding steps; otherwise decoding stops while prompts are computed. */
  readonly isPromptMixed: boolean;
  /** Prompt tokens that one step takes in at most (chunked prefill). */
  readonly stepTokensMax: number;
  /** Sequences that an engine runs at once at most, over all of its ranks. */
  readonly sequencesMax: number;
  /** Share of the accelerator's memory that the engine may fill. */
  readonly memoryShare: number;
}

/** Defaults of today's engines: vLLM V1, TensorRT-LLM 1.x and SGLang all chunk at 8,192 tokens and fill about 90%. */
export const currentEngine: ServingEngine = {
  isGraphCaptured: true,
  isKernelFused: false,
  isPromptMixed: true,
  stepTokensMax: 8192,
  sequencesMax: 2048,
  memoryShare: 0.9,
};

/** One copy of a model on accelerators, ready to be asked what it does. */
export interface Replica {
  readonly model: ModelArchitecture;
  readonly accelerator: Accelerator;
  readonly formats: ServingFormats;
  readonly layout: ServingLayout;
  readonly engine: ServingEngine;
}

export interface BuiltReplica extends Replica {
  readonly shape: ServedShape;
}

export function buildReplica(replica: Replica): BuiltReplica {
  return { ...replica, shape: servedShape(replica.model) };
}

export function acceleratorCount(layout: ServingLayout): number {
  return layout.tensor * layout.pipeline * layout.attentionData;
}

/** Bytes of weights on one accelerator: attention is copied over attention-data ranks, experts never are. */
export function weightBytesPerAccelerator(replica: BuiltReplica): number {
  const { shape, layout, formats } = replica;
  const linear = bytesPerElement(formats.linear);
  const shared = (shape.attentionParameters + shape.feedForwardParameters) * linear;
  const tables = (shape.headParameters + shape.embeddingParameters) * activationBytes;
  const experts = shape.expertLayerCount * shape.expertCount * shape.oneExpertParameters;
  const perStage = layout.pipeline * layout.tensor;
  const expertBytes = (experts * bytesPerElement(formats.experts)) / (perStage * layout.attentionData);
  return (shared + tables) / perStage + expertBytes;
}
