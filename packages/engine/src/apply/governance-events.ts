import type { GovernanceEvent } from "../contract/events.ts";
import type { Account } from "../model/budget.ts";
import type { TeamName } from "../model/ids.ts";
import { heedsHead, rulesOf } from "../policy/rules.ts";
import { invariant } from "../base/invariant.ts";
import { recount, recountUsers } from "../cluster/holdings.ts";
import { accrueAll, countDays, openAccount, recountAccounts } from "./accounts.ts";
import { forgetDecayedUsage, recordAllDecayedUsage, recountDecayedUsage, renewDecayedUsage } from "./decayed-usage.ts";
import { renewRunTimes } from "./run-times.ts";
import { ANSWERS_KEPT } from "../state/state.ts";
import { unreachable } from "../base/unreachable.ts";
import { waitForWindows, waitForWindowsAhead } from "../cluster/world.ts";
import type { WritableWorld } from "./writable.ts";

/** First versions of events from which budgets are counted by day. Older events give the same state as before. */
const DAYS_COUNTED_FROM = { teamDefined: 3, budgetRenewed: 2 } as const;

export function applyGovernanceEvent(world: WritableWorld, event: GovernanceEvent): void {
  const { state, teamUse, queue } = world;
  switch (event.kind) {
    case "teamDefined": {
      const before = state.teams.get(event.team.name);
      accrueAll(world);
      recordAllDecayedUsage(world);
      state.teams.set(event.team.name, event.team);
      openAccount(world, event.team, before);
      if (event.version >= DAYS_COUNTED_FROM.teamDefined) countDays(world, event.team.name);
      recountAccounts(world);
      recountDecayedUsage(world);
      refreshTeams(world, before !== undefined && before.parent !== event.team.parent);
      return;
    }
    case "teamRemoved":
      accrueAll(world);
      state.teams.delete(event.team);
      state.accounts.delete(event.team);
      forgetDecayedUsage(world, event.team);
      recountAccounts(world);
      refreshTeams(world, false);
      return;
    case "policySet":
      state.policy = event.policy;
      world.rules = rulesOf(event.policy);
      teamUse.heed(world.rules);
      renewRunTimes(world);
      queue.reorder(world.rules);
      recount(world);
      for (const attempt of state.attempts.values()) waitForWindows(world, attempt);
      for (const nomination of state.nominations.values()) waitForWindowsAhead(world, nomination);
      renewDecayedUsage(world);
      world.startWindow.lookAtMs = -1;
      return;
    case "budgetCrossed": {
      accrueAll(world);
      const { team, percent, periodStartMs } = event;
      state.accounts.set(team, { ...accountOf(world, team), crossed: { percent, periodStartMs } });
      // A stopped workload can no longer start, so it no longer blocks requests behind it.
      if (heedsHead(world.rules)) world.queue.markDirty();
      return;
    }
    case "budgetRenewed": {
      accrueAll(world);
      const { crossed: _crossed, ...rest } = accountOf(world, event.team);
      state.accounts.set(event.team, rest);
      if (event.version >= DAYS_COUNTED_FROM.budgetRenewed) countDays(world, event.team);
      teamUse.limitEpoch++;
      return;
    }
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

/**
 * Usage counts for the teams as now defined. From the first user limit on, usage is tracked by user. Otherwise user
 * totals are rebuilt only when a team has moved, so that tentative changes survive while team amounts are tried.
 */
function refreshTeams(world: WritableWorld, isMoved: boolean): void {
  const { teamUse, queue, rules } = world;
  const wasKept = teamUse.users.isKept;
  teamUse.refresh();
  teamUse.limitEpoch++;
  if (wasKept !== teamUse.users.isKept || (isMoved && wasKept)) recountUsers(world);
  if (wasKept !== teamUse.users.isKept) queue.reorder(rules);
}

function accountOf({ state }: WritableWorld, team: TeamName): Account {
  const account = state.accounts.get(team);
  invariant(account !== undefined, `team ${team} has no account`);
  return account;
}
