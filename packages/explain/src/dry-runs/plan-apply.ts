/** The dry run of `apply`: created, changed and unchanged documents, or the reason of a refusal. */
import { planApply as plan, worldOf } from "@headroom/engine/internals";
import { clockOf } from "@headroom/engine";
import type { ApplyDocuments, Engine } from "@headroom/engine";
import type { ApplyChange, Rejection } from "@headroom/model";

export type ApplyForecast =
  | { readonly kind: "applies"; readonly changes: readonly ApplyChange[] }
  | { readonly kind: "refused"; readonly rejection: Rejection };

export function planApply(engine: Engine, documents: ApplyDocuments): ApplyForecast {
  const decision = plan(worldOf(engine), documents, clockOf(engine));
  if (decision.kind === "refused") return decision;
  return { kind: "applies", changes: decision.result.kind === "applied" ? decision.result.changes : [] };
}
