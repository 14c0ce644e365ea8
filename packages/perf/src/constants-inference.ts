import type { FittedConstant } from "./constants.ts";

export type InferenceConstantName =
  | "weightReadEfficiency"
  | "kvReadEfficiency"
  | "matmulEfficiency"
  | "narrowFormatDiscount"
  | "groupedMatmulEfficiency"
  | "roofSharpness"
  | "attentionEfficiency"
  | "layerFloorUs"
  | "expertLayerFloorUs"
  | "eagerLayerUs"
  | "collectiveLatencyUs"
  | "linkEfficiency"
  | "hostStepUs"
  | "hostSequenceUs"
  | "prefillInterference"
  | "kvReservedOutput";

/**
 * The fitted constants of the inference model. Fitted by `npm run validate:inference -- FILE.csv --refit` on the macro
 * average over groups of sources; none belongs to a source of measurements or to an accelerator.
 */
export const inferenceConstants: Readonly<Record<InferenceConstantName, FittedConstant>> = {
  weightReadEfficiency: {
    value: 0.8,
    unit: "share of the memory bandwidth",
    range: [0.5, 1],
    meaning: "Rate at which matrix products with few tokens stream their weights.",
  },
  kvReadEfficiency: {
    value: 0.7,
    unit: "share of the memory bandwidth",
    range: [0.3, 1],
    meaning: "Rate at which attention streams the KV cache of a decoding batch.",
  },
  matmulEfficiency: {
    value: 0.7,
    unit: "share of the 16-bit dense peak",
    range: [0.4, 0.95],
    meaning: "Rate of large 16-bit matrix products in real layers.",
  },
  narrowFormatDiscount: {
    value: 0.15,
    unit: "exponent",
    range: [0, 0.6],
    meaning: "Products in narrower formats reach their peak less: efficiency times (16-bit peak / peak) to this power.",
  },
  groupedMatmulEfficiency: {
    value: 0.6,
    unit: "share of the rate of a dense product",
    range: [0.2, 1],
    meaning: "Products of routed experts, which are small and uneven, against dense ones.",
  },
  roofSharpness: {
    value: 2,
    unit: "exponent",
    range: [1, 8],
    meaning: "How sharply arithmetic and memory hide each other: 1 adds the two times, infinity takes the longer one.",
  },
  attentionEfficiency: {
    value: 0.5,
    unit: "share of the 16-bit dense peak",
    range: [0.15, 0.9],
    meaning: "Rate of fused attention over prompts and of absorbed latent attention.",
  },
  layerFloorUs: {
    value: 20,
    unit: "µs per layer",
    range: [4, 80],
    meaning: "What a layer costs with no work in it: dependent small kernels inside a captured graph.",
  },
  expertLayerFloorUs: {
    value: 20,
    unit: "µs per layer with experts",
    range: [0, 120],
    meaning: "Routing, permutation and the extra kernels of a layer with experts, on top of the floor of a layer.",
  },
  eagerLayerUs: {
    value: 200,
    unit: "µs per layer",
    range: [60, 500],
    meaning: "Host time to launch a layer's kernels one by one where the engine captures no graphs.",
  },
  collectiveLatencyUs: {
    value: 8,
    unit: "µs per collective",
    range: [2, 40],
    meaning: "Latency of one small all-reduce or exchange within a scale-up domain.",
  },
  linkEfficiency: {
    value: 0.6,
    unit: "share of the link's bandwidth",
    range: [0.15, 0.95],
    meaning: "Rate of the collectives of a forward pass on their link.",
  },
  hostStepUs: {
    value: 1000,
    unit: "µs per engine step",
    range: [50, 6000],
    meaning: "Scheduling, input preparation and sampling that the accelerator waits for in every step.",
  },
  hostSequenceUs: {
    value: 10,
    unit: "µs per sequence and step",
    range: [0, 60],
    meaning: "Host work per running sequence and step: sampling, detokenisation, block tables.",
  },
  prefillInterference: {
    value: 0.9,
    unit: "share",
    range: [0.3, 1.3],
    meaning: "Share of the other requests' prompt time that a decoding request waits for when both share an engine.",
  },
  kvReservedOutput: {
    value: 0.7,
    unit: "share of the output",
    range: [0.3, 1],
    meaning:
      "Output tokens for which the cache is occupied when the engine is full, on average over the running requests.",
  },
};

export type InferenceConstants = Readonly<Record<InferenceConstantName, number>>;

/** The constants' values, as the model takes them. */
export const fittedInference: InferenceConstants = Object.fromEntries(
  Object.entries(inferenceConstants).map(([name, constant]) => [name, constant.value]),
) as Record<InferenceConstantName, number>;
