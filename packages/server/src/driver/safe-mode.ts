/**
 * Safe mode: the driver takes in commands that end or hold work, and reports of attempts, and runs no round. Nothing is
 * placed, evicted, expired or launched, so that a decision that ends the process cannot stop an operator from removing
 * its cause.
 */
import type { Effect, Observation, Signal } from "@headroom/model";
import { OperationalError } from "@headroom/platform";
import type { CommandRequest } from "./driver.ts";

const commands: ReadonlySet<CommandRequest["kind"]> = new Set([
  "stopWorkload",
  "holdWorkload",
  "releaseWorkload",
  "removeSchedule",
  "removeCalendarEntry",
]);

const reports: ReadonlySet<(Observation | Signal)["kind"]> = new Set([
  "attemptRunning",
  "attemptExited",
  "attemptLost",
  "checkpointStored",
]);

const effects: ReadonlySet<Effect["kind"]> = new Set(["stopGang"]);

export const SAFE_MODE =
  "The control plane was started with --safe: nothing is decided or launched. Stop or hold workloads, then restart it without --safe.";

export const isSafeReport = ({ kind }: Observation | Signal): boolean => reports.has(kind);

export const isSafeEffect = ({ kind }: Effect): boolean => effects.has(kind);

/** The refusal of a command in safe mode; `null`: it is accepted. */
export function safeRefusal({ kind }: CommandRequest): OperationalError | null {
  return commands.has(kind) ? null : new OperationalError("safeMode", `${SAFE_MODE} This command was refused.`);
}
