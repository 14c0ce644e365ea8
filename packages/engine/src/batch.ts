/** One call of `receive` in progress: what was decided so far. Events are applied as they are emitted, so decisions see each other. */
import { applyEvent } from "./apply/apply.ts";
import type { Effect } from "./effects.ts";
import type { Event } from "./events.ts";
import type { CommandId } from "./model/ids.ts";
import type { CommandResult, Rejection, Reply } from "./replies.ts";
import type { World } from "./state/world.ts";

export class Batch {
  readonly world: World;
  readonly nowMs: number;
  readonly events: Event[] = [];
  readonly replies: Reply[] = [];
  readonly effects: Effect[] = [];

  constructor(world: World, nowMs: number) {
    this.world = world;
    this.nowMs = nowMs;
  }

  emit(event: Event): void {
    applyEvent(this.world, event);
    this.events.push(event);
  }

  accept(commandId: CommandId, result: CommandResult): void {
    this.replies.push({ kind: "accepted", commandId, result });
  }

  reject(commandId: CommandId, rejection: Rejection): void {
    this.replies.push({ kind: "rejected", commandId, rejection });
  }
}
