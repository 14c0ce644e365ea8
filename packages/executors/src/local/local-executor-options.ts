/** Options of the executor for this machine; every field but `homeDir` has a default. */
import type { ExecutorId } from "@headroom/engine";

export const LOCAL_EXECUTOR_ID: ExecutorId = "local";

export interface LocalExecutorOptions {
  /**
   * Id that pools name. Two local executors need different ids, directories, pool names and node names. Default
   * `local`.
   */
  readonly id?: ExecutorId;
  /**
   * Absolute path. Attempts are in `attempts/`, checkpoints of workloads without a directory of their own in
   * `checkpoints/`.
   */
  readonly homeDir: string;
  /** Name of the site. Default `local`. */
  readonly siteName?: string;
  /**
   * Name of the pool. Default `local`; if several accelerator types are found, `local-<type>` for all but the first.
   */
  readonly poolName?: string;
  /** Name of the node. Default: the machine's host name. */
  readonly nodeName?: string;
  /**
   * Declares the machine as this number of nodes, each with `slotCount` declared accelerators, and skips detection: a
   * fleet for trials on a laptop. Default 1.
   */
  readonly nodeCount?: number;
  /** Number of accelerators to declare on each node if none are found. Default: the number of cores, at most 8. */
  readonly slotCount?: number;
  /** Type of declared accelerators. Default `slot`. */
  readonly slotType?: string;
  /** `declared` skips detection. Default `detected`. */
  readonly accelerators?: "detected" | "declared";
  /** Size at which a log file is closed and the next one begins. Default 16 MiB. */
  readonly logFileMaxBytes?: number;
  /** Files kept for each stream of each worker, at least 2. Default 4. */
  readonly logFilesKept?: number;
  /**
   * For tests: attempts that were launched under another boot id count as interrupted by a reboot. Default: the
   * kernel's boot id.
   */
  readonly bootId?: string;
  /** Called for problems that affect no attempt, such as an unreadable directory. Default: a process warning. */
  readonly onProblem?: (message: string) => void;
}
