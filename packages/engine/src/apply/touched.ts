import type { AttemptId } from "../model/ids.ts";
import { activeAttempt } from "./writable.ts";
import { InvariantError } from "../base/invariant.ts";
import type { WritableWorld } from "./writable.ts";
import type { WritableAttempt } from "../state/mutable-state.ts";

/** The attempt of an event, marked as modified. */
export function touchedAttempt(world: WritableWorld, id: AttemptId): WritableAttempt {
  const attempt = activeAttempt(world, id);
  if (attempt === undefined) throw new InvariantError(`no active attempt ${id}`);
  attempt.revision = world.state.sequence;
  return attempt;
}
