/** The order in which nodes that fit are filled, from the policy's `placement`. */
import { fractionOn, needsFraction } from "@headroom/model";
import type { WorkerShape } from "@headroom/model";
import type { Layer, NodeSlot } from "../../cluster/node-slot.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";
import { workerAsk } from "../../state/demand-mix.ts";
import { dataPlaces } from "../filters/data-places.ts";
import { preferredRanks } from "../fabric-choice.ts";
import type { Candidate } from "../place-constrained.ts";
import { bestPart } from "../place-parts.ts";
import { isScored } from "./place-by-score.ts";
import { scoresOf } from "./score-index.ts";

export interface Candidates {
  readonly candidates: readonly Candidate[];
  readonly layer: Layer;
}

/** Sort key: lists are compared element by element, and the smaller one comes first. */
type Keys = readonly number[];

export function nodeOrder(
  world: World,
  request: PlacementRequest,
  { candidates, layer }: Candidates,
): readonly Candidate[] {
  const isPacking = world.rules.placement !== "spread";
  const { gang } = request;
  const byScore = layer === "idle" && isScored(world, request.gang);
  const ask = workerAsk(request.gang);
  const preferred = preferredRanks(world, request, candidates);
  const data = dataPlaces(world, request.spec);
  const keysOf = ({ slot }: Candidate): Keys => {
    const unallocated = slot.freeCount + (layer === "releasing" ? slot.releasingCount : 0);
    return [
      preferred.get(slot.node.id) ?? 0,
      -data.held(slot),
      byScore ? -scoresOf(world).scoreOf(world, slot, ask) : 0,
      needsFraction(gang) && !hasOpenShare(slot, fractionOn(gang, slot.node), layer) ? 1 : 0,
      ...(gang.profile === undefined ? [] : partKeys(slot, gang, layer)),
      layer === "releasing" && slot.workersThatFit(request.gang, 1, "idle") === 0 ? 1 : 0,
      // In the `eventual` view, idle capacity comes last: other work can use it until the plan's victims have ended.
      isPacking || layer === "eventual" ? unallocated : -unallocated,
      -data.heldAtAll(slot),
      slot.position,
    ];
  };
  return candidates
    .map((candidate) => ({ candidate, keys: keysOf(candidate) }))
    .toSorted((left, right) => compareKeys(left.keys, right.keys))
    .map(({ candidate }) => candidate);
}

function compareKeys(left: Keys, right: Keys): number {
  const at = left.findIndex((key, index) => key !== right[index]);
  return at < 0 ? 0 : (left[at] as number) - (right[at] as number);
}

/** Divided devices come first, then the position that blocks the fewest other positions. */
function partKeys(slot: NodeSlot, shape: WorkerShape, layer: Layer): Keys {
  const spot = bestPart(slot, { shape, layer });
  return spot === null ? [1, 0] : [spot.divides, spot.lost];
}

/** Returns whether a partly used accelerator of the node has capacity for the fraction. */
function hasOpenShare(slot: NodeSlot, milli: number, layer: Layer): boolean {
  for (let index = 0; index < slot.totalCount; index++) {
    if (!slot.isWhole(index, layer) && slot.room(index, layer) >= milli) return true;
  }
  return false;
}
