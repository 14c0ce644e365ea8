/** Budgets of endpoints as time passes: percentages are recorded, spent ones bound the number of replicas, new periods free it. */
import {
  BUDGET_SPENT_PERCENT,
  BUDGET_WARNING_PERCENT,
  endpointPeriodStartMs,
  isBudgetSpent,
  replicaBounds,
} from "@headroom/model";
import type { Workload, WorkloadId } from "@headroom/model";
import { wakeForEndpoint } from "../apply/endpoint-accounts.ts";
import type { Batch } from "../batch/batch.ts";
import { moneyRateOf } from "../cluster/budget-index.ts";
import { recordScale, recordScaleChange } from "../lifecycle/scale-endpoint.ts";
import { accruedEndpoint, spentMicroUsd } from "../usage/endpoint-account.ts";

const ACTOR = "budget";

export function keepEndpointBudgets(batch: Batch): void {
  const { world, nowMs } = batch;
  const { endpointWakes } = world.budgets;
  for (const id of world.endpoints) {
    if ((endpointWakes.get(id) ?? 0) <= nowMs) endpointWakes.delete(id);
    if (presentOf(batch, id)?.account !== undefined) recordParts(batch, id);
    keepBounds(batch, id);
    const kept = presentOf(batch, id);
    if (kept !== null) wakeForEndpoint(world, kept, nowMs);
  }
}

function presentOf({ world }: Batch, id: WorkloadId): Workload | null {
  const workload = world.state.workloads.get(id);
  return workload === undefined || workload.endedAtMs !== null || workload.stopRequested ? null : workload;
}

function recordParts(batch: Batch, workloadId: WorkloadId): void {
  const { world, nowMs: atMs } = batch;
  const workload = presentOf(batch, workloadId);
  if (workload?.spec.kind !== "serve" || workload.account === undefined) return;
  const { budget } = workload.spec;
  if (budget === undefined) return;
  const periodStartMs = endpointPeriodStartMs(budget, atMs);
  const { crossed } = workload.account;
  if (crossed !== undefined && crossed.periodStartMs !== periodStartMs)
    batch.emit({ kind: "endpointBudgetRenewed", version: 1, atMs, workloadId });
  const account = presentOf(batch, workloadId)?.account ?? workload.account;
  const spent = spentMicroUsd(
    accruedEndpoint(account, budget, { rate: moneyRateOf(world.state, workload), nowMs: atMs }),
  );
  const percent =
    [BUDGET_SPENT_PERCENT, BUDGET_WARNING_PERCENT].find((bound) => 100 * spent >= bound * budget.microUsd) ?? 0;
  if (percent > (account.crossed?.percent ?? 0))
    batch.emit({
      kind: "endpointBudgetCrossed",
      version: 1,
      atMs,
      workloadId,
      percent,
      limit: budget.microUsd,
      spent,
      periodStartMs,
    });
}

/**
 * While the budget is spent, no replica beyond its bounds stays. Afterwards an endpoint without targets gets the number back that it
 * had, and another one its minimum: its load adds the rest.
 */
function keepBounds(batch: Batch, id: WorkloadId): void {
  const workload = presentOf(batch, id);
  if (workload?.spec.kind !== "serve" || workload.scale === undefined) return;
  const { spec, scale, account } = workload;
  const budgeted = { spec, ...(account === undefined ? {} : { account }) };
  const { min, max } = replicaBounds(budgeted);
  const isSpent = isBudgetSpent(budgeted);
  const before = account?.replicasBefore ?? (scale.ground.kind === "budgetSpent" ? scale.from : undefined);
  if (!isSpent && before === undefined) return;
  const wanted = isSpent || spec.scale !== undefined || before === undefined ? scale.replicas : before;
  const replicas = Math.min(max, Math.max(min, wanted));
  const ground = { kind: isSpent ? "budgetSpent" : "budgetRenewed" } as const;
  if (replicas !== scale.replicas) recordScaleChange(batch, workload, { replicas, actor: ACTOR, ground });
  // The earlier number is not given back later, after changes of the bounds for other reasons.
  else if (!isSpent && spec.scale === undefined) recordScale(batch, id, { replicas, actor: ACTOR, ground });
}
