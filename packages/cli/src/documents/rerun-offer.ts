/**
 * Finds declared workloads that are unchanged and ended without success, and endpoints that ended. `apply` changes nothing
 * about them and offers to run them again. An endpoint starts again as a new workload.
 */
import type { ApplyPlan, HeadroomClient, Workload } from "@headroom/protocol";
import type { CommandContext } from "../command.ts";
import { describeError, isProblemError } from "../describe-error.ts";
import { printable } from "../terminal.ts";

/**
 * Maximum number of workloads that are looked up. Each look-up takes a request, so a large set is covered only in part.
 */
const LOOKED_UP_MAX = 200;

export async function rerunnable(client: HeadroomClient, { changes }: ApplyPlan): Promise<readonly Workload[]> {
  const found: Workload[] = [];
  const unchanged = changes.filter(({ kind, action }) => kind === "workload" && action === "unchanged");
  for (const { workloadId } of unchanged.slice(0, LOOKED_UP_MAX)) {
    if (workloadId === null) continue;
    try {
      const workload = await client.getWorkload(workloadId);
      if (workload.rerunnable || isEndedEndpoint(workload)) found.push(workload);
    } catch (error) {
      // The control plane has removed the workload since the plan was made.
      if (!isProblemError(error) || error.code !== "unknownWorkload") throw error;
    }
  }
  return found;
}

const isEndedEndpoint = ({ spec, endedAtMs }: Workload): boolean => spec.kind === "serve" && endedAtMs !== null;

export function offerLines(workloads: readonly Workload[]): readonly string[] {
  return workloads.map((workload) => {
    const { id, name, phase, endSentence } = workload;
    const offer = isEndedEndpoint(workload)
      ? "Start it again: headroom apply --rerun with this file"
      : `Run it again: headroom rerun ${id}, or apply --rerun`;
    return `${printable(name)} (${id}) ${phase}: ${printable(endSentence ?? "")} ${offer}`;
  });
}

/** Runs all these workloads again. A refused rerun does not stop the others. Returns whether all were accepted. */
export async function rerunAll(
  context: CommandContext,
  client: HeadroomClient,
  workloads: readonly Workload[],
): Promise<boolean> {
  let isComplete = true;
  for (const workload of workloads) {
    const { id, name, spec } = workload;
    try {
      if (isEndedEndpoint(workload)) {
        const { workloadId } = await client.submitWorkload(spec);
        context.note(`started again: ${printable(name)} (${workloadId})`);
        continue;
      }
      await client.rerunWorkload(id);
      context.note(`runs again: ${printable(name)} (${id})`);
    } catch (error) {
      context.note(`error: ${printable(name)}: ${describeError(error).message}`);
      isComplete = false;
    }
  }
  return isComplete;
}
