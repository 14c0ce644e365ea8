/**
 * Stops gangs that lost workers, fell below their minimum and have no nomination for replacements. Their remaining
 * workers would hold accelerators without making progress.
 */
import { minWorkersOf } from "@headroom/model";
import type { Batch } from "../../batch/batch.ts";
import { requestStop } from "../../transitions/stop-attempt.ts";
import { workloadOf } from "../../cluster/entities.ts";

export function dropIncomplete(batch: Batch): void {
  const { world } = batch;
  for (const attempt of Array.from(world.state.attempts.values())) {
    if (attempt.stop !== null) continue;
    const { gang } = workloadOf(world, attempt.workloadId).spec;
    const nominated = world.state.nominations.get(attempt.id)?.workers.length ?? 0;
    const terminating = attempt.terminating?.length ?? 0;
    if (attempt.workers.length + terminating + nominated < minWorkersOf(gang))
      requestStop(batch, attempt, "incomplete");
  }
}
