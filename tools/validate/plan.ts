/**
 * `npm run validate:plan -- [--worlds N] [--futures N] [--scarce N] [--json]`: compares plans with simple ways to buy on generated
 * demand worlds, plays plans on futures drawn from their own forecasts, beside perfect foresight and a threshold rule, and plays plans of
 * worlds in which capacity on demand is scarce. Prints the figures of
 * docs/promises.md; the exit code is 1 if one is missed.
 */
import { checkPlan, loadSolver, makePlan, type PlanDocument, type Solver } from "@headroom/plan";
import { baselineCost } from "../../packages/plan/src/baselines/baselines.ts";
import { planProblem } from "../../packages/plan/src/document/plan-problem.ts";
import { mainLines, planRule, thresholdRule } from "../../packages/plan/src/futures/rules.ts";
import { drawFuture, foresightCost, playFuture } from "../../packages/plan/src/futures/simulate-futures.ts";
import { demandWorld, scarceWorld } from "../../packages/plan/src/testing/generated-plans.ts";
import { argumentsOf, InputError, withInputErrors } from "./input-error.ts";

const MONTHS = 36;
/** The futures are spread over this many worlds. */
const FUTURE_WORLDS = 20;
/** Futures of a world over which its utilisation and its shortage are averaged: they need no perfect foresight, so they are cheap. */
const PLAYED = 150;
/** Utilisation at which the threshold rule orders. */
const THRESHOLD = 0.8;

function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function planned(
  solver: Solver,
  document: PlanDocument,
): { document: PlanDocument; outcome: Extract<ReturnType<typeof makePlan>, { kind: "planned" }> } {
  const outcome = makePlan(solver, document);
  if (outcome.kind !== "planned") throw new Error(`${document.name} has no plan`);
  return { document, outcome };
}

function plannedWorld(solver: Solver, seed: number): ReturnType<typeof planned> {
  return planned(solver, demandWorld(seed, { months: MONTHS, scenarios: 5 }));
}

async function compareWorlds(count: number): Promise<Record<string, number>> {
  const savings: number[] = [];
  const best: Record<string, number> = { own: 0, reserve: 0, onDemand: 0 };
  let [breaches, seconds] = [0, 0];
  for (let seed = 1; seed <= count; seed += 1) {
    const solver = await loadSolver();
    const before = processorSeconds();
    const { document, outcome } = plannedWorld(solver, seed);
    seconds += processorSeconds() - before;
    breaches += checkPlan(document, outcome.plan).length;
    const problem = planProblem(document);
    const costs = (["own", "reserve", "onDemand"] as const).map((name) => ({
      name,
      usd: baselineCost(problem, name) ?? Infinity,
    }));
    const cheapest = costs.toSorted((a, b) => a.usd - b.usd)[0]!;
    best[cheapest.name]! += 1;
    savings.push(1 - outcome.plan.costUsd / cheapest.usd);
  }
  savings.sort((a, b) => a - b);
  return {
    worlds: count,
    breaches,
    saving_mean_pct: 100 * mean(savings),
    saving_least_pct: 100 * savings[0]!,
    worlds_above_10_pct: savings.filter((saving) => saving >= 0.1).length,
    best_own: best["own"]!,
    best_reserve: best["reserve"]!,
    best_on_demand: best["onDemand"]!,
    processor_s_per_plan: seconds / count,
  };
}

/** Means over futures of one plan, followed with monthly reviews. */
function playedOf({ document, outcome }: ReturnType<typeof planned>, seed: number): Record<string, number> {
  const problem = planProblem(document);
  const rule = planRule(problem, outcome.decisions);
  const shortByMonth = Array.from({ length: problem.months }, () => 0);
  let [utilisation, unmet] = [0, 0];
  for (let index = 0; index < PLAYED; index += 1) {
    const played = playFuture(problem, outcome.decisions.kept, rule, drawFuture(problem, seed + index));
    utilisation += played.utilisation / PLAYED;
    unmet += played.unmetShare / PLAYED;
    for (const month of played.shortMonths) shortByMonth[month]! += 1 / PLAYED;
  }
  return { utilisation, unmet, short: mean(shortByMonth), shortWorstMonth: Math.max(...shortByMonth) };
}

