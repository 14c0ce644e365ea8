/**
 * Source of this gateway's limits. A single gateway uses its own ledger; a gateway in a group gets leases from the
 * group's ledger.
 */
import path from "node:path";
import type { GatewayConfig, TeamConfig } from "../config/schema.ts";
import { coordinatorSecretOf } from "../config/secrets.ts";
import { accountOf, limitsOfTeam } from "../access/teams.ts";
import { LocalLimits, type LimitSource } from "../limits/account.ts";
import { LeasedLimits } from "../limits/leases.ts";
import { LimitLedger } from "../limits/ledger.ts";
import { periodStartMs, type Period } from "../limits/window.ts";
import type { CountedUse } from "../limits/wire.ts";
import { SpendingReader } from "../usage/reader.ts";

export interface LimitParts {
  readonly life: number;
  /** Folder of this gateway's usage files. */
  readonly directory: string;
  now(): number;
  log(line: string): void;
}

export async function limitsOf(config: GatewayConfig, parts: LimitParts): Promise<LimitSource> {
  const spent = spentOf(config, parts);
  if (config.coordinator === undefined) {
    const ledger = new LimitLedger();
    for (const { definition, ages } of spent) {
      for (const [age, amount] of ages) ledger.import(definition, { age, amount }, parts.now());
    }
    return new LocalLimits(ledger, parts.now);
  }
  const { host, port } = config.coordinator;
  const limits = new LeasedLimits({
    address: config.coordinator,
    secret: config.coordinatorSecret === undefined ? "" : coordinatorSecretOf(config.coordinatorSecret),
    member: config.id,
    life: parts.life,
    // Gateways of one machine share it. The id of a gateway cannot begin with a dot.
    directory: path.join(config.state, `.limits-${host.replaceAll(/[^A-Za-z0-9.-]/g, "_")}-${port}`),
    spent,
    now: parts.now,
    log: parts.log,
  });
  await limits.start();
  return limits;
}

/** Amounts that the usage files record for the current periods. Budgets continue from them after a start. */
function spentOf(config: GatewayConfig, parts: LimitParts): readonly CountedUse[] {
  return spendingOf(config.teams, parts).flatMap((spending) => {
    while (spending.reader.readBlock());
    return countedOf(spending, config);
  });
}

/**
 * Reads what the teams have spent whose budgets `next` adds, or to which it gives another period. Resolves with a
 * function that counts it, to be called in the turn of the event loop in which `next` is applied. Undefined if there is
 * no such budget.
 */
export async function spentBeforeBudget(
  before: GatewayConfig,
  next: GatewayConfig,
  parts: Pick<LimitParts, "directory" | "now">,
): Promise<((limits: LimitSource) => void) | undefined> {
  const periods = new Map(before.teams.map(({ name, budget }) => [name, budget?.period]));
  const added = spendingOf(
    next.teams.filter(({ name, budget }) => budget?.period !== periods.get(name)),
    parts,
  );
  if (added.length === 0) return undefined;
  for (const { reader } of added) {
    while (reader.readBlock()) await new Promise((resolve) => setImmediate(resolve));
  }
  return (limits) => {
    for (const spending of added) {
      while (spending.reader.readBlock());
      for (const { definition, ages } of countedOf(spending, next)) limits.countSpent(definition, ages[0]![1]);
    }
  };
}

interface Spending {
  readonly teams: readonly TeamConfig[];
  readonly reader: SpendingReader;
}

/** Readers of what the teams have spent, one for each period of their budgets. */
function spendingOf(
  teams: readonly TeamConfig[],
  { directory, now }: Pick<LimitParts, "directory" | "now">,
): Spending[] {
  const periods: readonly Period[] = ["day", "month"];
  return periods.flatMap((period) => {
    const budgeted = teams.filter(({ budget }) => budget?.period === period);
    if (budgeted.length === 0) return [];
    return [{ teams: budgeted, reader: new SpendingReader(directory, periodStartMs(period, now())) }];
  });
}

/** Amounts of the teams, with those of teams below whose access tokens count to them. */
function countedOf({ teams, reader }: Spending, config: GatewayConfig): CountedUse[] {
  const listed = new Set(config.teams.map(({ name }) => name));
  const takesTokens = config.controlPlane?.accessTokens === true;
  const spent = new Map<string, number>();
  for (const [team, amount] of reader.spent()) {
    const account = takesTokens ? accountOf(team, listed) : team;
    if (account !== undefined) spent.set(account, (spent.get(account) ?? 0) + amount);
  }
  return teams.flatMap((team) => {
    const amount = spent.get(team.name) ?? 0;
    const { money } = limitsOfTeam(team);
    return amount > 0 && money !== undefined ? [{ definition: money, ages: [[0, amount]] as const }] : [];
  });
}
