import { scaledToNode, findFailureRecord } from "../failures/rates.ts";
import { checkpointBytes, hostCopySeconds, tokenReads } from "../storage/demand.ts";
import type { ParallelPlan } from "../training/job.ts";
import { parametersPerRank } from "../training/parameters.ts";
import { sizeFailures, type FailureReport } from "./failures.ts";
import { sizeStorage, type StorageReport } from "./storage.ts";
import type { TrainingSetting } from "./training-setting.ts";

/** A plan without parallelism. With it, functions that count parameters on one rank count the whole model. */
const undivided: ParallelPlan = {
  tensor: 1,
  pipeline: 1,
  context: 1,
  data: 1,
  expert: 1,
  virtualStages: 1,
  schedule: "1f1b",
  microBatch: 1,
  sequenceParallel: false,
  zeroStage: 0,
  shardCount: 1,
  recomputation: "none",
};

/** Bytes of a checkpoint. It contains the trained weights and their optimizer state, but not frozen weights. */
function checkpointSize({ job }: TrainingSetting): number {
  const parameterCount = parametersPerRank(job, undivided).trained;
  return checkpointBytes({ parameterCount, weightBytes: 2, optimizerBytes: 12 });
}

export function failuresOf(setting: TrainingSetting): FailureReport {
  const { question, system } = setting;
  const { node, nodeCount } = system.cluster;
  const bytes = checkpointSize(setting);
  const stallSeconds = question.checkpointOverlapped
    ? hostCopySeconds(bytes, question.acceleratorCount, node.hostLinkGbPerS)
    : bytes / (question.checkpointGbPerS * 1e9);
  const record = findFailureRecord("llama3-h100");
  const published = record === undefined ? 3.79 : scaledToNode(record, node.acceleratorCount);
  return sizeFailures({
    nodeCount,
    acceleratorsPerNode: node.acceleratorCount,
    perThousandNodeDays: question.perThousandNodeDays ?? published,
    otherPerDay: 0,
    restartSeconds: question.restartSeconds,
    stallSeconds: Math.max(stallSeconds, 0.1),
    stragglerShare: 0,
    repairHours: 24,
    spareCoverage: 0.99,
    burstiness: 1,
    domains: [{ name: "node", nodeCount: 1 }],
  });
}

export function storageOf(setting: TrainingSetting, stepSeconds: number, intervalSeconds: number): StorageReport {
  const { question, job, system } = setting;
  const { acceleratorCount } = question;
  const bytes = checkpointSize(setting);
  const stallSeconds = bytes / (question.checkpointGbPerS * 1e9);
  const tokensPerStep = job.globalBatch * job.sequenceLength;
  const { nodeCount, node } = system.cluster;
  return sizeStorage(
    {
      datasets: [tokenReads({ acceleratorCount, tokensPerStep, stepSeconds, datasetTokens: question.tokens ?? 0 })],
      checkpoints: [
        {
          bytes,
          intervalSeconds,
          keptCount: 2,
          writerCount: acceleratorCount,
          filesPerWriter: 1,
          mode: question.checkpointOverlapped ? { kind: "overlapped" } : { kind: "blocking", stallSeconds },
        },
      ],
      starts: [
        {
          nodeCount,
          processesPerNode: node.acceleratorCount,
          imageBytesPerNode: 20e9,
          filesPerProcess: 5000,
          stateBytes: bytes,
          budgetSeconds: question.restartSeconds,
          startsPerDay: 4,
        },
      ],
    },
    question.tiers,
  );
}
