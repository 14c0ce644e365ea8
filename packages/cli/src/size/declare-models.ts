/**
 * Tells the control plane which models the submitted workloads train, so that it compares measured steps with
 * predictions.
 */
import type { HeadroomClient, WorkloadModelInput } from "@headroom/protocol";
import type { CommandContext } from "../command.ts";
import { printable } from "../terminal.ts";
import { trainingOf, type ModelledWorkload } from "./submission-check.ts";

export interface SubmittedWorkload extends ModelledWorkload {
  readonly workloadId: string;
}

/** A failure is printed as a note and not as an error, because the workloads are already submitted. */
export async function declareModels(
  context: CommandContext,
  client: HeadroomClient,
  workloads: readonly SubmittedWorkload[],
): Promise<void> {
  for (const { workloadId, spec, model } of workloads) {
    if (model === undefined) continue;
    try {
      const { correction: _fleet, ...training } = await trainingOf(context, model);
      await client.declareModel(workloadId, { training: training as WorkloadModelInput["training"] });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      context.note(`warning: the steps of ${spec.name} are not compared with a prediction: ${printable(reason)}`);
    }
  }
}
