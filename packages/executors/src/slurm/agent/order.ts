/** The line that the first supervisor of a gang passes to those on the other nodes, over the standard input of `srun`. */
import type { AttemptKey } from "../../job-protocol/attempt-files.ts";

export interface StepOrder {
  readonly key: AttemptKey;
  readonly masterPort: number;
  readonly slurmGraceMs: number;
}

/** Part of `KillWait` that a grace period may take; the rest is for the record of the end. */
export const KILL_WAIT_SHARE = 0.6;
