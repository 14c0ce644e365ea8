import type { FittedConstant } from "./constants.ts";

export type InferenceConstantName =
  | "kvReadEfficiency"
  | "matmulEfficiency"
  | "narrowFormatDiscount"
  | "groupedMatmulEfficiency"
  | "layerFloorUs"
  | "expertLayerFloorUs"
  | "eagerLayerUs"
  | "eagerHostFactor"
  | "eagerLinkShare"
  | "attentionRankSkew"
  | "collectiveLatencyUs"
  | "linkEfficiency"
  | "hostStepUs"
  | "hostSequenceUs"
  | "fusedKernelShare"
  | "expertChoiceExponent"
  | "requestOverheadMs"
  | "relayedSteps"
  | "neighbourPrompts"
  | "stepSpread"
  | "firstTokenSpread";

/**
 * The fitted constants of the inference model. `npm run validate:inference -- FILE.csv --refit` fits them. The fit
 * minimises the macro average of the error over groups of sources; no constant is specific to a source of measurements
 * or to an accelerator. A fit starts in the middle of each range. A constant that affects no measured row stays there.
 */
export const inferenceConstants: Readonly<Record<InferenceConstantName, FittedConstant>> = {
  kvReadEfficiency: {
    value: 0.887,
    unit: "share of the memory bandwidth",
    range: [0.3, 1],
    meaning: "Rate at which attention streams the KV cache of a decoding batch.",
  },
  matmulEfficiency: {
    value: 0.784,
    unit: "share of the best measured product",
    range: [0.5, 1.1],
    meaning: "Rate of large 16-bit matrix products in real layers.",
  },
  narrowFormatDiscount: {
    value: 0.189,
    unit: "exponent",
    range: [0, 0.6],
    meaning:
      "Narrower formats reach less of their peak: arithmetic times (16-bit peak / peak) to this power, reading times (bytes / 2) to it.",
  },
  groupedMatmulEfficiency: {
    value: 0.627,
    unit: "share of the rate of a dense product",
    range: [0.2, 1],
    meaning: "Rate of the products of routed experts, which are small and uneven, relative to dense ones.",
  },
  layerFloorUs: {
    value: 26.7,
    unit: "µs per layer",
    range: [4, 80],
    meaning: "Minimum time of a layer: dependent small kernels inside a captured graph.",
  },
  expertLayerFloorUs: {
    value: 56.8,
    unit: "µs per layer with experts",
    range: [0, 120],
    meaning: "Routing, permutation and the extra kernels of a layer with experts, on top of the floor of a layer.",
  },
  eagerLayerUs: {
    value: 252,
    unit: "µs per layer",
    range: [60, 500],
    meaning: "Host time to launch a layer's kernels one by one, in engines without captured graphs.",
  },
  eagerHostFactor: {
    value: 13.7,
    unit: "factor",
    range: [1, 20],
    meaning:
      "Host work per step and sequence of engines without captured graphs (before 2024), relative to current engines.",
  },
  eagerLinkShare: {
    value: 0.276,
    unit: "share",
    range: [0.1, 0.6],
    meaning: "Rate of collectives in engines without captured graphs, relative to current engines.",
  },
  attentionRankSkew: {
    value: 0.558,
    unit: "share",
    range: [0, 1],
    meaning: "Extra work of the busiest attention-data rank above the mean; all ranks wait for it before the experts.",
  },
  collectiveLatencyUs: {
    value: 14.8,
    unit: "µs per collective",
    range: [2, 40],
    meaning: "Latency of one small all-reduce or exchange within a scale-up domain.",
  },
  linkEfficiency: {
    value: 0.744,
    unit: "share of the link's bandwidth",
    range: [0.15, 0.95],
    meaning: "Rate of the collectives of a forward pass on their link.",
  },
  hostStepUs: {
    value: 686,
    unit: "µs per engine step",
    range: [50, 6000],
    meaning: "Scheduling, input preparation and sampling that the accelerator waits for in every step.",
  },
  hostSequenceUs: {
    value: 20,
    unit: "µs per sequence and step",
    range: [0, 60],
    meaning: "Host work per running sequence and step: sampling, detokenisation, block tables.",
  },
  fusedKernelShare: {
    value: 0.642,
    unit: "share",
    range: [0.3, 1],
    meaning:
      "Minimum time of a layer in an engine with compiled fused kernels (TensorRT-LLM), relative to an engine with PyTorch kernels.",
  },
  expertChoiceExponent: {
    value: 0.888,
    unit: "exponent",
    range: [0.6, 1],
    meaning:
      "n tokens of a step choose as many different experts as n to this power random tokens would: similar tokens choose the same experts.",
  },
  requestOverheadMs: {
    value: 46.6,
    unit: "ms",
    range: [0, 120],
    meaning:
      "Time outside the engine on the way to the first token: HTTP, tokenisation, messages between processes, the first write.",
  },
  relayedSteps: {
    value: 2.53,
    unit: "steps",
    range: [0, 10],
    meaning:
      "Further steps until the first token on servers whose engine hands requests and tokens to further processes (SGLang, TensorRT-LLM).",
  },
  neighbourPrompts: {
    value: 1.61,
    unit: "prompts",
    range: [0, 3],
    meaning:
      "Prompts of other requests in the steps before and after a request's own prompt, if the requests of a closed loop end together.",
  },
  stepSpread: {
    value: 0.09,
    unit: "natural logarithm",
    range: [0.03, 0.6],
    meaning:
      "Half-width of the 80% interval of the time per token, per point of distance, fitted to left-out measurements.",
  },
  firstTokenSpread: {
    value: 0.24,
    unit: "natural logarithm",
    range: [0.05, 1.5],
    meaning: "Half-width of the 80% interval of the time to the first token, per point of distance.",
  },
};

export type InferenceConstants = Readonly<Record<InferenceConstantName, number>>;

/** Constants that affect only the time to the first token. They are fitted to that time, after all other constants. */
export const firstTokenConstants: readonly InferenceConstantName[] = [
  "requestOverheadMs",
  "relayedSteps",
  "neighbourPrompts",
];

/**
 * Time in ms before and after the engine in the serving simulator: HTTP, tokenisation, the first write. The simulator
 * computes every step, so the value is less than `requestOverheadMs`, which also contains delays within the engine.
 */
export const frontEndMs = 10;

/**
 * Constants that widen the interval without changing the prediction. They are fitted to rows that were left out of a
 * fit.
 */
export const spreadConstants: readonly InferenceConstantName[] = ["stepSpread", "firstTokenSpread"];

/** The values of the constants, in the form in which the model uses them. */
export const fittedInference: InferenceConstants = Object.fromEntries(
  Object.entries(inferenceConstants).map(([name, constant]) => [name, constant.value]),
) as Record<InferenceConstantName, number>;
