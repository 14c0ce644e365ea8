/**
 * Storage demand of a job on three axes: capacity, throughput, and concurrency (clients at once and files opened per
 * second). Rates are in GB/s (10^9 bytes). A tier that fails a job on one axis fails it altogether, so the axes are
 * kept apart.
 */
export interface AxisDemand {
  readonly name: string;
  readonly capacityBytes: number;
  readonly readGbPerS: number;
  readonly writeGbPerS: number;
  /** Opens, stats and similar operations of metadata servers, per second. */
  readonly operationsPerS: number;
  readonly clientCount: number;
  /** Share of time for which the demand exists: 1 for a steady stream, little for a checkpoint. */
  readonly dutyShare: number;
}

/**
 * Training data as a loader reads it, in the terms of MLPerf Storage: size of a sample, batches, compute time per
 * batch.
 */
export interface DatasetReads {
  readonly acceleratorCount: number;
  readonly sampleBytes: number;
  readonly samplesPerFile: number;
  /** Number of samples per accelerator and step. */
  readonly batchSamples: number;
  readonly computeSeconds: number;
  /**
   * Minimum share of time that accelerators must compute rather than wait for data (MLPerf's AU: 0.9, cosmoflow 0.7).
   */
  readonly utilisation: number;
  readonly readerThreads: number;
  readonly datasetBytes: number;
}

/**
 * Demand that keeps the accelerators busy for the required share: a batch must arrive in computeSeconds ÷ utilisation
 * (MLPerf Storage v2.0, accelerator utilisation = compute time ÷ total time).
 */
export function datasetDemand(reads: DatasetReads): AxisDemand {
  const { acceleratorCount, sampleBytes, samplesPerFile, batchSamples, computeSeconds, utilisation } = reads;
  const samplesPerS = (acceleratorCount * batchSamples * utilisation) / computeSeconds;
  return {
    name: "dataset",
    capacityBytes: reads.datasetBytes,
    readGbPerS: (samplesPerS * sampleBytes) / 1e9,
    writeGbPerS: 0,
    operationsPerS: samplesPerS / samplesPerFile,
    clientCount: acceleratorCount * reads.readerThreads,
    dutyShare: 1,
  };
}

/**
 * Demand of text, which is small: a step of B sequences reads 4 bytes per token (32-bit token ids), in shards of many
 * sequences.
 */
export function tokenReads(step: {
  readonly acceleratorCount: number;
  readonly tokensPerStep: number;
  readonly stepSeconds: number;
  readonly datasetTokens: number;
}): DatasetReads {
  const bytesPerToken = 4;
  return {
    acceleratorCount: step.acceleratorCount,
    sampleBytes: bytesPerToken,
    samplesPerFile: 1e8,
    batchSamples: step.tokensPerStep / step.acceleratorCount,
    computeSeconds: step.stepSeconds,
    utilisation: 1,
    readerThreads: 1,
    datasetBytes: step.datasetTokens * bytesPerToken,
  };
}

/**
 * Content of a checkpoint per parameter: 16-bit weights and an fp32 master copy with Adam's two moments make 2 + 12 =
 * 14 bytes.
 */
export interface CheckpointContent {
  readonly parameterCount: number;
  readonly weightBytes: number;
  readonly optimizerBytes: number;
}

/**
 * Size of a checkpoint. MLPerf Storage v2.0 counts Llama 3 checkpoints the same way: 105, 911 and 5,288 GiB for 8B, 70B
 * and 405B.
 */
export function checkpointBytes(content: CheckpointContent): number {
  return content.parameterCount * (content.weightBytes + content.optimizerBytes);
}

export interface Checkpointing {
  readonly bytes: number;
  readonly intervalSeconds: number;
  /** Number of checkpoints that are kept, besides the one being written. */
  readonly keptCount: number;
  readonly writerCount: number;
  /** Number of files per writer and checkpoint. */
  readonly filesPerWriter: number;
  readonly mode: CheckpointMode;
}

/**
 * `blocking`: the job stops until the checkpoint is written, for at most the stall budget. `overlapped`: it stops while
 * accelerators copy to host memory, and the write may take until the next checkpoint is due.
 */
export type CheckpointMode =
  | { readonly kind: "blocking"; readonly stallSeconds: number }
  | { readonly kind: "overlapped" };

export function checkpointDemand(checkpointing: Checkpointing): AxisDemand {
  const { bytes, intervalSeconds, keptCount, writerCount, filesPerWriter, mode } = checkpointing;
  const writeSeconds = mode.kind === "blocking" ? mode.stallSeconds : intervalSeconds;
  return {
    name: "checkpoint",
    capacityBytes: bytes * (keptCount + 1),
    readGbPerS: 0,
    writeGbPerS: bytes / writeSeconds / 1e9,
    operationsPerS: (writerCount * filesPerWriter) / writeSeconds,
    clientCount: writerCount,
    dutyShare: Math.min(1, writeSeconds / intervalSeconds),
  };
}

/** Seconds for which every accelerator stops while its share is copied to the host, at the host link's rate. */
export function hostCopySeconds(bytes: number, acceleratorCount: number, hostLinkGbPerS: number): number {
  return bytes / acceleratorCount / (hostLinkGbPerS * 1e9);
}

/**
 * Demand at a start or restart: every process opens its libraries, every node reads its image, and all read the state.
 */
export interface StartStorm {
  readonly nodeCount: number;
  readonly processesPerNode: number;
  readonly imageBytesPerNode: number;
  readonly filesPerProcess: number;
  readonly stateBytes: number;
  /** Time in seconds within which all of it should be read. */
  readonly budgetSeconds: number;
  readonly startsPerDay: number;
}

export function startDemand(storm: StartStorm): AxisDemand {
  const { nodeCount, processesPerNode, imageBytesPerNode, filesPerProcess, stateBytes, budgetSeconds } = storm;
  const clientCount = nodeCount * processesPerNode;
  return {
    name: "start",
    capacityBytes: 0,
    readGbPerS: (nodeCount * imageBytesPerNode + stateBytes) / budgetSeconds / 1e9,
    writeGbPerS: 0,
    operationsPerS: (clientCount * filesPerProcess) / budgetSeconds,
    clientCount,
    dutyShare: Math.min(1, (storm.startsPerDay * budgetSeconds) / 86_400),
  };
}
