/**
 * Finds the constraint between workers (spread or fabric) that blocks a request: without it, and with all others, the
 * request would fit.
 */
import type { WorkloadSpec } from "../../model/workload.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";

export type UnmetConstraint = "spread" | "fabric";

/** `null`: dropping one constraint alone does not help. */
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
