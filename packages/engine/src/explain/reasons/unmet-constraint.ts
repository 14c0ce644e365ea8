/** Which wish about how its workers lie to each other is one wish too many: without it alone there would be room. */
import type { WorkloadSpec } from "../../model/workload.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";

export type UnmetConstraint = "spread" | "fabric";

/** `null`: neither alone. */
export function unmetConstraint(
  request: PlacementRequest,
  fits: (freer: PlacementRequest) => boolean,
): UnmetConstraint | null {
  const { spread, fabric, ...rest } = request.spec;
  const freer = (spec: WorkloadSpec): PlacementRequest => request.with({ spec });
  if (spread !== undefined && fits(freer(fabric === undefined ? rest : { ...rest, fabric }))) return "spread";
  if (fabric !== undefined && fits(freer(spread === undefined ? rest : { ...rest, spread }))) return "fabric";
  return null;
}
