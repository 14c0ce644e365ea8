/** The dry run of `apply`: created, changed and unchanged documents, or the reason of a refusal. */
import { planApply as plan } from "../../lifecycle/apply-documents.ts";
import type { ApplyDocuments } from "../../lifecycle/apply-documents.ts";
import { clockOf, worldOf } from "../../engine/engine.ts";
import type { Engine } from "../../engine/ready.ts";
import type { ApplyChange, Rejection } from "../../contract/replies.ts";

export type { ApplyDocuments } from "../../lifecycle/apply-documents.ts";

export type ApplyForecast =
  | { readonly kind: "applies"; readonly changes: readonly ApplyChange[] }
  | { readonly kind: "refused"; readonly rejection: Rejection };

export function planApply(engine: Engine, documents: ApplyDocuments): ApplyForecast {
  const decision = plan(worldOf(engine), documents, clockOf(engine));
  if (decision.kind === "refused") return decision;
  return { kind: "applies", changes: decision.result.kind === "applied" ? decision.result.changes : [] };
}
