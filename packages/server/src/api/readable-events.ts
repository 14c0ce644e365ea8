/** Recorded events as a principal may see them. */
import type { Event } from "@headroom/model";
import { refuse } from "@headroom/protocol";
import type { EventEnvelope, ProblemError } from "@headroom/protocol";
import { eventEnvelope, TeamReader } from "@headroom/views";
import { readsAllTeams } from "../auth/authorize.ts";
import type { Principal } from "../auth/authorize.ts";
import { readableTeams } from "../auth/team-tree.ts";
import type { ControlPlane } from "./control-plane.ts";

interface Recorded {
  readonly sequence: number;
  readonly event: Event;
}

/** Events as the stream sends them. One about another team is there without its content, so that sequences have no gaps. */
export async function* readableEnvelopes(
  { driver }: Pick<ControlPlane, "driver">,
  principal: Principal,
  events: AsyncIterable<Recorded>,
): AsyncGenerator<EventEnvelope> {
  const reader = new TeamReader((state) => readableTeams(state, principal));
  for await (const { sequence, event } of events) {
    const shown = await driver.read(({ state }) => reader.event(state, event));
    yield shown === null
      ? { sequence, event: { kind: "eventHidden", version: 1, atMs: event.atMs } }
      : eventEnvelope(sequence, shown);
  }
}

/** Events about other teams are left out. */
export async function* readableEvents(
  { driver }: Pick<ControlPlane, "driver">,
  principal: Principal,
  events: AsyncIterable<Recorded>,
): AsyncGenerator<Recorded> {
  if (readsAllTeams(principal)) return yield* events;
  const reader = new TeamReader((state) => readableTeams(state, principal));
  for await (const { sequence, event } of events) {
    const shown = await driver.read(({ state }) => reader.event(state, event));
    if (shown !== null) yield { sequence, event: shown };
  }
}

/**
 * Refuses a sequence beyond the end of the journal: a client with a later sequence has seen another journal and would
 * wait forever.
 */
export function notRecordedYet(from: number, next: number): ProblemError {
  const message = `must be at most ${next}, the sequence of the next event`;
  const detail = `The journal has no event ${from - 1}, so reading cannot continue there: it is not the journal that was read before. ?from: ${message}.`;
  return refuse("invalidRequest", detail, { errors: [{ pointer: "?from", message }] });
}
