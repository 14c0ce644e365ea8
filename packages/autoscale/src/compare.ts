/** Runs one trace under Headroom's rule and under the rules that others use, beside the offline optimum. */
import { traceOf } from "@headroom/sim";
import type { RequestTrace } from "@headroom/sim";
import { ReplicaCapacity } from "./capacity.ts";
import type { Autoscaler } from "./contract.ts";
import { longOfflineAnswer, offlineAnswer } from "./offline/optimum.ts";
import type { OfflineAnswer } from "./offline/optimum.ts";
import { HpaScaler } from "./policies/hpa.ts";
import { KpaScaler } from "./policies/kpa.ts";
import { PlannerScaler } from "./policies/planner.ts";
import { PredictiveScaler } from "./policies/predictive.ts";
import { EndpointScaler, targetsFor } from "./targets/endpoint-scaler.ts";
import { ElasticServing } from "./simulation/elastic-serving.ts";
import type { ElasticSetting } from "./simulation/elastic-serving.ts";
import type { ScaledResult } from "./simulation/scaled-result.ts";

export interface Comparison extends OfflineAnswer {
  /** The rule with the capacity of a replica by a model of its accelerator. */
  readonly headroom: ScaledResult;
  /** The same rule as the control plane runs it: from reports of gateways, without a model. */
  readonly learnt: ScaledResult;
  /** The best result of each swept rule: the least hours at the wanted attainment, otherwise the highest attainment. */
  readonly baselines: readonly ScaledResult[];
}

/** Requests in flight per replica, from which the rules with a target take their best. */
const TARGETS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32] as const;
const PLANNER_INTERVALS_MS = [30_000, 60_000, 180_000] as const;

/** Requests above which a trace is long: then only the runs that can change the answer are made. */
const LONG_REQUESTS = 300_000;

export function compareScalers(
  trace: RequestTrace,
  setting: ElasticSetting,
  attainmentPct: number,
  progress: (text: string) => void = () => {},
): Comparison {
  const { costs, limits } = setting.group;
  const capacity = new ReplicaCapacity(costs, limits, setting.slo);
  const isLong = trace.requests.length > LONG_REQUESTS;
  const serving = (scaler: Autoscaler): ElasticServing => new ElasticServing(trace, setting, scaler);
  const shown = (result: ScaledResult): ScaledResult => {
    progress(
      `${result.policy}: ${result.attainmentPct.toFixed(2)}% with ${result.acceleratorHours.toFixed(2)} accelerator-hours, ${result.reversals} reversals`,
    );
    return result;
  };
  const scaler = new PredictiveScaler(capacity, setting.slo);
  const learnt = shown(serving(new EndpointScaler(targetsFor(setting.slo), setting.bounds)).run());
  const headroom = shown(serving(scaler).run());
  const offline = isLong
    ? longOfflineAnswer(trace, setting, attainmentPct, { capacity, factor: scaler.workFactor, progress })
    : offlineAnswer(trace, setting, attainmentPct, progress);
  const allowed = (1 - attainmentPct / 100) * trace.requests.length;
  const excerpt = excerptOf(trace);
  /** The best of scalers that are in order of growing misses; of a long trace, by an excerpt and then by runs of all. */
  const best = (scalers: readonly (() => Autoscaler)[]): ScaledResult => {
    if (!isLong)
      return bestOf(
        scalers.map((each) => shown(serving(each()).run())),
        attainmentPct,
      ).result;
    const tried = scalers.map((each) => new ElasticServing(excerpt, setting, each()).run());
    const { result, at } = bestOf(tried, attainmentPct);
    if (result.attainmentPct >= attainmentPct) {
      for (let index = at; index >= 0; index -= 1) {
        const scaler = scalers[index];
        const whole = scaler === undefined ? undefined : serving(scaler()).runWithin(allowed);
        if (whole !== undefined) return shown(whole);
      }
    }
    const scaler = scalers[result.attainmentPct >= attainmentPct ? 0 : at];
    if (scaler === undefined) throw new RangeError("no rule to choose from");
    return shown(serving(scaler()).run());
  };
  const baselines = [
    best(TARGETS.map((target) => () => new HpaScaler(target))),
    best(TARGETS.map((target) => () => new KpaScaler(target))),
    best(PLANNER_INTERVALS_MS.map((intervalMs) => () => new PlannerScaler(capacity, setting.slo, intervalMs))),
  ];
  return { headroom, learnt, baselines, ...offline };
}

/** Requests of the middle of a trace, by which targets are chosen. */
const EXCERPT_REQUESTS = 60_000;

function excerptOf({ requests, pageTokens }: RequestTrace): RequestTrace {
  const from = Math.max(0, Math.floor((requests.length - EXCERPT_REQUESTS) / 2));
  return traceOf(requests.slice(from, from + EXCERPT_REQUESTS), pageTokens);
}

function bestOf(
  results: readonly ScaledResult[],
  attainmentPct: number,
): { readonly result: ScaledResult; readonly at: number } {
  const enough = results.filter((result) => result.attainmentPct >= attainmentPct);
  const [result] =
    enough.length > 0
      ? enough.toSorted((a, b) => a.acceleratorHours - b.acceleratorHours)
      : results.toSorted((a, b) => b.attainmentPct - a.attainmentPct);
  if (result === undefined) throw new RangeError("no result to choose from");
  return { result, at: results.indexOf(result) };
}
