/** The dry run of a change in place, with its effect on the expected start. */
import { forkEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { planChange } from "@headroom/explain";
import type { Rejection, WorkloadChanges, WorkloadId } from "@headroom/model";
import type { WorkloadChanged } from "@headroom/protocol";
import { asking, estimateView } from "./forecast-view.ts";
import type { EstimatedStart, StartEstimator } from "./forecast-view.ts";

export type ChangeForecastView =
  | { readonly kind: "refused"; readonly rejection: Rejection }
  | { readonly kind: "changes"; readonly start: NonNullable<WorkloadChanged["start"]> };

/** The expected start without and with the changes; `null` for work that does not wait. */
export function changeForecastView(
  engine: Engine,
  { id, changes, actor }: { readonly id: WorkloadId; readonly changes: WorkloadChanges; readonly actor: string },
  estimate: StartEstimator,
): ChangeForecastView {
  const planned = planChange(engine, id, changes);
  if (planned.kind === "refused") return planned;
  const fork = forkEngine(engine);
  fork.receive([{ ...asking(actor), kind: "changeWorkload", workloadId: id, changes }], fork.state.nowMs);
  fork.advance();
  const startOf = (of: Engine, starts: readonly EstimatedStart[]): NonNullable<WorkloadChanged["start"]>["before"] => {
    const found = starts.find(({ workloadId }) => workloadId === id);
    return found === undefined ? null : estimateView(of, found);
  };
  return {
    kind: "changes",
    start: { before: startOf(engine, estimate(engine)), after: startOf(fork, estimate(fork)) },
  };
}
