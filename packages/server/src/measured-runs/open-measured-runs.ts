/** Connects the measured runs with the parts of a control plane. */
import path from "node:path";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import { slowRunMessage } from "../notifications/message.ts";
import type { Notifier } from "../notifications/notifier.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { MeasuredRunService, measuredRunDefaults } from "./measured-run-service.ts";
import type { MeasuredRunRules } from "./measured-run-service.ts";

interface RunSources {
  readonly driver: Driver;
  readonly telemetry: Telemetry;
  readonly notifier: Notifier;
  readonly log: DriverLog;
}

export function openMeasuredRuns(
  { home, measuredRuns }: { readonly home: string; readonly measuredRuns?: Partial<MeasuredRunRules> },
  { driver, telemetry, notifier, log }: RunSources,
  nowMs: () => number,
): MeasuredRunService {
  return new MeasuredRunService({
    file: path.join(home, "measured-runs.db"),
    rules: { ...measuredRunDefaults, ...measuredRuns },
    driver,
    telemetry,
    log,
    nowMs,
    tellOwner: async (run) => notifier.send(slowRunMessage(run, driver.status().sequence, nowMs())),
  });
}
