/**
 * A number that is fitted to measurements. The training model and the inference model together have at most 45 such
 * numbers; everything else comes from datasheets, architectures and formulas. No number is specific to a source of
 * measurements or to one accelerator.
 */
export interface FittedConstant {
  readonly value: number;
  readonly unit: string;
  /** Physically possible range of the value. The fitting commands stay inside this range. */
  readonly range: readonly [low: number, high: number];
  readonly meaning: string;
  /**
   * Value before any measurement. A fit starts with this value and keeps it if the constant affects no measured row.
   */
  readonly prior?: number;
}

/** Constants of the training model. `npm run validate:training -- FILE.csv --refit` fits them again. */
export type TrainingConstantName =
  | "matmulShare"
  | "matmulShareFp8"
  | "matmulShareFp4"
  | "tflopsPerWatt"
  | "narrowPower"
  | "attentionShare"
  | "attentionTflopsEager"
  | "unfusedPasses"
  | "elementPasses"
  | "routingPasses"
  | "launchUs"
  | "scaleUpShare"
  | "scaleOutShare"
  | "exchangeExposed"
  | "expertExposed"
  | "dataOverlap"
  | "overlapSlowdown"
  | "jitter";

export const trainingConstants: Readonly<Record<TrainingConstantName, FittedConstant>> = {
  matmulShare: {
    value: 0.904,
    prior: 0.85,
    range: [0.6, 1],
    unit: "share of the best measured product",
    meaning: "Rate of 16-bit linear layers, without the traffic of their operands.",
  },
  matmulShareFp8: {
    value: 0.882,
    prior: 0.8,
    range: [0.5, 1],
    unit: "share of the best measured product",
    meaning: "Rate of 8-bit linear layers, without the traffic of their operands.",
  },
  matmulShareFp4: {
    value: 0.738,
    prior: 0.7,
    range: [0.3, 1],
    unit: "share of the best measured product",
    meaning: "Rate of 4-bit linear layers, without the traffic of their operands.",
  },
  tflopsPerWatt: {
    value: 1.14,
    prior: 1.2,
    range: [0.8, 2.5],
    unit: "TFLOP/s per watt of the board",
    meaning: "Best 16-bit product that a board's power sustains, before shares.",
  },
  narrowPower: {
    value: 1.2,
    prior: 1.1,
    range: [0.8, 1.6],
    unit: "exponent",
    meaning: "How the energy of a product falls with the width of its operands.",
  },
  attentionShare: {
    value: 0.673,
    prior: 0.6,
    range: [0.2, 1],
    unit: "share of the best measured product",
    meaning: "Rate of the products of fused attention.",
  },
  attentionTflopsEager: {
    value: 37.9,
    prior: 60,
    range: [15, 250],
    unit: "TFLOP/s",
    meaning:
      "Rate of attention with kernels of an earlier accelerator generation: the model uses the geometric mean of this and the best product.",
  },
  unfusedPasses: {
    value: 6.57,
    prior: 5,
    range: [2, 15],
    unit: "passes over the attention matrix",
    meaning: "Softmax, mask and dropout where attention is materialised.",
  },
  elementPasses: {
    value: 1.67,
    prior: 1,
    range: [0.3, 4],
    unit: "passes over the activations",
    meaning: "Element-wise work, relative to reading and writing each tensor once.",
  },
  routingPasses: {
    value: 11.4,
    prior: 6,
    range: [1, 30],
    unit: "passes over the routed tokens",
    meaning: "Permuting tokens to their experts and back, padding and weighting.",
  },
  launchUs: {
    value: 14.2,
    prior: 8,
    range: [2, 40],
    unit: "µs per kernel",
    meaning: "Host time per kernel, including synchronisation with the host.",
  },
  scaleUpShare: {
    value: 0.665,
    prior: 0.75,
    range: [0.3, 1],
    unit: "share of the link",
    meaning: "Bandwidth of large collectives inside a scale-up domain.",
  },
  scaleOutShare: {
    value: 0.803,
    prior: 0.7,
    range: [0.2, 1],
    unit: "share of the link",
    meaning: "Bandwidth of large collectives between nodes.",
  },
  exchangeExposed: {
    value: 0.446,
    prior: 0.6,
    range: [0.05, 1],
    unit: "share of the time",
    meaning: "Exchange among tensor ranks and between stages that is not hidden behind products.",
  },
  expertExposed: {
    value: 0.869,
    prior: 0.8,
    range: [0.1, 1],
    unit: "share of the time",
    meaning: "Exchange of routed tokens that is not hidden.",
  },
  dataOverlap: {
    value: 0.703,
    prior: 0.7,
    range: [0, 1],
    unit: "share of the window",
    meaning: "Share of the compute that can hide the transfer of gradients and weights.",
  },
  overlapSlowdown: {
    value: 0.253,
    prior: 0.15,
    range: [0, 1],
    unit: "share of the hidden time",
    meaning: "Slowdown of compute by communication that runs beside it and shares its units and memory.",
  },
  jitter: {
    value: 0.00477,
    prior: 0.01,
    range: [0, 0.05],
    unit: "σ of a step",
    meaning: "Noise of one node; the slowest of n nodes waits for σ√(2 ln n).",
  },
};

