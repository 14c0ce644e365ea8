/** Options of the executor for this machine. Every field except `homeDir` has a default. */
import type { ExecutorId } from "@headroom/model";
import type { StoreSet } from "@headroom/stores";
import type { WorkerNetwork } from "../processes/isolation/team-network.ts";
import type { ImageNetwork } from "../processes/images/image-sandbox.ts";
import type { ReadingRules } from "../job-protocol/input-rules.ts";
import type { IsolationMode } from "../executor.ts";

export const LOCAL_EXECUTOR_ID: ExecutorId = "local";

export interface LocalExecutorOptions {
  /**
   * Id by which pools name the executor. Two local executors need different ids, directories, pool names and node
   * names. Default `local`.
   */
  readonly id?: ExecutorId;
  /**
   * Absolute path of the home directory. Attempts are in its directory `attempts/`; checkpoints of workloads that
   * choose no directory are in `checkpoints/`.
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
   * Declares the machine as this number of nodes, each with `slotCount` declared accelerators, and skips detection.
   * This gives a fleet for trials on a laptop. Default 1.
   */
  readonly nodeCount?: number;
  /** Number of accelerators to declare on each node if none are found. Default: the number of cores, at most 8. */
  readonly slotCount?: number;
  /** Accelerator type of declared accelerators. Default `slot`. */
  readonly slotType?: string;
  /** `declared` skips the detection of accelerators. Default `detected`. */
  readonly accelerators?: "detected" | "declared";
  /** Size in bytes at which a log file is closed and the next one begins. Default 16 MiB. */
  readonly logFileMaxBytes?: number;
  /** Number of files kept for each stream of each worker, at least 2. Default 4. */
  readonly logFilesKept?: number;
  /**
   * Separation of workloads from the control plane and from each other. `auto`: bubblewrap if it works here. `bubblewrap`:
   * the start fails without it. Default: `$HEADROOM_ISOLATION`, else `auto`.
   */
  readonly isolation?: IsolationMode;
  /** Directories of this machine that workers in container images see, such as those of data sets. Default: none. */
  readonly imageDirs?: readonly string[];
  /** Network of workers in container images. Default: that of the machine. */
  readonly imageNetwork?: ImageNetwork | undefined;
  /** Network of sandboxed workers. Default: that of the machine. `team` needs root and bubblewrap. */
  readonly network?: WorkerNetwork | undefined;
  /** Users of sandboxed workers by team, `*` for any other. Default: that of the control plane. Needs root and bubblewrap. */
  readonly users?: Readonly<Record<string, string>> | undefined;
  /** Stores from which inputs are staged. Absent: none; paths and URIs are passed on as they are. */
  readonly stores?: StoreSet;
  /** Rights and data rules of inputs that are passed on as they are. Absent: those of `stores`, else none. */
  readonly readingRules?: ReadingRules | undefined;
  /**
   * Boot id for tests: attempts that were launched under another boot id count as interrupted by a reboot. Default: the
   * kernel's boot id.
   */
  readonly bootId?: string;
  /**
   * Called for problems that concern no single attempt, such as an unreadable directory. Default: a process warning.
   */
  readonly onProblem?: (message: string) => void;
}
