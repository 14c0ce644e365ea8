/** The dry run of a change in place: the fields that change, or the reason of a refusal. */
import { planChange as plan, worldOf } from "@headroom/engine/internals";
import type { Engine } from "@headroom/engine";
import type { ChangeableField, Rejection, WorkloadChanges, WorkloadId } from "@headroom/model";

export type ChangeForecast =
  | { readonly kind: "changes"; readonly fields: readonly ChangeableField[] }
  | { readonly kind: "refused"; readonly rejection: Rejection };

export function planChange(engine: Engine, id: WorkloadId, changes: WorkloadChanges): ChangeForecast {
  const decision = plan(worldOf(engine), id, changes);
  if (decision.kind === "refused") return decision;
  return { kind: "changes", fields: decision.result.kind === "workloadChanged" ? decision.result.fields : [] };
}