export type TrainingConstants = Readonly<Record<TrainingConstantName, number>>;

const trainingNames = Object.keys(trainingConstants) as TrainingConstantName[];
const fittedValues: TrainingConstants = trainingConstantsOf((name) => trainingConstants[name].value);

/** A set of constants, with one value for each name. */
export function trainingConstantsOf(valueOf: (name: TrainingConstantName) => number): TrainingConstants {
  const entries = trainingNames.map((name) => [name, valueOf(name)] as const);
  return Object.fromEntries(entries) as Record<TrainingConstantName, number>;
}

/** The fitted values without their descriptions, in the form in which the formulas use them. */
export function trainingConstantValues(): TrainingConstants {
  return fittedValues;
}

/**
 * Constants of the memory model. They are fitted to peaks that allocators reported, and to whether measured runs fitted
 * into memory.
 */
export type MemoryConstantName = "runtimeGib" | "reservedFactor" | "memorySpread";

export const memoryConstants: Readonly<Record<MemoryConstantName, FittedConstant>> = {
  runtimeGib: {
    value: 0.37,
    prior: 0.5,
    range: [0, 4],
    unit: "GiB",
    meaning: "Workspaces of matrix products and small tensors inside the allocator.",
  },
  reservedFactor: {
    value: 1.03,
    prior: 1.05,
    range: [1, 1.3],
    unit: "times the tensors",
    meaning: "Memory that an allocator holds beyond the peak of its tensors (fragmentation).",
  },
  memorySpread: {
    value: 0.08,
    prior: 0.1,
    range: [0.02, 0.3],
    unit: "σ, log",
    meaning: "Error of the memory estimate: sets how steeply the probability of running out of memory rises.",
  },
};

export type MemoryConstants = Readonly<Record<MemoryConstantName, number>>;

const fittedMemory: MemoryConstants = {
  runtimeGib: memoryConstants.runtimeGib.value,
  reservedFactor: memoryConstants.reservedFactor.value,
  memorySpread: memoryConstants.memorySpread.value,
};

export function memoryConstantValues(): MemoryConstants {
  return fittedMemory;
}

/** Width of the training model's 80% interval. The unit is the natural logarithm of the step time. */
export const intervalConstants: Readonly<Record<"spread" | "doubt" | "distance", FittedConstant>> = {
  spread: {
    value: 0.06,
    range: [0.02, 0.3],
    unit: "half-width, log",
    meaning: "Width for a run like a measured one: equal configurations differ by 5.6% between publications.",
  },
  doubt: {
    value: 0.5,
    range: [0, 1.5],
    unit: "half-width per share of the step",
    meaning: "Extra width for the share of a step that is exchange, waiting, routing and launching.",
  },
  distance: {
    value: 0.12,
    range: [0, 0.5],
    unit: "half-width per point of distance",
    meaning:
      "Extra width for a run that differs from all measured runs in machine, framework, family, precision or scale.",
  },
};
