/**
 * The only code that writes the state: folds one event into state and indexes. Live, replayed and simulated runs all
 * use it, so an event has one meaning. Each family of events has its own file.
 */
import { newestVersion, InvariantError } from "@headroom/model";
import type { Event } from "@headroom/model";
import type { World } from "../cluster/world.ts";
import { writable } from "./writable.ts";
import type { Appliers, WritableWorld } from "./writable.ts";
import { artifactEvents } from "./artifact-events.ts";
import { attemptEvents } from "./attempt-events.ts";
import { calendarEvents } from "./calendar-events.ts";
import { capacityOrderEvents } from "./capacity-order-events.ts";
import { executorEvents } from "./executor-events.ts";
import { fleetEvents, incidentEvents } from "./fleet-events.ts";
import { settleNodes } from "./removal-events.ts";
import { governanceEvents, settleTeams } from "./governance-events.ts";
import { proposalEvents } from "./proposal-events.ts";
import { pipelineEvents } from "./pipeline-events.ts";
import { planEvents } from "./plan-events.ts";
import { reportEvents } from "./report-events.ts";
import { resizeEvents } from "./resize-events.ts";
import { scheduleEvents } from "./schedule-events.ts";
import { workloadEvents } from "./workload-events.ts";

const everyEvent: Appliers<Event> = {
  ...fleetEvents,
  ...incidentEvents,
  ...executorEvents,
  ...capacityOrderEvents,
  ...proposalEvents,
  ...artifactEvents,
  ...governanceEvents,
  ...calendarEvents,
  ...scheduleEvents,
  ...pipelineEvents,
  ...workloadEvents,
  ...attemptEvents,
  ...resizeEvents,
  ...planEvents,
  ...reportEvents,
};

interface Applier {
  readonly apply: (world: WritableWorld, event: never) => void;
  readonly isOfQueue: boolean;
  readonly newestVersion: number;
}

/** A map, because a damaged journal can name any property of an object. */
const appliers: ReadonlyMap<string, Applier> = new Map(
  Object.entries(everyEvent).map(([kind, apply]) => [
    kind,
    { apply, isOfQueue: kind in workloadEvents, newestVersion: newestVersion(kind) },
  ]),
);

export const eventKinds: readonly string[] = [...appliers.keys()];

export function applyEvent(readonlyWorld: World, event: Event): void {
  const world = writable(readonlyWorld);
  const { state } = world;
  const applier = appliers.get(event.kind);
  // The condition is negated so that a version that is not a number is refused.
  if (applier === undefined || !(event.version <= applier.newestVersion)) throw unknownEvent(event);
  const { unsettledTeams } = world;
  if (unsettledTeams !== null && (event.kind !== "teamDefined" || event.atMs !== unsettledTeams.atMs))
    settleTeams(world);
  // Removals, and the answers to their commands, read no positions.
  if (world.capacity.hasGaps && event.kind !== "nodeRemoved" && event.kind !== "commandAnswered") settleNodes(world);
  if (event.atMs < state.nowMs)
    throw new InvariantError(`event ${state.sequence + 1} has an earlier time than its predecessor`);
  state.sequence++;
  state.nowMs = event.atMs;
  if (applier.isOfQueue) world.queueEventCount++;
  applier.apply(world, event as never);
}

/** Brings the indexes up to date with the events that were applied. Called after the last event of an input. */
export function settle(world: World): void {
  settleTeams(writable(world));
  if (world.capacity.hasGaps) settleNodes(writable(world));
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
