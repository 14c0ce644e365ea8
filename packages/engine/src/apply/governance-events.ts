import { heedsHead, rulesOf, invariant } from "@headroom/model";
import type { GovernanceEvent, Account, TeamName } from "@headroom/model";
import { recount, recountUsers } from "../cluster/holdings.ts";
import { accrueAll, countDays, openAccount, recountAccounts } from "./accounts.ts";
import { forgetDecayedUsage, recordAllDecayedUsage, recountDecayedUsage, renewDecayedUsage } from "./decayed-usage.ts";
import { forgetImportedUse } from "./imported-histories.ts";
import { renewRunTimes } from "./run-times.ts";
import { ANSWERS_KEPT } from "../state/state.ts";
import { waitForEveryWindow } from "../cluster/world.ts";
import type { Appliers, WritableWorld } from "./writable.ts";

/** First version of each event kind from which usage is counted by day. Older events give the same state as before. */
const DAYS_COUNTED_FROM = { teamDefined: 3, budgetRenewed: 2 } as const;

export const governanceEvents: Appliers<GovernanceEvent> = {
  teamDefined(world, { team, version }) {
    const before = world.state.teams.get(team.name);
    const hasNewParent = before !== undefined && before.parent !== team.parent;
    beginTeams(world, hasNewParent);
    world.state.teams.set(team.name, team);
    openAccount(world, team, before);
    if (version >= DAYS_COUNTED_FROM.teamDefined) countDays(world, team.name);
    // Usage history begins for each new ancestor of running work, so the order of the moves counts.
    if (hasNewParent && world.decayedUsage.halfLife !== null) settleTeams(world);
  },
  teamRemoved(world, { team }) {
    accrueAll(world);
    world.state.teams.delete(team);
    world.state.accounts.delete(team);
    forgetDecayedUsage(world, team);
    forgetImportedUse(world);
    recountAccounts(world);
    refreshTeams(world, false);
  },
  policySet(world, { policy }) {
    world.state.policy = policy;
    world.rules = rulesOf(policy);
    world.teamUse.heed(world.rules);
    renewRunTimes(world);
    world.queue.reorder(world.rules);
    recount(world);
    waitForEveryWindow(world);
    renewDecayedUsage(world);
    world.startWindow.lookAtMs = -1;
  },
  budgetCrossed(world, { team, percent, periodStartMs }) {
    accrueAll(world);
    world.state.accounts.set(team, { ...accountOf(world, team), crossed: { percent, periodStartMs } });
    // A stopped workload can no longer start, so it no longer blocks requests behind it.
    if (heedsHead(world.rules)) world.queue.markDirty();
  },
  budgetRenewed(world, { team, version }) {
    accrueAll(world);
    const { crossed: _crossed, ...rest } = accountOf(world, team);
    world.state.accounts.set(team, rest);
    if (version >= DAYS_COUNTED_FROM.budgetRenewed) countDays(world, team);
    world.teamUse.limitEpoch++;
  },
  commandAnswered({ state, answerKeys }, { key, fingerprint, result, atMs }) {
    state.answers.set(key, { fingerprint, result, atMs });
    answerKeys.push(key);
    const oldest = state.answers.size > ANSWERS_KEPT ? answerKeys.shift() : undefined;
    if (oldest !== undefined) state.answers.delete(oldest);
  },
};

/** Brings usage up to now before the first team of a series is defined. */
function beginTeams(world: WritableWorld, hasNewParent: boolean): void {
  const { nowMs: atMs } = world.state;
  if (world.unsettledTeams === null) {
    accrueAll(world);
    recordAllDecayedUsage(world);
    world.unsettledTeams = { atMs, hasNewParent };
  } else world.unsettledTeams.hasNewParent ||= hasNewParent;
}

/**
 * Rebuilds the indexes after a series of team definitions. Each rebuild reads all teams, so one for each team would make
 * a document of many teams quadratic. Called before any other event is applied, and before the indexes are read.
 */
export function settleTeams(world: WritableWorld): void {
  const { unsettledTeams } = world;
  if (unsettledTeams === null) return;
  world.unsettledTeams = null;
  recountAccounts(world);
  recountDecayedUsage(world);
  refreshTeams(world, unsettledTeams.hasNewParent);
}

/**
 * Usage counts for the present team definitions. With the first user limit, usage begins to be tracked by user.
 * Otherwise the totals of users are rebuilt only when a team has moved, so that tentative changes survive while other
 * team amounts are tried.
 */
function refreshTeams(world: WritableWorld, hasNewParent: boolean): void {
  const { teamUse, queue, rules } = world;
  const wasKept = teamUse.users.isKept;
  teamUse.refresh();
  teamUse.limitEpoch++;
  if (wasKept !== teamUse.users.isKept || (hasNewParent && wasKept)) recountUsers(world);
  if (wasKept !== teamUse.users.isKept) queue.reorder(rules);
}

function accountOf({ state }: WritableWorld, team: TeamName): Account {
  const account = state.accounts.get(team);
  invariant(account !== undefined, `team ${team} has no account`);
  return account;
}
