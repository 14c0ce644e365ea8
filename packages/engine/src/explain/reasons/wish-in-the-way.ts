/** Which wish about how its workers lie to each other is one wish too many: without it alone there would be room. */
import type { WorkloadSpec } from "../../model/workload.ts";
import type { PlacementClass } from "../../cluster/queue.ts";

export type WishInTheWay = "spread" | "fabric";

/** `null`: neither alone. */
export function wishInTheWay(found: PlacementClass, fits: (freer: PlacementClass) => boolean): WishInTheWay | null {
  const { spread, fabric, ...rest } = found.spec;
  const freer = (spec: WorkloadSpec): PlacementClass =>
    Object.assign(Object.create(found) as PlacementClass, { spec, fleetEpoch: -1 });
  if (spread !== undefined && fits(freer(fabric === undefined ? rest : { ...rest, fabric }))) return "spread";
  if (fabric !== undefined && fits(freer(spread === undefined ? rest : { ...rest, spread }))) return "fabric";
  return null;
}
