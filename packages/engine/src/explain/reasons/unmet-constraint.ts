/** Which wish about how its workers lie to each other is one wish too many: without it alone there would be room. */
import type { WorkloadSpec } from "../../model/workload.ts";
import type { QueueBucket } from "../../cluster/queue.ts";

export type UnmetConstraint = "spread" | "fabric";

/** `null`: neither alone. */
export function unmetConstraint(found: QueueBucket, fits: (freer: QueueBucket) => boolean): UnmetConstraint | null {
  const { spread, fabric, ...rest } = found.spec;
  const freer = (spec: WorkloadSpec): QueueBucket =>
    Object.assign(Object.create(found) as QueueBucket, { spec, fleetEpoch: -1 });
  if (spread !== undefined && fits(freer(fabric === undefined ? rest : { ...rest, fabric }))) return "spread";
  if (fabric !== undefined && fits(freer(spread === undefined ? rest : { ...rest, spread }))) return "fabric";
  return null;
}
