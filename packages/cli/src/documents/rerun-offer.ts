/**
 * Finds declared workloads that are unchanged and ended without success. `apply` changes nothing about them and offers
 * to run them again.
 */
import type { ApplyPlan, HeadroomClient, WorkloadSummary } from "@headroom/protocol";
import type { CommandContext } from "../command.ts";
import { describeError, isProblemError } from "../describe-error.ts";
import { printable } from "../terminal.ts";

/**
 * Maximum number of workloads that are looked up. Each look-up takes a request, so a large set is covered only in part.
 */
const LOOKED_UP_MAX = 200;

export async function rerunnable(client: HeadroomClient, { changes }: ApplyPlan): Promise<readonly WorkloadSummary[]> {
  const found: WorkloadSummary[] = [];
  const unchanged = changes.filter(({ kind, action }) => kind === "workload" && action === "unchanged");
  for (const { workloadId } of unchanged.slice(0, LOOKED_UP_MAX)) {
    if (workloadId === null) continue;
    try {
      const workload = await client.getWorkload(workloadId);
      if (workload.rerunnable) found.push(workload);
    } catch (error) {
      // The control plane has removed the workload since the plan was made.
      if (!isProblemError(error) || error.code !== "unknownWorkload") throw error;
    }
  }
  return found;
}

export function offerLines(workloads: readonly WorkloadSummary[]): readonly string[] {
  return workloads.map(
    ({ id, name, phase, endSentence }) =>
      `${printable(name)} (${id}) ${phase}: ${printable(endSentence ?? "")} Run it again: headroom rerun ${id}, or apply --rerun`,
  );
}

/** Runs all these workloads again. A refused rerun does not stop the others. Returns whether all were accepted. */
export async function rerunAll(
  context: CommandContext,
  client: HeadroomClient,
  workloads: readonly WorkloadSummary[],
): Promise<boolean> {
  let isComplete = true;
  for (const { id, name } of workloads) {
    try {
      await client.rerunWorkload(id);
      context.note(`runs again: ${printable(name)} (${id})`);
    } catch (error) {
      context.note(`error: ${printable(name)}: ${describeError(error).message}`);
      isComplete = false;
    }
  }
  return isComplete;
}
