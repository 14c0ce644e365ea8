import type { ModelArchitecture } from "../catalogue/model.ts";
import { bytesPerElement } from "../catalogue/number-format.ts";
import type { RequestShape } from "./batching.ts";
import { sequenceKvBytes, servingMemory } from "./kv-cache.ts";
import { buildReplica, weightBytesPerAccelerator } from "./replica.ts";
import type { BuiltReplica, Replica, ServingLayout } from "./replica.ts";

/** A reason why a replica cannot run, and the nearest layout that can, if there is one. */
export interface Obstacle {
  readonly kind: "count" | "heads" | "experts" | "layers" | "expertWidth" | "weights" | "cache" | "length";
  readonly message: string;
  /** A change of the layout that removes this obstacle. */
  readonly nearest?: Partial<ServingLayout>;
}

const gib = 1024 ** 3;

const inGib = (bytes: number): string => `${(bytes / gib).toFixed(1)} GiB`;

/** The divisor of `total` that is nearest to `wanted`. If two are equally near, the smaller one. */
function nearestDivisor(total: number, wanted: number): number {
  let nearest = 1;
  for (let candidate = 1; candidate <= total; candidate += 1) {
    if (total % candidate === 0 && Math.abs(candidate - wanted) < Math.abs(nearest - wanted)) nearest = candidate;
  }
  return nearest;
}

function badCount(layout: ServingLayout): Obstacle | undefined {
  const entries = Object.entries(layout) as [keyof ServingLayout, number][];
  const wrong = entries.find(([, value]) => !Number.isInteger(value) || value < 1);
  if (wrong === undefined) return undefined;
  const [name, value] = wrong;
  return { kind: "count", message: `${name} is ${value}: it must be a whole number from 1`, nearest: { [name]: 1 } };
}

/**
 * Obstacles of divisibility: each tensor rank needs whole heads, each stage whole layers and each expert rank whole
 * experts.
 */
function shapeObstacles(model: ModelArchitecture, layout: ServingLayout): Obstacle[] {
  const { headCount } = model.attention;
  const obstacles: Obstacle[] = [];
  if (headCount % layout.tensor !== 0) {
    const tensor = nearestDivisor(headCount, layout.tensor);
    const message = `tensor ${layout.tensor} does not divide the ${headCount} attention heads; ${tensor} does`;
    obstacles.push({ kind: "heads", message, nearest: { tensor } });
  }
  if (layout.pipeline > model.layerCount) {
    const message = `pipeline ${layout.pipeline} is more than the ${model.layerCount} layers`;
    obstacles.push({ kind: "layers", message, nearest: { pipeline: model.layerCount } });
  }
  if (layout.expert > 1 && model.experts === undefined) {
    const message = `${model.name} has no experts to divide over ${layout.expert} accelerators`;
    obstacles.push({ kind: "experts", message, nearest: { expert: 1 } });
  }
  const ranks = layout.tensor * layout.attentionData;
  if (layout.expert > ranks) {
    const message = `expert ${layout.expert} is more than the ${ranks} accelerators of a stage`;
    obstacles.push({ kind: "experts", message, nearest: { expert: ranks } });
  } else if (ranks % layout.expert !== 0) {
    const expert = nearestDivisor(ranks, layout.expert);
    const message = `expert ${layout.expert} does not divide the ${ranks} accelerators of a stage; ${expert} does`;
    obstacles.push({ kind: "experts", message, nearest: { expert } });
  }
  if (layout.expert > 1 && model.experts !== undefined && layout.expert > model.experts.count) {
    const message = `expert ${layout.expert} is more than the ${model.experts.count} experts`;
    obstacles.push({
      kind: "experts",
      message,
      nearest: { expert: nearestDivisor(model.experts.count, layout.expert) },
    });
  }
  return obstacles;
}

/**
 * Widths of tensor parallelism that are tried if a model does not fit: powers of two up to the size of a large scale-up
 * domain.
 */
const widths = [1, 2, 4, 8, 16, 32, 64];

/**
 * The smallest width of tensor parallelism, not below the present one, at which the model and one request fit into
 * memory.
 */
function nearestFitting(replica: BuiltReplica, tokens: number): number | undefined {
  const { headCount } = replica.model.attention;
  return widths.find((tensor) => {
    if (tensor <= replica.layout.tensor || headCount % tensor !== 0) return false;
    const wider = { ...replica, layout: { ...replica.layout, tensor } };
    return servingMemory(wider).kvCacheBytes >= sequenceKvBytes(wider, tokens);
  });
}

function memoryObstacle(replica: BuiltReplica, request: RequestShape): Obstacle | undefined {
  const memory = servingMemory(replica);
  const tokens = request.promptTokens + request.outputTokens;
  const needed = sequenceKvBytes(replica, tokens);
  if (memory.kvCacheBytes >= needed) return undefined;
  const tensor = nearestFitting(replica, tokens);
  const change = tensor === undefined ? "no tensor width up to 64 fits" : `tensor ${tensor} fits`;
  const weights = weightBytesPerAccelerator(replica);
  const share = `the engine fills ${(100 * replica.engine.memoryShare).toFixed(0)}% of ${inGib(memory.totalBytes)}`;
  const bits = (8 * bytesPerElement(replica.formats.linear)).toFixed(0);
  const isWeights = memory.kvCacheBytes === 0;
  const message = isWeights
    ? `${bits}-bit weights take ${inGib(weights)} per accelerator and leave no room for a cache: ${share}; ${change}`
    : `a request of ${tokens} tokens needs ${inGib(needed)} of cache and ${inGib(memory.kvCacheBytes)} are free: ${share}; ${change}`;
  const kind = isWeights ? "weights" : "cache";
  return tensor === undefined ? { kind, message } : { kind, message, nearest: { tensor } };
}

/** All reasons why this replica cannot serve such requests. The list is empty if it can. */
export function obstacles(replica: Replica, request: RequestShape): readonly Obstacle[] {
  const wrongCount = badCount(replica.layout);
  if (wrongCount !== undefined) return [wrongCount];
  const found = shapeObstacles(replica.model, replica.layout);
  const tokens = request.promptTokens + request.outputTokens;
  if (!(request.promptTokens >= 1 && request.outputTokens >= 1)) {
    found.push({ kind: "length", message: "a request needs at least one prompt token and one output token" });
  }
  const { maxPosition } = replica.model;
  if (maxPosition !== undefined && maxPosition > 0 && tokens > maxPosition) {
    const message = `${tokens} tokens are more than the ${maxPosition} positions that ${replica.model.name} knows`;
    found.push({ kind: "length", message });
  }
  // Requests beyond the model's positions were measured, so their memory is judged too.
  if (found.some(({ kind }) => kind !== "length")) return found;
  const memory = memoryObstacle(buildReplica(replica), request);
  return memory === undefined ? found : [...found, memory];
}
