/** The interface for rounds by the rules of an imitated system. */
import type { AttemptId, Phase } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import type { QueueBucket } from "../cluster/queue.ts";

export interface RoundStrategy {
  /** Runs the phases of the policy; `run` runs one. */
  takeTurns(batch: Batch, phases: readonly Phase[], run: (phase: Phase) => void): void;
  /** Handles a request that does not fit on idle capacity. Returns the attempt if the request gets a place, or `null`. */
  placeLater(batch: Batch, bucket: QueueBucket): AttemptId | null;
}
