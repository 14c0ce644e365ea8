/** What work waits for: names become ids when it is submitted, and an end that can never be met ends what waits for it. */
import type { Batch } from "../batch.ts";
import type { WorkloadId } from "../model/ids.ts";
import { meets } from "../model/workload.ts";
import type { AfterSpec, WaitsFor, Workload, WorkloadSpec } from "../model/workload.ts";
import type { Rejection } from "../replies.ts";
import type { World } from "../state/world.ts";

export type Resolved =
  | { readonly kind: "resolved"; readonly waitsFor: readonly WaitsFor[] }
  | { readonly kind: "refused"; readonly rejection: Rejection };

/** What of `after` has not ended yet; refused where something is unknown or has ended otherwise. */
export function resolveAfter(world: World, { team, after = [] }: WorkloadSpec): Resolved {
  const waitsFor: WaitsFor[] = [];
  for (const { workload: name, on } of after) {
    const found = findNamed(world, team, name);
    if (found === null) return { kind: "refused", rejection: { code: "unknownDependency", name } };
    if (found.endedAtMs === null) waitsFor.push({ workloadId: found.id, on });
    else if (!meets(on, found.phase))
      return {
        kind: "refused",
        rejection: { code: "dependencyNotMet", name, workloadId: found.id, on, phase: found.phase },
      };
  }
  return { kind: "resolved", waitsFor };
}

/** By id, else the newest of the team that bears the name. */
function findNamed({ state }: World, team: WorkloadSpec["team"], name: AfterSpec["workload"]): Workload | null {
  const byId = state.workloads.get(name as WorkloadId);
  if (byId !== undefined) return byId;
  let newest: Workload | null = null;
  for (const workload of state.workloads.values())
    if (workload.spec.name === name && workload.spec.team === team) newest = workload;
  return newest;
}

/** Work that waits for an end which came out otherwise will never start: it ends, and so does what waits for it in turn. */
export function endHopeless(batch: Batch, ended: Workload, dependents: readonly WorkloadId[]): void {
  const { world } = batch;
  for (const id of dependents) {
    const dependent = world.state.workloads.get(id);
    const wait = dependent?.waitsFor?.find(({ workloadId }) => workloadId === ended.id);
    if (dependent === undefined || dependent.endedAtMs !== null || wait === undefined) continue;
    const next = [...(world.dependents.get(id) ?? [])];
    batch.emit({
      kind: "workloadEnded",
      version: 1,
      atMs: batch.nowMs,
      workloadId: id,
      phase: "cancelled",
      reason: { kind: "dependencyNotMet", workloadId: ended.id, on: wait.on },
    });
    endHopeless(batch, dependent, next);
  }
}
