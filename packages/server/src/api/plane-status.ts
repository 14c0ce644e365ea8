/** The status of the control plane: what runs, what it records, and how its loop keeps up. */
import { statusView } from "@headroom/views";
import type { DriverStatus } from "../driver/driver.ts";
import type { Answer, Handlers } from "./calls.ts";
import { isolationStatus } from "./isolation.ts";

export const planeStatus: Handlers["status"] = ({ driver, version, startedAtMs, executors, gateway }) =>
  driver.read((engine) =>
    statusView(engine, {
      version,
      mode: "live",
      startedAtMs,
      paused: driver.status().paused,
      hasGateway: gateway.isConfigured,
      isolation: isolationStatus(executors.values()),
      journal: journalStatus(driver.status()),
    }),
  );

function journalStatus(status: DriverStatus): Answer<"status">["journal"] {
  return {
    groups: status.groupCount,
    syncs: status.syncCount,
    commands: status.commandCount,
    commandsPerSync: status.commandsPerSync,
    syncLatencyP50Ms: status.sync.p50Ms,
    syncLatencyP99Ms: status.sync.p99Ms,
    inboxLength: status.inboxLength,
    loopDelayP99Ms: status.loopDelay.p99Ms,
  };
}
