import { describe, expect, it } from "vitest";
import { findAccelerator } from "../catalogue/accelerators.ts";
import type { ModelArchitecture } from "../catalogue/model.ts";
import type { Cluster } from "../catalogue/node.ts";
import { mixedPrecision, type ParallelPlan, type TrainingJob } from "../training/job.ts";
import { fabricCounts, fabricOf, fabricRequest } from "./fabric-counts.ts";
import { fabricWall, type FabricWall, type MixedJob } from "./fabric-wall.ts";

/** Llama 3 70B with the values of its config.json. */
const model: ModelArchitecture = {
  name: "llama-3-70b",
  layerCount: 80,
  hidden: 8192,
  attention: { kind: "grouped", headCount: 64, kvHeadCount: 8, headDim: 128 },
  ffnHidden: 28_672,
  isFfnGated: true,
  vocabulary: 128_256,
  hasTiedEmbeddings: false,
  learnedPositions: 0,
  source: "meta-llama/Meta-Llama-3-70B config.json",
};

const job: TrainingJob = {
  model,
  sequenceLength: 8192,
  globalBatch: 128,
  method: { kind: "full" },
  precision: mixedPrecision("bf16"),
  software: { stack: "eager", attention: "flash" },
};

/** FSDP over all accelerators, which is the plan with the most traffic between nodes. */
const plan: ParallelPlan = {
  tensor: 1,
  pipeline: 1,
  context: 1,
  data: 64,
  expert: 1,
  virtualStages: 1,
  schedule: "1f1b",
  microBatch: 1,
  sequenceParallel: false,
  zeroStage: 3,
  shardCount: 64,
  recomputation: "full",
};

function cluster(leafOversubscription: number, portGbps: number): Cluster {
  const accelerator = findAccelerator("H100");
  const counts = fabricCounts(fabricRequest({ nodeCount: 1024, leafOversubscription, portGbps }));
  if (accelerator === undefined || counts.kind !== "counts") throw new Error("no such cluster");
  const scaleOutGbPerS = portGbps;
  const node = { name: "n", accelerator, acceleratorCount: 8, scaleOutGbPerS, hostLinkGbPerS: 55, source: "test" };
  return { node, nodeCount: 1024, fabric: fabricOf(counts) };
}

function wallOf(leafOversubscription: number, portGbps: number, scaling: MixedJob["scaling"] = "weak"): FabricWall {
  const limits = { nodeCountMax: 1024, lossShare: 0.1 };
  return fabricWall([{ name: "fsdp", share: 1, job, plan, scaling }], cluster(leafOversubscription, portGbps), limits);
}

describe("the wall of a fabric", () => {
  it("comes earlier with narrower fabrics and slower ports, never later", () => {
    for (const [better, worse] of [
      [wallOf(1, 400), wallOf(8, 400)],
      [wallOf(1, 400), wallOf(1, 50)],
      [wallOf(2, 100), wallOf(8, 100)],
    ] as const) {
      for (const [index, point] of better.points.entries()) {
        expect(worse.points[index]?.networkShare).toBeGreaterThanOrEqual(point.networkShare - 1e-12);
      }
    }
  });

  it("blames the oversubscription where the ports alone would do", () => {
    expect(wallOf(1, 400).points.every((point) => point.oversubscriptionShare === 0)).toBe(true);
    expect(wallOf(32, 400).wall).toMatchObject({ blame: "oversubscription" });
    expect(wallOf(1, 10).wall).toMatchObject({ blame: "ports" });
  });

  it("does not ask for sizes that the job cannot take", () => {
    expect(wallOf(1, 400).points.map(({ nodeCount }) => nodeCount)).toEqual([8, 16, 32, 64, 128, 256, 512, 1024]);
    expect(wallOf(1, 400, "strong").points.map(({ nodeCount }) => nodeCount)).toEqual([8, 16]);
  });
});
