/** `@headroom/gateway`: the inference data plane, a process of its own. Start at `startGateway`. */
export { loadConfig, type ConfigProblem, type LoadedConfig } from "./config/load.ts";
export { checkAddresses } from "./config/exposure.ts";
export { referenceProblems } from "./config/references.ts";
export type { GatewayConfig } from "./config/schema.ts";
export { startGateway, type RunningGateway } from "./gateway/start.ts";
export { presets, startCommand } from "./presets/index.ts";
export type { EnginePreset } from "./presets/preset.ts";
export { newKey } from "./access/teams.ts";
export { changeKeyFile, readKeyFile } from "./access/key-file.ts";
export { misfitOf, withStoredKeys } from "./access/stored-config.ts";
export { KeyRefusal, revokeKey, rotateKey } from "./access/stored-keys.ts";
export type { CreatedKey } from "./access/stored-keys.ts";
export { createOwnKey, shownKeys, type KeyAdmin, type ShownKey } from "./gateway/admin-keys.ts";
export { knownAdminToken } from "./gateway/admin-token.ts";
export {
  emptyLedger,
  gatewaysIn,
  readLedger,
  settleInto,
  writeLedger,
  type UsageTotal,
} from "./usage/billing-ledger.ts";
export { settleUsage, usageStart, type SettledUsage, type SettleOptions, type UsageCursor } from "./usage/reader.ts";
export { findUsageRecord } from "./usage/find-record.ts";
export type { UsageRecord } from "./usage/record.ts";
