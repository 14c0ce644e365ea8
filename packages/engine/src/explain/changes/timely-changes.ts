/**
 * Changes that remove a hold reason: a hold, a start time, a start window, a used-up budget. While a hold reason
 * applies, no other change starts the workload.
 */
import { accrued, gpuHoursOf, microUsdOf } from "../../usage/account.ts";
import { isSpent, spentBudget } from "../../usage/gate.ts";
import type { Input } from "../../contract/inputs.ts";
import type { Budget } from "../../model/budget.ts";
import type { TeamName, WorkloadId } from "../../model/ids.ts";
import type { Team } from "../../model/team.ts";
import type { StartWindowCondition, Workload, WorkloadSpec } from "../../model/workload.ts";
import { mayStart } from "../../cluster/start-window.ts";
import { PowerForecast } from "../../energy/power-forecast.ts";
import { compareText } from "../../base/canonical.ts";
import { isWaitingForTime } from "../../state/ready-task.ts";
import type { World } from "../../cluster/world.ts";
import type { Change, LargerBudget } from "./change.ts";
import { changedSpec } from "./changed-spec.ts";
import { counterfactualCommand } from "./counterfactuals.ts";
import { everySet } from "./values.ts";

export type TimelyChange = Extract<
  Change,
  { readonly kind: "release" | "dropNotBefore" | "dropStartWindow" | "largerBudget" }
>;

/**
 * Values to try, smallest first; `null`: the workload has no hold reason. Empty: it has two, so no single change
 * suffices.
 */
export function timelyChanges(world: World, waiting: Workload, nowMs: number): readonly TimelyChange[] | null {
  const { held, waitsFor, waitsForStartWindow, spec } = waiting;
  const { team, notBeforeMs = 0, startWindow } = spec;
  const isSpentOf = spentBudget(world.state, team) !== null;
  if (!isSpentOf && !isWaitingForTime(waiting, nowMs)) return null;
  const ways: (readonly TimelyChange[])[] = [];
  if (waitsFor !== undefined) ways.push([]);
  if (held === true) ways.push([{ kind: "release" }]);
  if (notBeforeMs > nowMs) ways.push([{ kind: "dropNotBefore", atMs: notBeforeMs }]);
  if (waitsForStartWindow === true && startWindow !== undefined) ways.push(fewerConditions(world, spec, nowMs));
  if (isSpentOf) ways.push(largerBudgets(world, team, nowMs));
  const [way, other] = ways;
  return other === undefined ? (way ?? []) : [];
}

/** Sets of start-window conditions whose removal would make the workload eligible now, smaller sets first. */
function fewerConditions(world: World, spec: WorkloadSpec, nowMs: number): readonly TimelyChange[] {
  const { latestStartMs: _latest, ...conditions } = spec.startWindow ?? {};
  const stated = (Object.keys(conditions) as StartWindowCondition[]).toSorted(compareText);
  const forecast = new PowerForecast(world.state, nowMs);
  return everySet(stated)
    .map((set) => ({ kind: "dropStartWindow", conditions: set }) as const)
    .filter((change) => mayStart(world, changedSpec(spec, change), forecast, nowMs));
}

/** GPU-hours are raised to a whole hour, money to a whole dollar. */
const MICRO_USD = 1_000_000;

function largerBudgets(world: World, name: TeamName, nowMs: number): readonly TimelyChange[] {
  const { teams } = world.state;
  const budgets: LargerBudget[] = [];
  for (let at: TeamName | null = name; at !== null; at = teams.get(at)?.parent ?? null) {
    const budget = teams.get(at)?.budget;
    if (budget !== undefined && budget.over !== "warn" && isSpent(world.state, at))
      budgets.push(...largerBounds(world, { team: at, budget, nowMs }));
  }
  return budgets.length === 0 ? [] : [{ kind: "largerBudget", budgets }];
}

interface SpentBudget {
  readonly team: TeamName;
  readonly budget: Budget;
  readonly nowMs: number;
}

function largerBounds({ state, budgets }: World, { team, budget, nowMs }: SpentBudget): readonly LargerBudget[] {
  const account = state.accounts.get(team);
  if (account === undefined) return [];
  const now = accrued(account, budget, { rate: budgets.rate(team), nowMs });
  const bound = (
    resource: LargerBudget["resource"],
    from: number | undefined,
    { spent, unit }: { readonly spent: number; readonly unit: number },
  ): readonly LargerBudget[] =>
    from === undefined || spent < from ? [] : [{ team, resource, from, to: (Math.floor(spent / unit) + 1) * unit }];
  return [
    ...bound("gpuHours", budget.gpuHours, { spent: gpuHoursOf(now), unit: 1 }),
    ...bound("money", budget.microUsd, { spent: microUsdOf(now), unit: MICRO_USD }),
  ];
}

/** Inputs of the change, apart from a new submission of the workload; `target` is `null` if it is not submitted yet. */
export function timelyInputs({ state }: World, change: TimelyChange, target: WorkloadId | null): readonly Input[] {
  if (change.kind === "release")
    return target === null ? [] : [counterfactualCommand({ kind: "releaseWorkload", workloadId: target })];
  if (change.kind !== "largerBudget") return [];
  const teams = new Map<TeamName, Team>();
  for (const { team: name, resource, to } of change.budgets) {
    const team = teams.get(name) ?? state.teams.get(name);
    if (team?.budget === undefined) continue;
    const budget = { ...team.budget, [resource === "money" ? "microUsd" : "gpuHours"]: to };
    teams.set(name, { ...team, budget });
  }
  return [counterfactualCommand({ kind: "apply", sites: [], pools: [], teams: [...teams.values()], workloads: [] })];
}
