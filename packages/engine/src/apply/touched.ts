import type { AttemptId } from "../model/ids.ts";
import { activeAttempt } from "../cluster/entities.ts";
import { InvariantError } from "../base/invariant.ts";
import type { World } from "../cluster/world.ts";
import type { AttemptEntity } from "../state/mutable-state.ts";

/** The attempt that an event is about, marked as written to. */
export function touchedAttempt(world: World, id: AttemptId): AttemptEntity {
  const attempt = activeAttempt(world, id);
  if (attempt === undefined) throw new InvariantError(`no active attempt ${id}`);
  attempt.revision = world.state.sequence;
  return attempt;
}
