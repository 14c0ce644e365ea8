/** Checks, under every policy, that the first of several equal requests in the policy's order starts first. */
import { rulesOf } from "@headroom/model";
import type { AttemptId, Event, Workload } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Findings } from "@headroom/engine/internals";
import { compareByPolicy, hasReadyTask } from "./recount.ts";

/** `known`: tasks that were already nominated before the batch. */
export function checkAlike(
  findings: Findings,
  state: ReadonlyState,
  { events, known, nowMs }: { events: readonly Event[]; known: ReadonlySet<AttemptId>; nowMs: number },
): void {
  // Under rebalancing, a workload may have run before and been evicted.
  if (rulesOf(state.policy).phases.includes("rebalance")) return;
  // Only gangs that lost workers may use hot spares. A gang that has started is no longer marked as one.
  const onHotSpares = new Set(
    events.flatMap((event) =>
      event.kind === "hotSpareReleased" && event.workloadId !== undefined ? event.workloadId : [],
    ),
  );
  for (const event of events) {
    if (event.kind !== "gangPlaced" || known.has(event.attemptId) || onHotSpares.has(event.workloadId)) continue;
    const started = state.workloads.get(event.workloadId);
    if (started === undefined || !isPlain(started)) continue;
    const passed = [...state.workloads.values()].find(
      (other) =>
        isPlain(other) &&
        hasReadyTask(other, nowMs) &&
        compareByPolicy(state.policy, other, started) < 0 &&
        areAlike(other, started),
    );
    findings.expect(
      passed === undefined,
      () => `${event.attemptId} was started, and ${passed?.id}, which is like it and comes first, waits`,
    );
  }
}

/** Whether the workload is a gang that lost no workers, and therefore must not use hot spares. */
const isPlain = ({ spec, lostWorkers }: Workload): boolean => spec.kind === "train" && lostWorkers === undefined;

function areAlike(left: Workload, right: Workload): boolean {
  if (left.actor !== right.actor || left.spec.team !== right.spec.team) return false;
  const asked = ({ spec: { name: _name, after: _after, hold: _hold, ...spec } }: Workload): string =>
    JSON.stringify(spec);
  return asked(left) === asked(right);
}
