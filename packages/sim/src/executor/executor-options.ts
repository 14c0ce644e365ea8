/** Options of the simulated executor, and attempts that it adopts. */
import type { Attempt, LaunchGang } from "@headroom/model";
import type { RunPlan } from "./run-plan.ts";
import type { SimulatedStaging } from "./simulated-caches.ts";

/**
 * An attempt that was launched before the simulation: the engine's record of it, and the plan of the rest of its run.
 */
export interface AdoptedAttempt {
  readonly attempt: Attempt;
  /** Plan from the moment at which the attempt began to run, which may be in the past. */
  readonly plan: RunPlan;
  readonly graceTimeoutMs: number;
}

export interface SimulatedExecutorOptions {
  /** Time in ms from the launch until the attempt reports that it runs. */
  readonly startupMs: number;
  /** Time in ms until a worker ends after SIGTERM, or until its grace period ends, if that is shorter. */
  readonly stopMs: number;
  /** Returns the plan of a launched attempt. It must be a pure function, because forks of a simulation share it. */
  readonly plan: (launch: LaunchGang) => RunPlan;
  /** Transfers of inputs before a start. Absent: inputs are everywhere. */
  readonly staging?: SimulatedStaging;
}
