/** The offline optimum of a trace: see `plan.ts` for the method. */
import type { RequestTrace } from "@headroom/sim";
import type { ReplicaCapacity } from "../capacity.ts";
import { FixedScaler } from "../policies/fixed.ts";
import { ScheduledScaler } from "../policies/scheduled.ts";
import { ElasticServing } from "../simulation/elastic-serving.ts";
import type { ElasticSetting } from "../simulation/elastic-serving.ts";
import type { ScaledResult } from "../simulation/scaled-result.ts";
import { fluidMisses } from "./fluid-misses.ts";
import { cheapestPlan } from "./plan.ts";
import type { MissTable } from "./plan.ts";

const SLOT_MS = 10_000;
/** Constant numbers of replicas are tried until all but this share of the requests meet their objectives. */
const MISSED_LEFT = 0.0005;
/** Replicas without a gain after which more are not tried: some requests are too long for the objectives. */
const NO_GAIN = 4;
const BISECTIONS = 14;
/** Late requests of a plan in the queue of work, in parts of what is allowed: the first whose run is within it counts. */
const LONG_SHARES = [1, 0.6, 0.35, 0.15] as const;

export interface OfflineAnswer {
  /** The cheapest plan found that reaches the attainment. */
  readonly optimum: ScaledResult;
  /** The least constant number of replicas that reaches it. */
  readonly fixed: ScaledResult;
  readonly fixedReplicas: number;
}

export function offlineAnswer(
  trace: RequestTrace,
  setting: ElasticSetting,
  attainmentPct: number,
  progress: (text: string) => void = () => {},
): OfflineAnswer {
  const { table, results } = constantRuns(trace, setting, progress);
  const enough = results.findIndex((result) => result.attainmentPct >= attainmentPct);
  const fixedReplicas = (enough === -1 ? results.length - 1 : enough) + 1;
  const fixed = results[fixedReplicas - 1];
  if (fixed === undefined) throw new RangeError("no number of replicas was tried");
  let optimum: ScaledResult = fixed;
  let [low, high] = [1, 1e9];
  for (let step = 0; step < BISECTIONS; step += 1) {
    const missMs = Math.sqrt(low * high);
    const plan = cheapestPlan(table, setting.coldStartMs, missMs);
    const result = runPlan(trace, setting, plan);
    progress(
      `offline: ${result.attainmentPct.toFixed(2)}% with ${result.acceleratorHours.toFixed(2)} accelerator-hours`,
    );
    if (result.attainmentPct >= attainmentPct) {
      high = missMs;
      if (result.acceleratorHours < optimum.acceleratorHours) optimum = result;
    } else low = missMs;
    if (high / low < 1.02) break;
  }
  return { optimum: { ...optimum, policy: "offline optimum" }, fixed, fixedReplicas };
}

/** The same for a long trace: the plan comes of a queue of work, and runs of requests only confirm it. */
export function longOfflineAnswer(
  trace: RequestTrace,
  setting: ElasticSetting,
  attainmentPct: number,
  {
    capacity,
    factor,
    progress,
  }: { readonly capacity: ReplicaCapacity; readonly factor: number; readonly progress: (text: string) => void },
): OfflineAnswer {
  const { bounds, slo } = setting;
  const table = fluidMisses(trace, capacity, slo, {
    slotMs: SLOT_MS,
    replicasMax: bounds.max,
    factor,
    lateLeft: MISSED_LEFT,
  });
  const allowed = (1 - attainmentPct / 100) * trace.requests.length;
  const { fixed, fixedReplicas } = leastConstant(trace, setting, { table, allowed, progress });
  let optimum: ScaledResult = fixed;
  for (const share of LONG_SHARES) {
    const plan = cheapestPlan(table, setting.coldStartMs, priceOf(table, setting.coldStartMs, share * allowed));
    const scaler = new ScheduledScaler("offline optimum", plan, SLOT_MS);
    const result = new ElasticServing(trace, { ...setting, initialReplicas: plan[0] ?? 1 }, scaler).runWithin(allowed);
    progress(`offline: ${result === undefined ? "too few" : result.acceleratorHours.toFixed(2)} accelerator-hours`);
    if (result === undefined) continue;
    if (result.acceleratorHours < optimum.acceleratorHours) optimum = result;
    break;
  }
  return { optimum: { ...optimum, policy: "offline optimum" }, fixed, fixedReplicas };
}

