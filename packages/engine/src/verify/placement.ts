/** Checks a placement against the rules, by someone who did not make it: a broken rule is a bug and stops the process. */
import { acceleratorCount } from "../model/accelerator-set.ts";
import type { Workload } from "../model/workload.ts";
import type { Placement } from "../schedule/place.ts";
import { invariant } from "../state/invariant.ts";
import type { World } from "../state/world.ts";

/** That accelerators, cores and memory are really free is asserted where they are booked (`Capacity.take`). */
export function verifyPlacement({ state }: World, workload: Workload, placement: Placement): void {
  const { gang, acceleratorTypes } = workload.spec;
  const { workers, acceleratorType } = placement;
  invariant(workers.length === gang.workers, `${workload.id} was given ${workers.length} of ${gang.workers} workers`);
  invariant(
    acceleratorTypes.length === 0 || acceleratorTypes.includes(acceleratorType),
    `${workload.id} was given type ${acceleratorType}`,
  );
  for (const worker of workers) {
    const node = state.nodes.get(worker.node);
    invariant(
      node !== undefined && node.health === "up" && !node.draining,
      `${workload.id} was placed on node ${worker.node}, which takes no work`,
    );
    invariant(node.acceleratorType === acceleratorType, `${workload.id} mixes accelerator types`);
    invariant(
      acceleratorCount(worker.accelerators) === gang.accelerators,
      `${workload.id} was given ${worker.accelerators} on ${worker.node}`,
    );
  }
}
