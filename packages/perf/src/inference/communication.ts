import { bytesPerElement } from "../catalogue/number-format.ts";
import type { BuiltReplica } from "./replica.ts";
import { activationBytes } from "./quantization.ts";
import type { InferenceConstants } from "../constants-inference.ts";

/**
 * Start-up time of a collective between nodes, relative to a collective within a scale-up domain (NCCL over
 * InfiniBand).
 */
const scaleOutLatencyFactor = 3;

/** Maximum number of PCIe accelerators in one server. */
const pcieNodeCount = 8;

export interface Exchange {
  readonly bandwidthMs: number;
  readonly latencyMs: number;
}

function link(replica: BuiltReplica, rankCount: number, k: InferenceConstants): { gbPerS: number; latencyUs: number } {
  const { scaleUp, scaleOutGbPerS } = replica.accelerator;
  const isInside = rankCount <= domainCount(replica);
  const share = replica.engine.isGraphCaptured ? 1 : k.eagerLinkShare;
  return {
    gbPerS: (isInside ? scaleUp.gbPerS : scaleOutGbPerS) * k.linkEfficiency * share,
    latencyUs: isInside ? k.collectiveLatencyUs : k.collectiveLatencyUs * scaleOutLatencyFactor,
  };
}

/** Number of accelerators that are connected to each other without the network between nodes. */
function domainCount(replica: BuiltReplica): number {
  const { scaleUp } = replica.accelerator;
  return scaleUp.kind === "pcie" ? Math.max(scaleUp.domainCount, pcieNodeCount) : scaleUp.domainCount;
}

/**
 * Bytes that one token sends to its experts and receives from them in one layer. Within a scale-up domain, one copy
 * goes to the rank of each expert. Between domains, a token goes to each domain once, in the number format of the
 * experts if that is narrower (DeepEP; DeepSeek-V3, arXiv 2412.19437 §3.2). The expected number of domains follows from
 * the occupancy problem.
 */
function expertCopyBytes(replica: BuiltReplica, ranks: number): number {
  const { shape, formats } = replica;
  const domain = domainCount(replica);
  if (ranks <= domain) return 2 * Math.min(shape.expertsPerToken, ranks - 1) * shape.hidden * activationBytes;
  const domains = Math.ceil(ranks / domain);
  const reached = (domains - 1) * (1 - (1 - 1 / domains) ** shape.expertsPerToken);
  const sentBytes = Math.max(1, Math.min(activationBytes, bytesPerElement(formats.experts)));
  return reached * shape.hidden * (sentBytes + activationBytes);
}

/**
 * Bytes that a forward pass of `tokens` tokens sends, over all layers of the replica. Tensor parallelism needs two
 * all-reduces per layer (Megatron-LM, arXiv 1909.08053 §3; ring volume 2(t-1)/t). Each expert layer needs a dispatch
 * and a combine between attention-data ranks; a token goes once to each rank with one of its experts. Each boundary
 * between pipeline stages needs one transfer.
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
    const bytes = (tokens / ranks) * expertCopyBytes(replica, ranks);
    bandwidthMs += (shape.expertLayerCount * bytes) / (path.gbPerS * 1e6);
    latencyMs += (2 * shape.expertLayerCount * path.latencyUs) / 1000;
  }
  if (pipeline > 1) {
    const path = link(replica, tensor * pipeline, k);
    bandwidthMs += ((pipeline - 1) * tokens * tokenBytes) / (tensor * path.gbPerS * 1e6);
    latencyMs += ((pipeline - 1) * path.latencyUs) / 1000;
  }
  return { bandwidthMs, latencyMs };
}
