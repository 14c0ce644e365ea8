/**
 * `npm run validate:plan -- [--worlds N] [--futures N] [--json]`: compares plans with simple ways to buy on generated demand worlds, and
 * plays plans on futures drawn from their own forecasts, beside perfect foresight and a threshold rule. Prints the figures of
 * docs/promises.md; the exit code is 1 if one is missed.
 */
import { checkPlan, loadSolver, makePlan, type PlanDocument, type Solver } from "@headroom/plan";
import { baselineCost } from "../../packages/plan/src/baselines/baselines.ts";
import { planProblem } from "../../packages/plan/src/document/plan-problem.ts";
import { mainLines, planRule, thresholdRule } from "../../packages/plan/src/futures/rules.ts";
import { drawFuture, foresightCost, playFuture } from "../../packages/plan/src/futures/simulate-futures.ts";
import { demandWorld } from "../../packages/plan/src/testing/generated-plans.ts";
import { argumentsOf, InputError, withInputErrors } from "./input-error.ts";

const MONTHS = 36;
/** The futures are spread over this many worlds. */
const FUTURE_WORLDS = 20;
/** Utilisation at which the threshold rule orders. */
const THRESHOLD = 0.8;

function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function plannedWorld(
  solver: Solver,
  seed: number,
): { document: PlanDocument; outcome: Extract<ReturnType<typeof makePlan>, { kind: "planned" }> } {
  const document = demandWorld(seed, { months: MONTHS, scenarios: 5 });
  const outcome = makePlan(solver, document);
  if (outcome.kind !== "planned") throw new Error(`world ${seed} has no plan`);
  return { document, outcome };
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

async function compareFutures(count: number): Promise<Record<string, number>> {
  const [regrets, ruleRegrets, gaps]: number[][] = [[], [], []];
  let [short, unmet, beyond] = [0, 0, 0];
  const each = Math.ceil(count / FUTURE_WORLDS);
  for (let world = 1; world <= FUTURE_WORLDS; world += 1) {
    const solver = await loadSolver();
    const { document, outcome } = plannedWorld(solver, 1000 + world);
    const problem = planProblem(document);
    const rule = planRule(problem, outcome.decisions);
    const threshold = thresholdRule(problem, mainLines(problem, outcome.decisions), THRESHOLD);
    const utilisations: number[] = [];
    for (let index = 0; index < each; index += 1) {
      const future = drawFuture(problem, world * 100_003 + index);
      const played = playFuture(problem, outcome.decisions.kept, rule, future);
      const other = playFuture(problem, outcome.decisions.kept, threshold, future);
      const least = foresightCost(solver, problem, future);
      regrets!.push(played.costUsd / least - 1);
      ruleRegrets!.push(other.costUsd / least - 1);
      utilisations.push(played.utilisation);
      short += played.shortShare;
      unmet += played.unmetShare;
      if (played.shortShare > document.riskPct / 100) beyond += 1;
    }
    gaps!.push(100 * (mean(utilisations) - outcome.plan.utilisation));
  }
  const futures = each * FUTURE_WORLDS;
  return {
    futures,
    futures_short_beyond_risk_pct: (100 * beyond) / futures,
    months_short_pct: (100 * short) / futures,
    demand_unmet_pct: (100 * unmet) / futures,
    utilisation_gap_mean_points: mean(gaps!.map(Math.abs)),
    utilisation_gap_most_points: Math.max(...gaps!.map(Math.abs)),
    regret_mean_pct: 100 * mean(regrets!),
    threshold_regret_mean_pct: 100 * mean(ruleRegrets!),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

async function main(): Promise<void> {
  const { values } = argumentsOf(
    { options: { json: { type: "boolean" }, worlds: { type: "string" }, futures: { type: "string" } } },
    "usage: npm run validate:plan -- [--worlds N] [--futures N] [--json]",
  );
  const count = (text: string | undefined, usual: number): number => {
    const number = text === undefined ? usual : Number(text);
    if (!Number.isInteger(number) || number < 0) throw new InputError(`expected a number, got ${text}`);
    return number;
  };
  const [worlds, futures] = [count(values.worlds, 100), count(values.futures, 1000)];
  const result = {
    ...(worlds > 0 ? { worlds: await compareWorlds(worlds) } : {}),
    ...(futures > 0 ? { futures: await compareFutures(futures) } : {}),
  };
  if (values.json === true) console.log(JSON.stringify(result, null, 2));
  else
    for (const part of Object.values(result))
      for (const [name, value] of Object.entries(part)) console.log(`${name.padEnd(32)} ${value.toFixed(2)}`);
  const { worlds: a, futures: b } = result;
  const isKept =
    (a === undefined || (a["breaches"] === 0 && a["worlds_above_10_pct"] === worlds)) &&
    (b === undefined ||
      (b["futures_short_beyond_risk_pct"]! <= 5 &&
        b["utilisation_gap_most_points"]! <= 3 &&
        b["regret_mean_pct"]! <= 15 &&
        b["regret_mean_pct"]! <= b["threshold_regret_mean_pct"]! / 2));
  process.exitCode = isKept ? 0 : 1;
}

try {
  await main();
} catch (error) {
  withInputErrors(() => {
    throw error;
  });
}
