/**
 * Verifies the MIG slice or fraction of a worker from the state alone, without the counters of the indexes: a MIG
 * worker begins at a slice that its profile allows, and a fraction is as large as its memory needs.
 */
import { migTable } from "@headroom/model";
import type { Node, WorkerAllocation, WorkerShape } from "@headroom/model";
import type { Findings } from "./findings.ts";

/**
 * Slice numbers of a worker with a MIG profile. The list is empty if the worker has no profile, or the node does not
 * support it.
 */
export function slicesOf(node: Node | undefined, { profile }: WorkerShape, { slice }: WorkerAllocation): number[] {
  const part = profile === undefined ? undefined : migTable(node?.mig)?.get(profile);
  if (part === undefined || slice === undefined) return [];
  return Array.from({ length: part.size }, (_, index) => slice + index);
}

/**
 * Checks that a worker has the requested MIG profile at a valid position, or the fraction that its memory needs. Other
 * workers must have neither.
 */
export function checkPart(
  findings: Findings,
  who: string,
  on: { readonly node: Node | undefined; readonly shape: WorkerShape; readonly worker: WorkerAllocation },
): void {
  const { node, shape, worker } = on;
  const starts =
    migTable(node?.mig)
      ?.get(shape.profile ?? "")
      ?.places.map(({ start }) => start) ?? [];
  const { slice } = worker;
  findings.expect(
    shape.profile === undefined ? slice === undefined : slice !== undefined && starts.includes(slice),
    () => `${who} has slice ${slice} on ${worker.node} for ${shape.profile ?? "no part"}`,
  );
  const { shareMilli = 0 } = worker;
  findings.expect(
    shape.acceleratorMemoryMib === undefined ? shareMilli === 0 : shareMilli > 0 && shareMilli <= 1000,
    () => `${who} has ${shareMilli} thousandths on ${worker.node} for ${shape.acceleratorMemoryMib ?? "no"} MiB`,
  );
}