/** The price of a late request in replica-ms at which the plan has about so many. */
function priceOf(table: MissTable, coldStartMs: number, late: number): number {
  let [low, high] = [1, 1e9];
  for (let step = 0; step < BISECTIONS; step += 1) {
    const middle = Math.sqrt(low * high);
    const plan = cheapestPlan(table, coldStartMs, middle);
    const sum = plan.reduce((total, replicas, slot) => total + (table.missed[replicas - 1]?.[slot] ?? 0), 0);
    if (sum > late) low = middle;
    else high = middle;
  }
  return high;
}

function leastConstant(
  trace: RequestTrace,
  setting: ElasticSetting,
  {
    table,
    allowed,
    progress,
  }: { readonly table: MissTable; readonly allowed: number; readonly progress: (text: string) => void },
): { readonly fixed: ScaledResult; readonly fixedReplicas: number } {
  const run = (replicas: number, missedMax: number): ScaledResult | undefined => {
    const scaler = new FixedScaler(replicas);
    const result = new ElasticServing(trace, { ...setting, initialReplicas: replicas }, scaler).runWithin(missedMax);
    progress(`${replicas} replicas: ${result === undefined ? "too few" : `${result.attainmentPct.toFixed(2)}%`}`);
    return result;
  };
  const guess = table.missed.findIndex((bySlot) => bySlot.reduce((sum, late) => sum + late, 0) <= allowed);
  let replicas = guess === -1 ? table.missed.length : guess + 1;
  let fixed = run(replicas, allowed);
  while (fixed === undefined && replicas < setting.bounds.max) fixed = run((replicas += 1), allowed);
  return { fixed: fixed ?? run(replicas, Infinity) ?? fail(), fixedReplicas: replicas };
}

function fail(): never {
  throw new RangeError("a run without a bound has a result");
}

function runPlan(trace: RequestTrace, setting: ElasticSetting, plan: readonly number[]): ScaledResult {
  const scaler = new ScheduledScaler("offline optimum", plan, SLOT_MS);
  return new ElasticServing(trace, { ...setting, initialReplicas: plan[0] ?? 1 }, scaler).run();
}

function constantRuns(
  trace: RequestTrace,
  setting: ElasticSetting,
  progress: (text: string) => void,
): { readonly table: MissTable; readonly results: readonly ScaledResult[] } {
  const slots = Math.floor((trace.requests.at(-1)?.arrivalMs ?? 0) / SLOT_MS) + 1;
  const missed: Float64Array[] = [];
  const results: ScaledResult[] = [];
  for (let replicas = 1; replicas <= setting.bounds.max; replicas += 1) {
    const result = new ElasticServing(
      trace,
      { ...setting, initialReplicas: replicas },
      new FixedScaler(replicas),
    ).run();
    const bySlot = new Float64Array(slots);
    for (const [id, { arrivalMs }] of trace.requests.entries()) {
      const slot = Math.floor(arrivalMs / SLOT_MS);
      if (result.met[id] === 0) bySlot[slot] = (bySlot[slot] ?? 0) + 1;
    }
    missed.push(bySlot);
    results.push(result);
    progress(`${replicas} replicas: ${result.attainmentPct.toFixed(2)}%`);
    const before = results[replicas - 1 - NO_GAIN]?.attainmentPct ?? -Infinity;
    if (result.attainmentPct >= 100 * (1 - MISSED_LEFT) || result.attainmentPct <= before) break;
  }
  return { table: { slotMs: SLOT_MS, missed }, results };
}
