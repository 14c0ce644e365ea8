/** The parts of the driver, and its rules. */
import type { Engine } from "@headroom/engine";
import type { Executor } from "@headroom/executors";
import type { Journal } from "@headroom/journal";
import type { FaultHook } from "../faults/fault-points.ts";
import type { StartMarker } from "../recovery/start-marker.ts";
import type { DriverLog } from "./driver-log.ts";
import type { TelemetrySink } from "./signal-gate.ts";
import type { SnapshotRules } from "./snapshot-schedule.ts";
import type { SteadyClock } from "./steady-clock.ts";

export interface BatchDriverParts {
  readonly engine: Engine;
  readonly journal: Journal;
  /** Executors that are attached from the start. */
  readonly executors: readonly Executor[];
  /** Store of the attempts' reports about progress and utilization. */
  readonly telemetry: TelemetrySink;
  readonly clock: SteadyClock;
  readonly log: DriverLog;
  /**
   * Called once, when the journal has failed or an invariant is violated. The process must then end, and the next start
   * recovers by replay.
   */
  readonly onFatal: (error: Error) => void;
  readonly onPoint: FaultHook;
  readonly snapshots: SnapshotRules;
  /** Number of events after which a digest of the state is recorded; `null`: only when idle and when closing. */
  readonly digestEveryEvents: number | null;
  /**
   * Time in ms without an event after which a digest is recorded. Its cost (a hash of all changes) then delays no
   * command.
   */
  readonly digestQuietMs: number;
  readonly restoredSnapshotSequence: number;
  readonly recoveryMs: number;
  /** Whether no round runs; see `safe-mode.ts`. */
  readonly isSafe: boolean;
  /** Gets what the driver decides, for the start after a death; absent: nobody reads it. */
  readonly marker: Pick<StartMarker, "deciding" | "idle"> | null;
}
