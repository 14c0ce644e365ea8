import type { GovernanceEvent } from "../events.ts";
import { ANSWERS_KEPT } from "../state/state.ts";
import { unreachable } from "../state/unreachable.ts";
import type { World } from "../state/world.ts";

export function applyGovernanceEvent(world: World, event: GovernanceEvent): void {
  const { state, teamUse, queue } = world;
  switch (event.kind) {
    case "teamDefined": {
      const before = state.teams.get(event.team.name);
      const moves = before !== undefined && before.parent !== event.team.parent;
      // What a team holds counts for its ancestors, so a move takes it out of the old ones and into the new ones.
      if (moves) teamUse.moveFrom(event.team.name);
      state.teams.set(event.team.name, event.team);
      if (moves) teamUse.moveTo(event.team.name);
      teamUse.limitEpoch++;
      return;
    }
    case "teamRemoved":
      state.teams.delete(event.team);
      teamUse.limitEpoch++;
      return;
    case "policySet":
      state.policy = event.policy;
      queue.reorder(event.policy);
      return;
    case "commandAnswered": {
      state.answers.set(event.key, { fingerprint: event.fingerprint, result: event.result, atMs: event.atMs });
      world.answerKeys.push(event.key);
      const oldest = state.answers.size > ANSWERS_KEPT ? world.answerKeys.shift() : undefined;
      if (oldest !== undefined) state.answers.delete(oldest);
      return;
    }
    default:
      unreachable(event);
  }
}
