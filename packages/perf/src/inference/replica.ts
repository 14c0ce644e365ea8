import type { Accelerator } from "../catalogue/accelerator.ts";
import type { ModelArchitecture } from "../catalogue/model.ts";
import { bytesPerElement } from "../catalogue/number-format.ts";
import { activationBytes } from "./quantization.ts";
import type { ServingFormats } from "./quantization.ts";
import { servedShape } from "./served-shape.ts";
import type { ServedShape } from "./served-shape.ts";

/** Layout of one copy of the model on accelerators. */
export interface ServingLayout {
  /** Number of accelerators that share every matrix of a layer. */
  readonly tensor: number;
  readonly pipeline: number;
  /**
   * Number of ranks that each compute attention for their own requests and share the experts ("attention data
   * parallelism").
   */
  readonly attentionData: number;
  /** Number of accelerators among which whole experts are divided. 1 if tensor parallelism splits every expert. */
  readonly expert: number;
}

/** Software that runs the model. */
export interface ServingEngine {
  /** If true, decoding steps are captured and replayed as one graph. Engines before 2024 launched every kernel. */
  readonly isGraphCaptured: boolean;
  /** If true, a compiler fuses kernels for the model (TensorRT-LLM). If false, PyTorch's kernels run one by one. */
  readonly isKernelFused: boolean;
  /** If true, prompt tokens share steps with decoding. If false, decoding stops while prompts are computed. */
  readonly isPromptMixed: boolean;
  /**
   * If true, requests and tokens pass through more processes besides the engine's (SGLang's detokenizer, TensorRT-LLM's
   * proxy).
   */
  readonly isRelayed: boolean;
  /** Maximum number of prompt tokens of one step (chunked prefill). */
  readonly stepTokensMax: number;
  /** Maximum number of sequences that an engine runs at once, over all of its ranks. */
  readonly sequencesMax: number;
  /** Share of the accelerator's memory that the engine may fill. */
  readonly memoryShare: number;
}

/**
 * Defaults of current engines: vLLM V1, TensorRT-LLM 1.x and SGLang all chunk at 8,192 tokens and fill about 90% of the
 * memory.
 */
export const currentEngine: ServingEngine = {
  isGraphCaptured: true,
  isKernelFused: false,
  isPromptMixed: true,
  isRelayed: false,
  stepTokensMax: 8192,
  sequencesMax: 2048,
  memoryShare: 0.9,
};

/** One copy of a model on accelerators. It is the input of the predictions. */
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

/**
 * Bytes of weights on one accelerator. Each attention-data rank has its own copy of the attention weights; experts are
 * never copied.
 */
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
