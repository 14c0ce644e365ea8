/** `@headroom/gateway`: the inference data plane, a process of its own. Start at `startGateway`. */
export { loadConfig, type ConfigProblem } from "./config/load.ts";
export { referenceProblems } from "./config/references.ts";
export type { GatewayConfig } from "./config/schema.ts";
export { startGateway, type RunningGateway } from "./gateway/start.ts";
export { presets, startCommand } from "./presets/index.ts";
export type { EnginePreset } from "./presets/preset.ts";
export { newKey } from "./access/teams.ts";
export {
  emptyLedger,
  gatewaysIn,
  readLedger,
  settleInto,
  writeLedger,
  type UsageTotal,
} from "./usage/billing-ledger.ts";
export { settleUsage, usageStart, type SettledUsage, type SettleOptions, type UsageCursor } from "./usage/reader.ts";
export type { UsageRecord } from "./usage/record.ts";
