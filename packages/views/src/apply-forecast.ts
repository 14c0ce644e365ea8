/** The dry run of `apply`, with a forecast for each workload that it would create. */
import { awaitedFirst, forkEngine } from "@headroom/engine";
import type { Engine, ApplyDocuments } from "@headroom/engine";
import type { Rejection, WorkloadId } from "@headroom/model";
import { planApply } from "@headroom/explain";
import type { ApplyPlan, SubmissionForecast } from "@headroom/protocol";
import { asking, needsEstimate, submitTo, verdictBefore, withEstimate } from "./forecast-view.ts";
import { wireChange } from "./submission-notices.ts";
import type { StartEstimator } from "./forecast-view.ts";

export type ApplyForecastView =
  | { readonly kind: "refused"; readonly rejection: Rejection }
  | { readonly kind: "applies"; readonly plan: ApplyPlan };

/** Maximum number of forecasts, because each takes tens of rounds on forks. */
const FORECASTS_MAX = 20;

const nothing = { sites: [], pools: [], teams: [] } as const;

/**
 * Forecasts each workload as if the other declarations and the workloads before it were already applied. One estimate
 * is made for all of them.
 */
export function applyForecastView(
  engine: Engine,
  { documents, actor }: { readonly documents: ApplyDocuments; readonly actor: string },
  estimate: StartEstimator,
): ApplyForecastView {
  const planned = planApply(engine, documents);
  if (planned.kind === "refused") return planned;
  const fork = forkEngine(engine);
  const others = { ...documents, workloads: [], schedules: [] };
  fork.receive([{ ...asking(actor), kind: "apply", ...others }], fork.state.nowMs);
  fork.advance();
  // Changes of workloads come last, in the order of the request.
  const first = planned.changes.length - documents.workloads.length;
  const told = new Map<number, { readonly forecast: SubmissionForecast; readonly id: WorkloadId | null }>();
  for (const spec of awaitedFirst(documents.workloads)) {
    const index = documents.workloads.indexOf(spec);
    if (planned.changes[first + index]?.action === "unchanged" || told.size >= FORECASTS_MAX) continue;
    if (planned.changes[first + index]?.fields !== undefined) {
      fork.receive([{ ...asking(actor), kind: "apply", ...nothing, workloads: [spec] }], fork.state.nowMs);
      fork.advance();
      continue;
    }
    const view = verdictBefore(fork, { spec, actor });
    if (view.kind === "refused") continue;
    told.set(first + index, { forecast: view.forecast, id: submitTo(fork, { spec, actor }) });
  }
  const isAsked = [...told.values()].some(({ forecast }) => needsEstimate(forecast));
  const estimates = isAsked ? estimate(fork) : [];
  const changes = planned.changes.map((change, index) => {
    const found = told.get(index);
    return found === undefined
      ? wireChange(change)
      : { ...wireChange(change), forecast: withEstimate(fork, found.forecast, found.id, estimates) };
  });
  return { kind: "applies", plan: { dryRun: true, changes } };
}
