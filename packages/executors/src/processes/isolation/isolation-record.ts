/** Isolation of an attempt as its launch record states it. The supervisor carries it out. */
import type { CgroupParent, WorkerLimits } from "./cgroups.ts";

export interface IsolationRecord {
  /** `null`: workers are processes of the control plane's user, with all that this user sees. */
  readonly bubblewrap: BubblewrapRecord | null;
  readonly cgroups: readonly CgroupParent[];
  /** Limits by rank. Workers that join later have theirs in the request. */
  readonly limits: readonly WorkerLimits[];
}

export interface BubblewrapRecord {
  /** Absolute path of bwrap(1). */
  readonly program: string;
  readonly args: readonly string[];
  /** Directories outside of the state directory that are removed at the end of the attempt. */
  readonly scratchDirs: readonly string[];
}
