/** `PATCH /v1/workloads/{id}`: changes of a workload in place, or with `dryRun` their effect. */
import type { Workload, WorkloadId } from "@headroom/model";
import { ProblemError, refuse } from "@headroom/protocol";
import type { WorkloadChanged } from "@headroom/protocol";
import { changesRefusal, engineChanges, fieldChanges, rejectionProblem } from "@headroom/views";
import { channelRefusal } from "./notification-channels.ts";
import type { ControlPlane } from "./control-plane.ts";
import { command } from "./calls.ts";
import type { Call, Gone } from "./calls.ts";

export async function changeWorkload(
  plane: ControlPlane,
  call: Call<"changeWorkload">,
  gone: Gone,
): Promise<WorkloadChanged> {
  const workloadId = call.params.id as WorkloadId;
  const before = await plane.driver.read(({ state }): Workload | null => {
    const known = state.workloads.get(workloadId);
    return known === undefined ? null : { ...known };
  });
  if (before === null)
    throw refuse("unknownWorkload", `There is no workload ${workloadId}; it may have ended long ago.`);
  const changes = engineChanges(before, call.body);
  const unknown = channelRefusal(plane.notificationChannels, [
    { pointer: "", spec: { notify: call.body.notify ?? undefined } },
  ]);
  if (unknown !== null) throw unknown;
  const refusal = before.endedAtMs === null ? changesRefusal(before, changes) : null;
  if (refusal !== null) throw refusal;
  if (call.query.dryRun === true) {
    const question = { kind: "changeWorkload", id: workloadId, changes, actor: call.actor } as const;
    const answer = await plane.forecast.ask(question, call.actor, gone());
    if (answer.kind === "refused") throw new ProblemError(rejectionProblem(answer.rejection));
    return { workloadId, dryRun: true, changes: fieldChanges(before, changes), start: answer.start };
  }
  const wanted = { kind: "changeWorkload", workloadId, changes } as const;
  const { fields } = await command(plane, call, wanted, "workloadChanged");
  // A retry with the same idempotency key gets the recorded fields, though the workload has the values by then.
  const shown = fieldChanges(before, changes);
  return { workloadId, dryRun: false, changes: fields.length === 0 ? [] : shown };
}
