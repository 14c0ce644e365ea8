/** How the executor on this machine is set up; every field but `homeDir` has a default. */
import type { ExecutorId } from "@headroom/engine";

export const LOCAL_EXECUTOR_ID: ExecutorId = "local";

export interface LocalExecutorOptions {
  /** Pools of this executor name it. Two local executors need different ids, directories, pool names and node names. Default `local`. */
  readonly id?: ExecutorId;
  /** Absolute; attempts live in `attempts/`, checkpoints of workloads without a directory of their own in `checkpoints/`. */
  readonly homeDir: string;
  /** Default `local`. */
  readonly siteName?: string;
  /** Default `local`; where accelerators of several types are found, `local-<type>` for all but the first. */
  readonly poolName?: string;
  /** Default: the machine's host name. */
  readonly nodeName?: string;
  /**
   * Declares the machine as so many nodes, each with `slotCount` declared accelerators, and does not look for real ones: a
   * fleet to try things on, on a laptop. Default 1.
   */
  readonly nodeCount?: number;
  /** How many accelerators to declare (on each node) where none are found. Default: the cores, at most 8. */
  readonly slotCount?: number;
  /** Their type. Default `slot`. */
  readonly slotType?: string;
  /** `declared` does not look for accelerators. Default `detected`. */
  readonly accelerators?: "detected" | "declared";
  /** A log file is closed at this size and the next one begun. Default 16 MiB. */
  readonly logFileMaxBytes?: number;
  /** Files kept for each stream of each worker, at least 2. Default 4. */
  readonly logFilesKept?: number;
  /** For tests: attempts that were launched under another id count as interrupted by a restart of the machine. Default: the kernel's. */
  readonly bootId?: string;
  /** Told of what went wrong where no attempt suffers by it, e.g. an unreadable directory. Default: a process warning. */
  readonly onProblem?: (message: string) => void;
}
