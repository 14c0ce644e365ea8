/**
 * The control plane as a process: journal, driver, HTTP API, authentication, metrics. The package must not make
 * scheduling decisions (the engine does) and must not show state that is not durable. Start with `server.ts`, then
 * `driver/`, `journal/`, `api/`.
 */
export { startControlPlane } from "./server.ts";
export { notificationRules } from "./notifications/rules.ts";
export type { NotificationRule } from "./notifications/rules.ts";
export type { ControlPlaneOptions, RunningControlPlane } from "./server.ts";
export { backUp, OWN_BACKUPS } from "./backup/backup.ts";
export { restore } from "./backup/restore.ts";
export { upgrade } from "./backup/upgrade.ts";
export { journalFormat } from "@headroom/journal";
export { openPowerReadings } from "./telemetry/power-readings.ts";
export { checkGatewayAddress } from "./gateway/gateway-reader.ts";
export type { GatewayAddress } from "./gateway/gateway-reader.ts";
export { checkExposure } from "./auth/exposure.ts";
export { readTlsFiles } from "@headroom/platform";
export type { TlsFiles } from "@headroom/platform";
export { OperationalError } from "@headroom/platform";
export type { DriverLog } from "./driver/driver-log.ts";
