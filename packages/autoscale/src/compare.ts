/** Runs one trace under Headroom's rule and under the rules that others use, beside the offline optimum. */
import type { RequestTrace } from "@headroom/sim";
import { ReplicaCapacity } from "./capacity.ts";
import type { Autoscaler } from "./contract.ts";
import { offlineAnswer } from "./offline/optimum.ts";
import type { OfflineAnswer } from "./offline/optimum.ts";
import { HpaScaler } from "./policies/hpa.ts";
import { KpaScaler } from "./policies/kpa.ts";
import { PlannerScaler } from "./policies/planner.ts";
import { PredictiveScaler } from "./policies/predictive.ts";
import { ElasticServing } from "./simulation/elastic-serving.ts";
import type { ElasticSetting } from "./simulation/elastic-serving.ts";
import type { ScaledResult } from "./simulation/scaled-result.ts";

export interface Comparison extends OfflineAnswer {
  readonly headroom: ScaledResult;
  /** The best result of each swept rule: the least hours at the wanted attainment, otherwise the highest attainment. */
  readonly baselines: readonly ScaledResult[];
}

/** Requests in flight per replica, from which the rules with a target take their best. */
const TARGETS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32] as const;
const PLANNER_INTERVALS_MS = [30_000, 60_000, 180_000] as const;

export function compareScalers(
  trace: RequestTrace,
  setting: ElasticSetting,
  attainmentPct: number,
  progress: (text: string) => void = () => {},
): Comparison {
  const { costs, limits } = setting.group;
  const capacity = new ReplicaCapacity(costs, limits, setting.slo);
  const run = (scaler: Autoscaler): ScaledResult => {
    const result = new ElasticServing(trace, setting, scaler).run();
    progress(
      `${result.policy}: ${result.attainmentPct.toFixed(2)}% with ${result.acceleratorHours.toFixed(2)} accelerator-hours, ${result.reversals} reversals`,
    );
    return result;
  };
  const headroom = run(new PredictiveScaler(capacity, setting.slo));
  const offline = offlineAnswer(trace, setting, attainmentPct, progress);
  const best = (results: readonly ScaledResult[]): ScaledResult => bestOf(results, attainmentPct);
  const baselines = [
    best(TARGETS.map((target) => run(new HpaScaler(target)))),
    best(TARGETS.map((target) => run(new KpaScaler(target)))),
    best(PLANNER_INTERVALS_MS.map((intervalMs) => run(new PlannerScaler(capacity, setting.slo, intervalMs)))),
  ];
  return { headroom, baselines, ...offline };
}

function bestOf(results: readonly ScaledResult[], attainmentPct: number): ScaledResult {
  const enough = results.filter((result) => result.attainmentPct >= attainmentPct);
  const [best] =
    enough.length > 0
      ? enough.toSorted((a, b) => a.acceleratorHours - b.acceleratorHours)
      : results.toSorted((a, b) => b.attainmentPct - a.attainmentPct);
  if (best === undefined) throw new RangeError("no result to choose from");
  return best;
}
