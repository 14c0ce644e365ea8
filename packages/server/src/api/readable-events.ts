/** Recorded events as a principal may see them. */
import type { Event } from "@headroom/model";
import type { EventEnvelope } from "@headroom/protocol";
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
