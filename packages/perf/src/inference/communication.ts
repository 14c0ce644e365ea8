import type { BuiltReplica } from "./replica.ts";
import { activationBytes } from "./quantization.ts";
import type { InferenceConstants } from "../constants-inference.ts";

/** A collective between nodes takes this much longer to start than one within a scale-up domain (NCCL over InfiniBand). */
const scaleOutLatencyFactor = 3;

/** A server with PCIe accelerators holds up to eight of them. */
const pcieNodeCount = 8;

export interface Exchange {
  readonly bandwidthMs: number;
  readonly latencyMs: number;
}

function link(replica: BuiltReplica, rankCount: number, k: InferenceConstants): { gbPerS: number; latencyUs: number } {
  const { scaleUp, scaleOutGbPerS } = replica.accelerator;
  const reach = scaleUp.kind === "pcie" ? Math.max(scaleUp.domainCount, pcieNodeCount) : scaleUp.domainCount;
  const isInside = rankCount <= reach;
  return {
    gbPerS: (isInside ? scaleUp.gbPerS : scaleOutGbPerS) * k.linkEfficiency,
    latencyUs: isInside ? k.collectiveLatencyUs : k.collectiveLatencyUs * scaleOutLatencyFactor,
  };
}

/**
 * What a forward pass sends, over all layers, for `tokens` tokens of the whole replica: two all-reduces per layer under
 * tensor parallelism (Megatron-LM, arXiv 1909.08053 §3; ring volume 2(t-1)/t), a dispatch and a combine per expert layer
 * between attention-data ranks (each token to its experts once per rank that holds one), one hand-over per stage boundary.
 */
export function exchange(replica: BuiltReplica, tokens: number, k: InferenceConstants): Exchange {
  const { layout, shape } = replica;
  const { tensor, attentionData, pipeline } = layout;
  const tokenBytes = shape.hidden * activationBytes;
  let bandwidthMs = 0;
  let latencyMs = 0;
  if (tensor > 1) {
    const path = link(replica, tensor, k);
    const bytes = (2 * (tensor - 1) * (tokens / attentionData) * tokenBytes) / tensor;
    bandwidthMs += (2 * shape.layerCount * bytes) / (path.gbPerS * 1e6);
    latencyMs += (2 * shape.layerCount * path.latencyUs) / 1000;
  }
  if (attentionData > 1 && shape.expertLayerCount > 0) {
    const ranks = attentionData * tensor;
    const path = link(replica, ranks, k);
    const copies = Math.min(shape.expertsPerToken, ranks - 1);
    const bytes = (tokens / ranks) * copies * tokenBytes;
    bandwidthMs += (2 * shape.expertLayerCount * bytes) / (path.gbPerS * 1e6);
    latencyMs += (2 * shape.expertLayerCount * path.latencyUs) / 1000;
  }
  if (pipeline > 1) {
    const path = link(replica, tensor * pipeline, k);
    bandwidthMs += ((pipeline - 1) * tokens * tokenBytes) / (tensor * path.gbPerS * 1e6);
    latencyMs += ((pipeline - 1) * path.latencyUs) / 1000;
  }
  return { bandwidthMs, latencyMs };
}
