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
import { requestStop } from "../transitions/stop-attempt.ts";
import { workloadOf } from "../cluster/entities.ts";
import { isSpent } from "../usage/gate.ts";

export function keepBudgets(batch: Batch): void {
  const { world, nowMs } = batch;
  for (const name of world.state.accounts.keys()) {
    const budget = world.state.teams.get(name)?.budget;
    if (budget === undefined) continue;
    keepBudget(batch, name, budget);
    if ((world.budgets.wakes.get(name) ?? 0) <= nowMs) world.budgets.wakes.delete(name);
    const next = nextLook(world, name, nowMs);
    if (next !== null) wakeForBudget(world, name, Math.max(next, nowMs + 1));
  }
}

function keepBudget(batch: Batch, team: TeamName, budget: Budget): void {
  const { world, nowMs: atMs } = batch;
  const { accounts } = world.state;
  const startMs = periodStartMs(budget, atMs);
  const crossed = accounts.get(team)?.crossed;
  if (crossed !== undefined && crossed.periodStartMs !== startMs)
    batch.emit({ kind: "budgetRenewed", version: 2, atMs, team });
  const account = accounts.get(team);
  if (account === undefined) return;
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
  if (budget.over === "stop" && isSpent(world.state, team)) stopAll(batch, team);
}

function stopAll(batch: Batch, team: TeamName): void {
  const { state, teamUse } = batch.world;
  const attempts = [...state.attempts.values()].filter(({ workloadId }) =>
    isUnder(teamUse.node(workloadOf(batch.world, workloadId).spec.team), teamUse.node(team)),
  );
  for (const attempt of attempts) requestStop(batch, attempt, "budgetSpent");
}
