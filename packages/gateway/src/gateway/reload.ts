/** Applies new configurations, one after the other. */
import type { GatewayConfig } from "../config/schema.ts";
import type { LimitSource } from "../limits/account.ts";
import type { UsageLog } from "../usage/usage-log.ts";
import type { Gateway } from "./gateway.ts";
import { fieldsForRestart } from "./restart-fields.ts";
import { spentBeforeBudget } from "./shared-limits.ts";

export interface ReloadParts {
  readonly gateway: Gateway;
  readonly usage: UsageLog;
  readonly limits: LimitSource;
  /** Folder of the usage files. */
  readonly directory: string;
  now(): number;
  log(line: string): void;
}

const spentUnknown =
  "A budget is new or has another period, and the usage file cannot be written: what the team has spent is not known. " +
  "Reload when the disk takes records again.";

/** Returns a function that applies a configuration, and rejects if that one cannot be applied. */
export function reloads(first: GatewayConfig, parts: ReloadParts): (config: GatewayConfig) => Promise<void> {
  const { gateway, usage, limits } = parts;
  let active = first;
  let waiting = "";
  let last = Promise.resolve();
  const apply = async (config: GatewayConfig): Promise<void> => {
    const countSpent = await spentBeforeBudget(active, config, parts);
    // After this, the log knows whether the disk takes records.
    usage.flush();
    if (countSpent !== undefined && usage.isFailing) throw new Error(spentUnknown);
    // From here to the end nothing waits: no request can end between the reading of the records and the budget.
    gateway.apply(config);
    usage.flush();
    countSpent?.(limits);
    gateway.addBudgets();
    active = config;
    const fields = fieldsForRestart(first, config).join(", ");
    if (fields !== waiting && fields !== "") parts.log(`takes effect when the gateway is started again: ${fields}`);
    waiting = fields;
  };
  return (config) => {
    const applied = last.then(() => apply(config));
    last = applied.catch(() => undefined);
    return applied;
  };
}
