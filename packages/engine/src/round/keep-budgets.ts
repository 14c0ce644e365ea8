/**
 * Changes of budgets caused by time. Warnings and the use-up of budgets are recorded, budgets are renewed, and running
 * work is stopped when a hard budget is used up.
 */
import { BUDGET_SPENT_PERCENT, BUDGET_WARNING_PERCENT } from "@headroom/model";
import type { Budget, TeamName } from "@headroom/model";
import { isUnder } from "../cluster/team-node.ts";
import { nextLook, wakeForBudget } from "../apply/accounts.ts";
import type { Batch } from "../batch/batch.ts";
import { accrued, periodStartMs, spentOf } from "../usage/account.ts";
import { isWaitingForCheckpoint, requestStop } from "../transitions/stop-attempt.ts";
import { workloadOf } from "../cluster/entities.ts";
import { isSpent } from "../usage/gate.ts";

export function keepBudgets(batch: Batch): void {
  const { world, nowMs } = batch;
  for (const name of world.state.accounts.keys()) {
    const budget = world.state.teams.get(name)?.budget;
    if (budget === undefined) continue;
    const isDone = keepBudget(batch, name, budget);
    if ((world.budgets.wakes.get(name) ?? 0) <= nowMs) world.budgets.wakes.delete(name);
    if (!isDone) wakeForBudget(world, name, nowMs);
    const next = nextLook(world, name, nowMs);
    if (next !== null) wakeForBudget(world, name, Math.max(next, nowMs + 1));
  }
}

/** Returns whether no stop is left for a later batch. */
function keepBudget(batch: Batch, team: TeamName, budget: Budget): boolean {
  const { world, nowMs: atMs } = batch;
  const { accounts } = world.state;
  const startMs = periodStartMs(budget, atMs);
  const crossed = accounts.get(team)?.crossed;
  if (crossed !== undefined && crossed.periodStartMs !== startMs)
    batch.emit({ kind: "budgetRenewed", version: 2, atMs, team });
  const account = accounts.get(team);
  if (account === undefined) return true;
  const now = accrued(account, budget, { rate: world.budgets.rate(team), nowMs: atMs });
  const { resource, limit, spent, part } = spentOf(now, budget);
  const percent = [BUDGET_SPENT_PERCENT, BUDGET_WARNING_PERCENT].find((bound) => part * 100 >= bound) ?? 0;
  if (percent > (account.crossed?.percent ?? 0))
    batch.emit({
      kind: "budgetCrossed",
      version: 1,
      atMs,
      team,
      percent,
      resource,
      limit,
      spent,
      periodStartMs: startMs,
    });
  return budget.over !== "stop" || !isSpent(world.state, team) || stopAll(batch, team);
}

/** Stops the running work of the team, as much as the batch may. Returns whether none is left. */
function stopAll(batch: Batch, team: TeamName): boolean {
  const { world } = batch;
  const above = world.teamUse.node(team);
  for (const attempt of world.state.attempts.values()) {
    if (attempt.stop !== null && !isWaitingForCheckpoint(attempt)) continue;
    if (!isUnder(world.teamUse.node(workloadOf(world, attempt.workloadId).spec.team), above)) continue;
    if (attempt.stop === null && !batch.mayStop()) return false;
    requestStop(batch, attempt, "budgetSpent");
  }
  return true;
}
