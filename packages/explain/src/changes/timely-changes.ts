/**
 * Changes that remove a hold reason: a hold, a start time, a start window, a used-up budget. While a hold reason
 * applies, no other change starts the workload.
 */
import {
  accrued,
  gpuHoursOf,
  microUsdOf,
  isSpent,
  spentBudget,
  mayStart,
  PowerForecast,
  isWaitingForTime,
} from "@headroom/engine/internals";
import type { World } from "@headroom/engine/internals";
import { compareText } from "@headroom/model";
import type {
  Input,
  Budget,
  TeamName,
  WorkloadId,
  Team,
  StartWindowCondition,
  Workload,
  WorkloadSpec,
} from "@headroom/model";
import type { Change, LargerBudget } from "./change.ts";
import { appliedDocuments, counterfactualCommand } from "./counterfactuals.ts";
import type { Question } from "./counterfactuals.ts";
import { everySet } from "./values.ts";

export interface TimelyChange {
  readonly change: Change;
  /** The spec with which the workload is submitted again. `null` if inputs alone remove the hold reason. */
  readonly spec: WorkloadSpec | null;
  readonly inputs: readonly Input[];
}

/**
 * Values to try, smallest first. `null` if the workload has no hold reason. The list is empty if it has two hold
 * reasons, because no single change suffices.
 */
export function timelyChanges(
  world: World,
  waiting: Workload,
  { spec, target, counterfactuals: { nowMs } }: Question,
): readonly TimelyChange[] | null {
  const { held, waitsFor, waitsForStartWindow } = waiting;
  const { notBeforeMs = 0 } = spec;
  const isOverBudget = spentBudget(world.state, spec.team) !== null;
  if (!isOverBudget && !isWaitingForTime(waiting, nowMs)) return null;
  const ways: (readonly TimelyChange[])[] = [];
  if (waitsFor !== undefined) ways.push([]);
  if (held === true) ways.push([released(spec, target)]);
  if (notBeforeMs > nowMs) {
    const { notBeforeMs: _notBefore, ...rest } = spec;
    ways.push([{ change: { kind: "dropNotBefore", atMs: notBeforeMs }, spec: rest, inputs: [] }]);
  }
  if (waitsForStartWindow === true && spec.startWindow !== undefined) ways.push(fewerConditions(world, spec, nowMs));
  if (isOverBudget) ways.push(largerBudgets(world, spec.team, nowMs));
  const [way, other] = ways;
  return other === undefined ? (way ?? []) : [];
}

function released(spec: WorkloadSpec, target: WorkloadId | null): TimelyChange {
  const change = { kind: "release" } as const;
  if (target !== null)
    return { change, spec: null, inputs: [counterfactualCommand({ kind: "releaseWorkload", workloadId: target })] };
  const { hold: _hold, ...rest } = spec;
  return { change, spec: rest, inputs: [] };
}

/** Sets of start-window conditions whose removal would make the workload eligible now, smaller sets first. */
function fewerConditions(world: World, spec: WorkloadSpec, nowMs: number): readonly TimelyChange[] {
  const { startWindow = {}, ...rest } = spec;
  const { latestStartMs, ...stated } = startWindow;
  const latest = latestStartMs === undefined ? {} : { latestStartMs };
  const forecast = new PowerForecast(world.state, nowMs);
  return everySet((Object.keys(stated) as StartWindowCondition[]).toSorted(compareText))
    .map((conditions): TimelyChange & { readonly spec: WorkloadSpec } => {
      const kept = Object.entries(stated).filter(([field]) => !conditions.some((each) => each === field));
      // A start window without conditions is removed, together with its latest start.
      const window = kept.length === 0 ? {} : { startWindow: { ...Object.fromEntries(kept), ...latest } };
      return { change: { kind: "dropStartWindow", conditions }, spec: { ...rest, ...window }, inputs: [] };
    })
    .filter((change) => mayStart(world, change.spec, forecast, nowMs));
}

/** GPU-hours are raised to a whole hour, money to a whole dollar. */
const MICRO_USD = 1_000_000;

function largerBudgets(world: World, name: TeamName, nowMs: number): readonly TimelyChange[] {
  const { teams } = world.state;
  const budgets: LargerBudget[] = [];
  const larger: Team[] = [];
  for (let at: TeamName | null = name; at !== null; at = teams.get(at)?.parent ?? null) {
    const team = teams.get(at);
    if (team?.budget === undefined || team.budget.over === "warn" || !isSpent(world.state, at)) continue;
    const bounds = largerBounds(world, at, team.budget, nowMs);
    budgets.push(...bounds);
    const raised = bounds.map(({ resource, to }) => [resource === "money" ? "microUsd" : "gpuHours", to]);
    larger.push({ ...team, budget: { ...team.budget, ...Object.fromEntries(raised) } });
  }
  if (budgets.length === 0) return [];
  return [{ change: { kind: "largerBudget", budgets }, spec: null, inputs: [appliedDocuments({ teams: larger })] }];
}

/** The limits of a budget that are used up, each raised to the next whole unit above the usage. */
function largerBounds(
  { state, budgets }: World,
  team: TeamName,
  budget: Budget,
  nowMs: number,
): readonly LargerBudget[] {
  const account = state.accounts.get(team);
  if (account === undefined) return [];
  const now = accrued(account, budget, { rate: budgets.rate(team), nowMs });
  const limits = [
    { resource: "gpuHours", from: budget.gpuHours, spent: gpuHoursOf(now), unit: 1 },
    { resource: "money", from: budget.microUsd, spent: microUsdOf(now), unit: MICRO_USD },
  ] as const;
  return limits.flatMap(({ resource, from, spent, unit }) =>
    from === undefined || spent < from ? [] : [{ team, resource, from, to: (Math.floor(spent / unit) + 1) * unit }],
  );
}