async function compareFutures(count: number): Promise<Record<string, number>> {
  const [regrets, ruleRegrets, gaps]: number[][] = [[], [], []];
  const each = Math.ceil(count / FUTURE_WORLDS);
  for (let world = 1; world <= FUTURE_WORLDS; world += 1) {
    const solver = await loadSolver();
    const { document, outcome } = plannedWorld(solver, 1000 + world);
    const problem = planProblem(document);
    const rule = planRule(problem, outcome.decisions);
    const threshold = thresholdRule(problem, mainLines(problem, outcome.decisions), THRESHOLD);
    for (let index = 0; index < each; index += 1) {
      const future = drawFuture(problem, world * 100_003 + index);
      const played = playFuture(problem, outcome.decisions.kept, rule, future);
      const other = playFuture(problem, outcome.decisions.kept, threshold, future);
      const least = foresightCost(solver, problem, future);
      regrets!.push(played.costUsd / least - 1);
      ruleRegrets!.push(other.costUsd / least - 1);
    }
    const { utilisation } = playedOf({ document, outcome }, world * 200_003);
    gaps!.push(100 * (utilisation! - outcome.plan.utilisation));
  }
  return {
    futures: each * FUTURE_WORLDS,
    utilisation_gap_mean_points: mean(gaps!.map(Math.abs)),
    utilisation_gap_most_points: Math.max(...gaps!.map(Math.abs)),
    regret_mean_pct: 100 * mean(regrets!),
    threshold_regret_mean_pct: 100 * mean(ruleRegrets!),
  };
}

/** Worlds with little capacity on demand, where the accepted risk binds; beside a plan that accepts almost none. */
async function compareScarce(count: number): Promise<Record<string, number>> {
  const [short, worst, unmet, bound, savings, gaps]: number[][] = [[], [], [], [], [], []];
  for (let world = 1; world <= count; world += 1) {
    const solver = await loadSolver();
    const document = scarceWorld(2000 + world, { months: MONTHS, scenarios: 5 });
    const made = planned(solver, document);
    const safe = planned(solver, { ...document, riskPct: 0.1 });
    savings!.push(1 - made.outcome.plan.costUsd / safe.outcome.plan.costUsd);
    const risks = made.outcome.plan.byMonth.map(({ pools }) => pools[0]!.shortageRisk);
    bound!.push(risks.filter((risk) => risk > document.riskPct / 200).length / risks.length);
    const played = playedOf(made, world * 300_007);
    short!.push(played["short"]!);
    worst!.push(played["shortWorstMonth"]!);
    unmet!.push(played["unmet"]!);
    gaps!.push(Math.abs(played["utilisation"]! - made.outcome.plan.utilisation));
  }
  return {
    scarce_worlds: count,
    scarce_futures: count * PLAYED,
    accepted_risk_pct: 5,
    months_near_the_risk_pct: 100 * mean(bound!),
    months_short_mean_pct: 100 * mean(short!),
    months_short_worst_world_pct: 100 * Math.max(...short!),
    worst_month_short_mean_pct: 100 * mean(worst!),
    demand_unmet_mean_pct: 100 * mean(unmet!),
    scarce_utilisation_gap_most_points: 100 * Math.max(...gaps!),
    saving_beside_risk_of_a_thousandth_pct: 100 * mean(savings!),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

async function main(): Promise<void> {
  const { values } = argumentsOf(
    {
      options: {
        json: { type: "boolean" },
        worlds: { type: "string" },
        futures: { type: "string" },
        scarce: { type: "string" },
      },
    },
    "usage: npm run validate:plan -- [--worlds N] [--futures N] [--scarce N] [--json]",
  );
  const count = (text: string | undefined, usual: number): number => {
    const number = text === undefined ? usual : Number(text);
    if (!Number.isInteger(number) || number < 0) throw new InputError(`expected a number, got ${text}`);
    return number;
  };
  const [worlds, futures] = [count(values.worlds, 100), count(values.futures, 1000)];
  const scarce = count(values.scarce, 20);
  const result = {
    ...(worlds > 0 ? { worlds: await compareWorlds(worlds) } : {}),
    ...(futures > 0 ? { futures: await compareFutures(futures) } : {}),
    ...(scarce > 0 ? { scarce: await compareScarce(scarce) } : {}),
  };
  if (values.json === true) console.log(JSON.stringify(result, null, 2));
  else
    for (const part of Object.values(result))
      for (const [name, value] of Object.entries(part)) console.log(`${name.padEnd(32)} ${value.toFixed(2)}`);
  process.exitCode = isKept(result, worlds) ? 0 : 1;
}

function isKept(result: Record<string, Record<string, number>>, worlds: number): boolean {
  const { worlds: a, futures: b, scarce: c } = result;
  return (
    (a === undefined || (a["breaches"] === 0 && a["worlds_above_10_pct"] === worlds)) &&
    (b === undefined ||
      (b["utilisation_gap_most_points"]! <= 3 &&
        b["regret_mean_pct"]! <= 15 &&
        b["regret_mean_pct"]! <= b["threshold_regret_mean_pct"]! / 2)) &&
    (c === undefined || (c["months_short_worst_world_pct"]! <= 5 && c["scarce_utilisation_gap_most_points"]! <= 3))
  );
}

try {
  await main();
} catch (error) {
  withInputErrors(() => {
    throw error;
  });
}
