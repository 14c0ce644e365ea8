/**
 * The only code that writes the state: folds one event into state and indexes. Live, replayed and simulated runs all
 * use it, so an event has one meaning. Each family of events has its own file.
 */
import { EVENT_VERSIONS } from "../contract/events.ts";
import type { Event } from "../contract/events.ts";
import { InvariantError } from "../base/invariant.ts";
import type { World } from "../cluster/world.ts";
import { writable } from "./writable.ts";
import type { WritableWorld } from "./writable.ts";
import { applyAttemptEvent } from "./attempt-events.ts";
import { applyCalendarEvent } from "./calendar-events.ts";
import { applyFleetEvent } from "./fleet-events.ts";
import { applyGovernanceEvent } from "./governance-events.ts";
import { applyScheduleEvent } from "./schedule-events.ts";
import { applyWorkloadEvent } from "./workload-events.ts";

export function applyEvent(readonlyWorld: World, event: Event): void {
  const world = writable(readonlyWorld);
  const { state } = world;
  // An unknown kind has no newest version, so the comparison with `undefined` is false and the event is refused. `fold`
  // also refuses unknown kinds, so version 1, which most events have, skips the look-up.
  if (event.version !== 1 && !(event.version <= EVENT_VERSIONS[event.kind])) throw unknownEvent(event);
  if (event.atMs < state.nowMs) throw new InvariantError(`event ${state.sequence + 1} lies before its predecessor`);
  state.sequence++;
  state.nowMs = event.atMs;
  fold(world, event);
}

function fold(world: WritableWorld, event: Event): void {
  switch (event.kind) {
    case "workloadSubmitted":
    case "workloadRerun":
    case "workloadHeld":
    case "workloadReleased":
    case "startWindowOpened":
    case "startWindowClosed":
    case "workloadStopRequested":
    case "workloadEnded":
      world.queueEventCount++;
      return applyWorkloadEvent(world, event);
    case "gangPlaced":
    case "backoffEnded":
    case "attemptStarted":
    case "predictionCorrected":
    case "attemptStopRequested":
    case "checkpointRequested":
    case "checkpointWaitEnded":
    case "attemptEnded":
    case "gangShrinkRequested":
    case "workersLeft":
    case "gangGrown":
    case "joinFailed":
    case "ranksLost":
    case "workersReplaced":
    case "workersJoined":
    case "placementNominated":
    case "nominationWithdrawn":
    case "opportunisticJobRelabelled":
    case "evictionPlanned":
    case "progressEstimated":
    case "idleChanged":
    case "progressRecorded":
    case "artifactRecorded":
    case "checkpointRecorded":
    case "utilizationRecorded":
      return applyAttemptEvent(world, event);
    case "scheduleSet":
    case "scheduleRemoved":
    case "scheduleRan":
      return applyScheduleEvent(world, event);
    case "calendarSet":
    case "calendarRemoved":
    case "windowBegan":
    case "windowEnded":
      return applyCalendarEvent(world, event);
    case "siteDefined":
    case "executorRegistered":
    case "poolDefined":
    case "nodeJoined":
    case "nodeChanged":
    case "nodeLost":
    case "nodeReturned":
    case "nodeDrainStarted":
    case "nodeResumed":
    case "hotSpareReserved":
    case "hotSpareReleased":
      return applyFleetEvent(world, event);
    case "teamDefined":
    case "teamRemoved":
    case "policySet":
    case "commandAnswered":
    case "budgetCrossed":
    case "budgetRenewed":
      return applyGovernanceEvent(world, event);
    default:
      throw unknownEvent(event);
  }
}

/** Records the head of the journal's hash chain after the events that were applied. */
export function recordChain(world: World, chain: string): void {
  writable(world).state.chain = chain;
}

/** The journal comes from a newer version of the program: refuse it instead of skipping a fact. */
const unknownEvent = (event: { readonly kind?: unknown; readonly version?: unknown }): InvariantError =>
  new InvariantError(
    `the journal holds an event of kind ${JSON.stringify(event.kind)}, version ${JSON.stringify(event.version)}, which this version of Headroom does not know; start the version that wrote it`,
  );
