/**
 * Invariants after every batch (DESIGN §7), recomputed from the state without the code that decided. All tests use
 * them, and the fault simulator after each round.
 */
import { Findings, worldOf } from "@headroom/engine/internals";
import { clockOf, waitingTaskCount } from "@headroom/engine";
import type { Engine, ReadonlyState } from "@headroom/engine";
import type { BlockedReason, Workload } from "@headroom/model";
import { explain } from "@headroom/explain";
import { checkRestBesideReservations } from "./backfill.ts";
import { checkIndexes } from "./index-checks.ts";
import { feasibility, hasReadyTask, requestOf } from "./recount.ts";
import type { Feasibility } from "./recount.ts";
import { blockingHead } from "./rest.ts";
import { checkState } from "./state-checks.ts";

/** All invariants that are broken after the last batch, one sentence for each. Empty if none is broken. */
export function checkInvariants(engine: Engine): string[] {
  const world = worldOf(engine);
  const nowMs = clockOf(engine);
  const findings = new Findings();
  checkIndexes(findings, world, nowMs);
  checkVerdicts(findings, engine, nowMs);
  checkRestBesideReservations(findings, world, nowMs);
  return [...checkState(world.state, nowMs), ...findings.list];
}

/** Checks that every waiting workload has a verdict with correct numbers. */
function checkVerdicts(findings: Findings, engine: Engine, nowMs: number): void {
  const fits = feasibility(engine.state);
  const head = blockingHead(engine.state, nowMs);
  const hotSpares = [...engine.state.nodes.values()].filter(({ hotSpare }) => hotSpare === true).length;
  for (const workload of engine.state.workloads.values()) {
    const { id } = workload;
    const verdict = explain(engine, id);
    const isNominated = [...engine.state.nominations.values()].some(
      ({ workloadId, growth }) => workloadId === id && !growth,
    );
    const waits = workload.endedAtMs === null && (waitingTaskCount(workload) > 0 || isNominated);
    const expected = waits ? "blocked" : "notWaiting";
    findings.expect(
      verdict.kind === expected,
      () => `the verdict on ${id} is ${verdict.kind}, it should be ${expected}`,
    );
    if (verdict.kind !== "blocked" || !waits) continue;
    findings.expect(verdict.reasons.length > 0, () => `${id} is blocked without a reason`);
    for (const reason of verdict.reasons) {
      findings.expect(
        isTrue(reason, { workload, fits, nowMs, head, hotSpares, calendar: engine.state.calendar }),
        () => `${id} is said to be blocked by ${JSON.stringify(reason)}, which is not so`,
      );
    }
  }
}

interface EntitlementEntitlement {
  readonly workload: Workload;
  readonly fits: Feasibility;
  readonly nowMs: number;
  readonly head: Workload | null;
  /** Number of hot spares. */
  readonly hotSpares: number;
  readonly calendar: ReadonlyState["calendar"];
}

function isTrue(
  reason: BlockedReason,
  { workload, fits, nowMs, head, hotSpares, calendar }: EntitlementEntitlement,
): boolean {
  switch (reason.kind) {
    case "exceedsFleet":
      return !fits.couldEver(requestOf(workload)) && reason.placeableWorkers < reason.workers;
    case "acceleratorShortfall":
      return reason.freeCount < reason.neededCount && reason.freeCount <= reason.fleetCount;
    case "workerShortfall":
    case "partShortfall":
      return reason.placeableWorkers < reason.workers;
    case "minRuntime":
      return reason.untilMs > nowMs && reason.workloadId !== workload.id;
    case "antiAffinity":
      return reason.workloadIds.length > 0 && reason.placeableWorkers < reason.workers;
    case "dataRule":
      return workload.spec.data?.rule === reason.rule && reason.placeableWorkers < reason.workers;
    case "workloadKind":
      return workload.spec.kind === reason.workloadKind && reason.placeableWorkers < reason.workers;
    case "powerCap":
      return (
        (reason.neededWatts === null || reason.usedWatts + reason.neededWatts > reason.capWatts) &&
        reason.placeableWorkers < reason.workers
      );
    case "image":
      return workload.spec.image === reason.image && reason.placeableWorkers < reason.workers;
    case "secrets":
      return workload.spec.secrets !== undefined && reason.placeableWorkers < reason.workers;
    case "transfers":
      return reason.placeableWorkers < reason.workers;
    case "teamLimit":
      return reason.usedCount + reason.neededCount > reason.limitCount;
    case "reservedTopology":
      return reason.neededCount > 0 && reason.heldCount >= 0 && (reason.team !== null || reason.ownedCount === 0);
    case "behindHead":
      // If teams take turns, the head of the queue depends on the scheduler, so the head that it reports is accepted.
      return (
        reason.aheadCount > 0 && reason.headWorkloadId === (head?.id ?? reason.headWorkloadId) && head !== workload
      );
    case "held":
      return workload.held === true;
    case "waitsFor":
      return workload.waitsFor?.some(({ workloadId }) => workloadId === reason.workloadId) === true;
    case "notBefore":
      return reason.atMs > nowMs;
    case "startWindow":
      return workload.waitsForStartWindow === true && (reason.latestStartAtMs ?? nowMs + 1) > nowMs;
    case "reservation":
      return reason.startMs < reason.expectedEndMs && reason.workloadId !== workload.id;
    case "budget":
      return reason.spent >= reason.limit;
    case "window":
      return reason.startMs < reason.expectedEndMs && reason.endMs > nowMs && calendar.has(reason.name);
    case "hotSparesKept":
      return reason.nodes > 0 && reason.nodes <= hotSpares;
    case "nominated":
      return reason.nodes.length > 0;
    case "taskLimit":
      return workload.activeAttempts.length >= reason.tasksAtOnce && !hasReadyTask(workload, nowMs);
    case "backoff":
      return reason.untilMs > nowMs && !hasReadyTask(workload, nowMs);
  }
}
