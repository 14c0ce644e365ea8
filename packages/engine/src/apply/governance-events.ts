import type { GovernanceEvent } from "../events.ts";
import { rulesOf } from "../policy/rules.ts";
import { recount } from "../state/holdings.ts";
import { ANSWERS_KEPT } from "../state/state.ts";
import { unreachable } from "../state/unreachable.ts";
import type { World } from "../state/world.ts";

export function applyGovernanceEvent(world: World, event: GovernanceEvent): void {
  const { state, teamUse, queue } = world;
  switch (event.kind) {
    case "teamDefined": {
      state.teams.set(event.team.name, event.team);
      teamUse.refresh();
      teamUse.limitEpoch++;
      return;
    }
    case "teamRemoved":
      state.teams.delete(event.team);
      teamUse.refresh();
      teamUse.limitEpoch++;
      return;
    case "policySet":
      state.policy = event.policy;
      world.rules = rulesOf(event.policy);
      queue.reorder(world.rules);
      recount(world);
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
