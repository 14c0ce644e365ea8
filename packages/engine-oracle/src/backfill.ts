/**
 * Checks requests that wait although idle capacity fits them: each must be one that would delay a protected start
 * (DESIGN §7.11, 12).
 */
import { attemptId, rulesOf } from "@headroom/model";
import type { AttemptId, Nomination, Workload } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { plannedDurationMs, plannedStagingMs, reservationsOf } from "@headroom/engine/internals";
import type { Findings, World } from "@headroom/engine/internals";
import { withoutClosedNodes } from "./closed-nodes.ts";
import { feasibility, requestOf } from "./recount.ts";
import { mayHold, reservesStarts, startsWork, waitingAlthoughItFits } from "./rest.ts";

export function checkRestBesideReservations(findings: Findings, world: World, nowMs: number): void {
  const { state } = world;
  if (!startsWork(state) || !(reservesStarts(state) || mayHold(state, nowMs))) return;
  for (const workload of waitingAlthoughItFits(state, nowMs)) {
    const open = withoutClosedNodes(state, workload, nowMs);
    const nominations = withReserved(world, workload, nowMs);
    const { couldNow } = feasibility(Object.assign(Object.create(open) as ReadonlyState, { nominations }));
    findings.expect(
      !couldNow(requestOf(workload)),
      () => `${workload.id} waits although it fits beside every protected start`,
    );
  }
}

/** The state with nominations, and with reservations that begin before this request would end. */
function withReserved(world: World, workload: Workload, nowMs: number): ReadonlyMap<AttemptId, Nomination> {
  const { state } = world;
  const runMs = plannedDurationMs(rulesOf(state.policy), state.runTimes, workload);
  const lastsMs = runMs + plannedStagingMs(world, workload.spec, workload.given);
  const places = new Map(state.nominations);
  for (const [index, { workloadId, placement, startMs }] of reservationsOf(world).entries()) {
    const mayEndBefore = reservesStarts(state) && startMs >= nowMs + lastsMs;
    if (mayEndBefore || workloadId === workload.id) continue;
    const id = attemptId(`reserved ${index}`);
    places.set(id, { attemptId: id, workloadId, task: 0, number: 0, ...placement, growth: false, atMs: nowMs });
  }
  return places;
}
