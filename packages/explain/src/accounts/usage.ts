/** Usage and free capacity from the indexes, at the engine's clock, for views. */
import {
  accrued,
  gpuHoursOf,
  microUsdOf,
  periodStartMs,
  renewalMs,
  budgetForecast,
  isSpent,
  worldOf,
  AVERAGE_ONE,
  usageKey,
  ACCELERATORS_AT,
  CORES_AT,
  MEMORY_AT,
} from "@headroom/engine/internals";
import { clockOf } from "@headroom/engine";
import type { BudgetForecast, Engine } from "@headroom/engine";
import type { AttemptId, MaintenanceWindow, NodeId, TeamName } from "@headroom/model";

export interface AccountView {
  readonly gpuHours: number;
  readonly microUsd: number;
  /** Start of the current budget period; 0 for a budget that does not renew. */
  readonly periodStartMs: number;
  readonly renewsAtMs: number | null;
  readonly isSpent: boolean;
  /** The time at which all figures of this view hold. */
  readonly atMs: number;
  /** Forecast of the time at which the budget is used up. `null` if it is used up already. */
  readonly forecast: BudgetForecast | null;
}

/** The budget account of a team. `null` if the team has no budget. */
export function accountOf(engine: Engine, team: TeamName): AccountView | null {
  const { state, budgets } = worldOf(engine);
  const budget = state.teams.get(team)?.budget;
  const account = state.accounts.get(team);
  if (budget === undefined || account === undefined) return null;
  const nowMs = clockOf(engine);
  const rate = budgets.rate(team);
  const now = accrued(account, budget, { rate, nowMs });
  return {
    gpuHours: gpuHoursOf(now),
    microUsd: microUsdOf(now),
    periodStartMs: periodStartMs(budget, nowMs),
    renewsAtMs: renewalMs(budget, nowMs),
    isSpent: isSpent(state, team),
    atMs: nowMs,
    forecast: budgetForecast(now, budget, rate),
  };
}

export interface DecayedUsageView {
  readonly accelerators: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
}

/** The team's decayed average usage. `null` if the active policy does not count past usage. */
export function decayedUsageOf(engine: Engine, team: TeamName): DecayedUsageView | null {
  const { decayedUsage } = worldOf(engine);
  if (decayedUsage.halfLife === null) return null;
  const [cores, memory, accelerators] = decayedUsage.average(usageKey(team), clockOf(engine));
  return {
    accelerators: Math.round(accelerators / AVERAGE_ONE) / 1000,
    coresMilli: Math.round(cores / AVERAGE_ONE),
    memoryMib: Math.round(memory / AVERAGE_ONE),
  };
}

/** The maintenance window that is open on each node now. A node in several windows has the one that ends last. */
export function openMaintenance(engine: Engine): ReadonlyMap<NodeId, MaintenanceWindow> {
  const nowMs = clockOf(engine);
  const open = new Map<NodeId, MaintenanceWindow>();
  for (const { window, nodes } of worldOf(engine).calendar.windows) {
    if (window.kind !== "maintenance" || window.startMs > nowMs || window.endMs <= nowMs) continue;
    for (const id of nodes) if (window.endMs > (open.get(id)?.endMs ?? 0)) open.set(id, window);
  }
  return open;
}

/** Attempts on the node, and its free capacity. */
export function nodeUse(
  engine: Engine,
  id: NodeId,
): {
  readonly attempts: readonly AttemptId[];
  readonly freeCount: number;
  readonly coresFreeMilli: number;
  readonly memoryFreeMib: number;
  readonly networkFreeGbps: number;
} {
  const slot = worldOf(engine).capacity.slot(id);
  const { attempts, freeCount, coresFreeMilli, memoryFreeMib } = slot;
  const networkFreeGbps = slot.networkLeft("idle");
  return { attempts: [...attempts.keys()], freeCount, coresFreeMilli, memoryFreeMib, networkFreeGbps };
}

/** Accelerators held by the team and its subteams, by type. */
export function teamHolds(engine: Engine, team: TeamName): ReadonlyMap<string, number> {
  return worldOf(engine).teamUse.usedByType(team);
}

/** Accelerators of the family's types held by the team and its subteams. */
export const teamHoldsOfFamily = (engine: Engine, team: TeamName, family: string): number =>
  worldOf(engine).teamUse.used(team, family);

/** Accelerators of all types, cores and memory held by the team and its subteams. */
export function teamHoldsInAll(
  engine: Engine,
  team: TeamName,
): { readonly accelerators: number; readonly coresMilli: number; readonly memoryMib: number } {
  const { used } = worldOf(engine).teamUse.node(team);
  return {
    accelerators: (used[ACCELERATORS_AT] ?? 0) / 1000,
    coresMilli: used[CORES_AT] ?? 0,
    memoryMib: used[MEMORY_AT] ?? 0,
  };
}
