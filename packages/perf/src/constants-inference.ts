import type { FittedConstant } from "./constants.ts";

export type InferenceConstantName =
  | "kvReadEfficiency"
  | "matmulEfficiency"
  | "narrowFormatDiscount"
  | "groupedMatmulEfficiency"
  | "attentionEfficiency"
  | "layerFloorUs"
  | "expertLayerFloorUs"
  | "eagerLayerUs"
  | "collectiveLatencyUs"
  | "linkEfficiency"
  | "hostStepUs"
  | "hostSequenceUs"
  | "prefillInterference"
  | "kvReservedOutput"
  | "fusedKernelShare"
  | "frontEndMs"
  | "promptClump"
  | "denseSpread"
  | "expertSpread";

/**
 * The fitted constants of the inference model. Fitted by `npm run validate:inference -- FILE.csv --refit` on the macro
 * average over groups of sources; none belongs to a source of measurements or to an accelerator. A fit starts in the
 * middle of every range, and a constant of which no row speaks stays there.
 */
export const inferenceConstants: Readonly<Record<InferenceConstantName, FittedConstant>> = {
  kvReadEfficiency: {
    value: 0.858,
    unit: "share of the memory bandwidth",
    range: [0.3, 1],
    meaning: "Rate at which attention streams the KV cache of a decoding batch.",
  },
  matmulEfficiency: {
    value: 0.839,
    unit: "share of the best measured product",
    range: [0.5, 1.1],
    meaning: "Rate of large 16-bit matrix products in real layers.",
  },
  narrowFormatDiscount: {
    value: 0.322,
    unit: "exponent",
    range: [0, 0.6],
    meaning: "Products in narrower formats reach their peak less: efficiency times (16-bit peak / peak) to this power.",
  },
  groupedMatmulEfficiency: {
    value: 0.314,
    unit: "share of the rate of a dense product",
    range: [0.2, 1],
    meaning: "Products of routed experts, which are small and uneven, against dense ones.",
  },
  attentionEfficiency: {
    value: 0.601,
    unit: "share of the best measured 16-bit product",
    range: [0.2, 1.1],
    meaning: "Rate of fused attention over prompts and of absorbed latent attention.",
  },
  layerFloorUs: {
    value: 35.2,
    unit: "µs per layer",
    range: [4, 80],
    meaning: "What a layer costs with no work in it: dependent small kernels inside a captured graph.",
  },
  expertLayerFloorUs: {
    value: 43.3,
    unit: "µs per layer with experts",
    range: [0, 120],
    meaning: "Routing, permutation and the extra kernels of a layer with experts, on top of the floor of a layer.",
  },
  eagerLayerUs: {
    value: 348,
    unit: "µs per layer",
    range: [60, 500],
    meaning: "Host time to launch a layer's kernels one by one where the engine captures no graphs.",
  },
  collectiveLatencyUs: {
    value: 12,
    unit: "µs per collective",
    range: [2, 40],
    meaning: "Latency of one small all-reduce or exchange within a scale-up domain.",
  },
  linkEfficiency: {
    value: 0.626,
    unit: "share of the link's bandwidth",
    range: [0.15, 0.95],
    meaning: "Rate of the collectives of a forward pass on their link.",
  },
  hostStepUs: {
    value: 890,
    unit: "µs per engine step",
    range: [50, 6000],
    meaning: "Scheduling, input preparation and sampling that the accelerator waits for in every step.",
  },
  hostSequenceUs: {
    value: 23.8,
    unit: "µs per sequence and step",
    range: [0, 60],
    meaning: "Host work per running sequence and step: sampling, detokenisation, block tables.",
  },
  prefillInterference: {
    value: 0.951,
    unit: "share",
    range: [0.3, 1.3],
    meaning: "Share of the other requests' prompt time that a decoding request waits for when both share an engine.",
  },
  kvReservedOutput: {
    value: 0.811,
    unit: "share of the output",
    range: [0.3, 1],
    meaning:
      "Output tokens for which the cache is occupied when the engine is full, on average over the running requests.",
  },
  fusedKernelShare: {
    value: 0.725,
    unit: "share",
    range: [0.3, 1],
    meaning:
      "Floor of a layer in an engine that compiles fused kernels (TensorRT-LLM), against one that runs PyTorch's.",
  },
  frontEndMs: {
    value: 100,
    unit: "ms per request",
    range: [2, 100],
    meaning:
      "Before and after the engine, on the way to the first token: HTTP, tokenisation, scheduling, the first write.",
  },
  promptClump: {
    value: 0.148,
    unit: "share of the running requests",
    range: [0, 1],
    meaning:
      "Requests that start together in a closed loop: they ended together, so their prompts wait for each other.",
  },
  denseSpread: {
    value: 0.206,
    unit: "natural logarithm",
    range: [0.05, 0.6],
    meaning: "Distance from the prediction within which four of five left-out measurements of dense models lie.",
  },
  expertSpread: {
    value: 0.279,
    unit: "natural logarithm",
    range: [0.05, 0.9],
    meaning: "The same for mixtures of experts.",
  },
};

export type InferenceConstants = Readonly<Record<InferenceConstantName, number>>;

/** Constants that only the time to the first token knows: they are fitted after the others, to that time. */
export const firstTokenConstants: readonly InferenceConstantName[] = ["frontEndMs", "promptClump"];

/** Constants that widen the interval and do not move the prediction: they follow from what is left out of a fit. */
export const spreadConstants: readonly InferenceConstantName[] = ["denseSpread", "expertSpread"];

/** The constants' values, as the model takes them. */
export const fittedInference: InferenceConstants = Object.fromEntries(
  Object.entries(inferenceConstants).map(([name, constant]) => [name, constant.value]),
) as Record<InferenceConstantName, number>;
