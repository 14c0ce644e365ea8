/**
 * Source of this gateway's limits. A single gateway uses its own ledger; a gateway in a group gets leases from the
 * group's ledger.
 */
import type { GatewayConfig } from "../config/schema.ts";
import { limitsOfTeam } from "../access/teams.ts";
import { LocalLimits, type LimitSource } from "../limits/account.ts";
import { LeasedLimits } from "../limits/leases.ts";
import { LimitLedger } from "../limits/ledger.ts";
import { periodStartMs } from "../limits/window.ts";
import type { CountedUse } from "../limits/wire.ts";
import { secretOf } from "../replicas/pool-headers.ts";
import { spentSince } from "../usage/reader.ts";

export interface LimitParts {
  readonly life: number;
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
  const limits = new LeasedLimits({
    address: config.coordinator,
    secret: config.coordinatorSecret === undefined ? "" : secretOf(config.coordinatorSecret),
    member: config.id,
    life: parts.life,
    spent,
    now: parts.now,
    log: parts.log,
  });
  await limits.start();
  return limits;
}

/** Amounts that the usage files record for the current periods. Budgets continue from them after a start. */
function spentOf(config: GatewayConfig, { directory, now }: LimitParts): readonly CountedUse[] {
  const used: CountedUse[] = [];
  for (const period of ["day", "month"] as const) {
    const teams = config.teams.filter((team) => team.budget?.period === period);
    if (teams.length === 0) continue;
    const spent = spentSince(directory, periodStartMs(period, now()));
    for (const team of teams) {
      const amount = spent.get(team.name) ?? 0;
      const { money } = limitsOfTeam(team);
      if (amount > 0 && money !== undefined) used.push({ definition: money, ages: [[0, amount]] });
    }
  }
  return used;
}
