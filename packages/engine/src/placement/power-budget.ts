/** How many further workers of a request the power and cooling caps admit, while its workers are placed one node after another. */
import type { WorkerShape } from "@headroom/model";
import type { NodeSlot } from "../cluster/node-slot.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import { leftOf } from "../cluster/power-meters.ts";
import type { PowerLayer, PowerMeter, PowerMeters } from "../cluster/power-meters.ts";
import type { World } from "../cluster/world.ts";

/** The meters that limit the request, or `null` if no site has caps or its workers have no accelerators. */
export function metersFor({ capacity: { power } }: World, { gang, ignores }: PlacementRequest): PowerMeters | null {
  if (power === null || ignores === "power") return null;
  return draws(gang) || gang.taskGroups?.some(draws) === true ? power : null;
}

const draws = ({ accelerators, profile }: Pick<WorkerShape, "accelerators" | "profile">): boolean =>
  accelerators > 0 || profile !== undefined;

export class PowerBudget {
  readonly #meters: PowerMeters;
  readonly #shape: WorkerShape;
  readonly #layer: PowerLayer;
  readonly #taken = new Map<PowerMeter, number>();

  constructor(meters: PowerMeters, shape: WorkerShape, layer: PowerLayer) {
    this.#meters = meters;
    this.#shape = shape;
    this.#layer = layer;
  }

  left(slot: NodeSlot): number {
    const draw = this.#meters.drawOn(slot, this.#shape);
    let count = Number.MAX_SAFE_INTEGER;
    if (draw === 0) return count;
    for (const meter of this.#meters.metersOf(slot).meters) {
      const left = leftOf(meter, this.#layer) - (this.#taken.get(meter) ?? 0);
      count = Math.min(count, Math.max(0, Math.floor(left / draw)));
    }
    return count;
  }

  take(slot: NodeSlot, count: number): void {
    const draw = this.#meters.drawOn(slot, this.#shape);
    if (count === 0 || draw === 0 || !Number.isFinite(draw)) return;
    for (const meter of this.#meters.metersOf(slot).meters)
      this.#taken.set(meter, (this.#taken.get(meter) ?? 0) + count * draw);
  }
}

/** The candidates, those first that share their capped domains with the fewest others: these leave most power to the rest. */
export function leastShared<Candidate extends { readonly slot: NodeSlot }>(
  meters: PowerMeters,
  candidates: readonly Candidate[],
): readonly Candidate[] {
  const sharing = new Map<PowerMeter, number>();
  for (const { slot } of candidates)
    for (const meter of meters.metersOf(slot).meters) sharing.set(meter, (sharing.get(meter) ?? 0) + 1);
  const sharedBy = ({ slot }: Candidate): number =>
    meters.metersOf(slot).meters.reduce((sum, meter) => sum + (sharing.get(meter) ?? 0), 0);
  const counts = new Map(candidates.map((candidate) => [candidate, sharedBy(candidate)]));
  return candidates.toSorted((left, right) => (counts.get(left) ?? 0) - (counts.get(right) ?? 0));
}
