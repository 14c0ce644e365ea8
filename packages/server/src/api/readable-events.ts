/** Recorded events as a principal may see them. */
import type { Event } from "@headroom/model";
import { readableEvent } from "@headroom/views";
import { readsAllTeams } from "../auth/authorize.ts";
import type { Principal } from "../auth/authorize.ts";
import { readableTeams } from "../auth/team-tree.ts";
import type { ControlPlane } from "./control-plane.ts";

interface Recorded {
  readonly sequence: number;
  readonly event: Event;
}

/** Events about other teams are left out, so sequences can have gaps. */
export async function* readableEvents(
  { driver }: Pick<ControlPlane, "driver">,
  principal: Principal,
  events: AsyncIterable<Recorded>,
): AsyncGenerator<Recorded> {
  if (readsAllTeams(principal)) return yield* events;
  for await (const { sequence, event } of events) {
    const shown = await driver.read((engine) => readableEvent(engine, readableTeams(engine.state, principal), event));
    if (shown !== null) yield { sequence, event: shown };
  }
}
