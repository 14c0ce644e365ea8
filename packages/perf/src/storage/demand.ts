/**
 * Storage demand of a job on three axes: capacity, throughput, and concurrency (number of clients at the same time and
 * files opened per second). Rates are in GB/s (10^9 bytes). The axes are kept apart, because a tier that is too small
 * on one axis cannot serve the job.
 */
export interface AxisDemand {
  readonly name: string;
  readonly capacityBytes: number;
  readonly readGbPerS: number;
  readonly writeGbPerS: number;
  /** Number of opens, stats and similar operations of metadata servers per second. */
  readonly operationsPerS: number;
  readonly clientCount: number;
  /** Share of time in which the demand exists. It is 1 for a steady stream, and small for checkpoints. */
  readonly dutyShare: number;
}

/**
 * Training data as a loader reads it, in the terms of MLPerf Storage: size of a sample, samples of a batch, compute
 * time for a batch.
 */
export interface DatasetReads {
  readonly acceleratorCount: number;
  readonly sampleBytes: number;
  readonly samplesPerFile: number;
  /** Number of samples per accelerator and step. */
  readonly batchSamples: number;
  readonly computeSeconds: number;
  /**
   * Minimum share of time in which accelerators must compute rather than wait for data (MLPerf's accelerator
   * utilisation AU: 0.9, for cosmoflow 0.7).
   */
  readonly utilisation: number;
  readonly readerThreads: number;
  readonly datasetBytes: number;
}

/**
 * Demand of a loader that keeps the accelerators busy for the required share of time. A batch must arrive within
 * computeSeconds ÷ utilisation (MLPerf Storage v2.0, accelerator utilisation = compute time ÷ total time).
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
 * Demand of text, which is small. A step of B sequences reads 4 bytes for each token (32-bit token ids), in shards of
 * many sequences.
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
 * Content of a checkpoint in bytes per parameter: 16-bit weights have 2 bytes, an fp32 master copy with Adam's two
 * moments 12 bytes, together 14 bytes.
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
  /** Number of checkpoints that are kept, in addition to the one that is being written. */
  readonly keptCount: number;
  readonly writerCount: number;
  /** Number of files that one writer writes in one checkpoint. */
  readonly filesPerWriter: number;
  readonly mode: CheckpointMode;
}

/**
 * How a checkpoint is written. `blocking`: the job stops until the checkpoint is written; the stop may take at most the
 * stall budget. `overlapped`: the job stops only while accelerators copy to host memory. The write may then take until
 * the next checkpoint is due.
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

/**
 * Seconds in which accelerators stop while each copies its part of the checkpoint to the host, at the rate of the host
 * link.
 */
export function hostCopySeconds(bytes: number, acceleratorCount: number, hostLinkGbPerS: number): number {
  return bytes / acceleratorCount / (hostLinkGbPerS * 1e9);
}

/**
 * Demand at a start or restart. Every process opens its libraries, every node reads its image, and all processes
 * together read the state.
 */
export interface StartStorm {
  readonly nodeCount: number;
  readonly processesPerNode: number;
  readonly imageBytesPerNode: number;
  readonly filesPerProcess: number;
  readonly stateBytes: number;
  /** Time in seconds within which image, libraries and state should be read. */
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
