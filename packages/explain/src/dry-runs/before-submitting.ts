/** The dry run of a submission: a fork receives the workload and decides a round; nothing is recorded. */
import { submissionAdmissionFailure, worldOf } from "@headroom/engine/internals";
import { invariant } from "@headroom/model";
import type { WorkloadId, WorkloadSpec, Rejection, Verdict } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import type { StartingChange, WouldStart } from "../changes/change.ts";
import { expectedCapacity } from "../changes/expected-capacity.ts";
import type { ExpectedCapacity } from "../changes/expected-capacity.ts";
import { explain } from "../reasons/explain.ts";
import { findSmallest } from "../changes/smallest-change.ts";
import { Counterfactuals } from "../changes/counterfactuals.ts";

export type SubmissionForecast =
  | { readonly kind: "refused"; readonly rejection: Rejection }
  /** `startingTasks` is the number of the workload's tasks that are placed or nominated in that round. */
  | { readonly kind: "starts"; readonly start: WouldStart; readonly startingTasks: number }
  | {
      readonly kind: "waits";
      readonly verdict: Verdict;
      /** Capacity orders that would make it fit; `null`: none, or it fits without them. */
      readonly expected: ExpectedCapacity | null;
      readonly changes: readonly StartingChange[];
    };

/** Answers whether the workload would start. `actor` is the submitter, whose limits and reservations apply. */
export function beforeSubmitting(
  engine: Engine,
  { spec, actor }: { readonly spec: WorkloadSpec; readonly actor: string },
): SubmissionForecast {
  const world = worldOf(engine);
  const rejection = submissionAdmissionFailure(world, spec, world.state.teams);
  if (rejection !== null) return { kind: "refused", rejection };
  const counterfactuals = new Counterfactuals(engine, actor);
  const undisturbed = counterfactuals.stage(null);
  const start = counterfactuals.undisturbed(undisturbed, spec);
  const { target } = undisturbed;
  if (start !== null) return { kind: "starts", start, startingTasks: placesOf(undisturbed.engine, target) };
  invariant(target !== null, "work that nothing speaks against was not taken in");
  const verdict = explain(undisturbed.engine, target);
  const expected = expectedCapacity(undisturbed.engine, target);
  return {
    kind: "waits",
    verdict,
    expected,
    changes: findSmallest({ counterfactuals, undisturbed, spec, target: null }),
  };
}

function placesOf({ state }: Engine, id: WorkloadId | null): number {
  const kept = [...state.nominations.values()].filter(({ workloadId, growth }) => workloadId === id && !growth);
  const workload = id === null ? undefined : state.workloads.get(id);
  return kept.length + (workload?.activeAttempts.length ?? 0);
}
