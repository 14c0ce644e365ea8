/** Recomputes each team's usage (total, non-preemptible, borrowable) and compares it with the index. */
import { ACCELERATORS_AT } from "@headroom/engine/internals";
import type { Findings, World } from "@headroom/engine/internals";
import { isPreemptible, isEviction, mayEvict, preemptibilityOf } from "@headroom/model";
import { growthAsked, heldByTeam, heldByUser } from "./held-by-team.ts";
import { quotaView } from "./quota-recount.ts";

export function checkTeamUse(findings: Findings, { state, teamUse, rules }: World): void {
  const held = heldByTeam(state);
  const fixed = heldByTeam(state, ({ spec }) => !isPreemptible(rules, spec));
  for (const team of state.teams.keys()) {
    const node = teamUse.node(team);
    teamUse.resources.forEach((resource, position) => {
      // The index holds accelerators in thousandths, in total and by type.
      const unit = position >= ACCELERATORS_AT ? 1000 : 1;
      const counted = held.get(team)?.get(resource) ?? 0;
      const filed = (node.used[position] ?? 0) / unit;
      findings.expect(
        isSame(filed, counted),
        () => `team ${team} is indexed with ${filed} ${resource}, it holds ${counted}`,
      );
      const countedFixed = fixed.get(team)?.get(resource) ?? 0;
      const filedFixed = (node.fixed[position] ?? 0) / unit;
      findings.expect(
        isSame(filedFixed, countedFixed),
        () =>
          `team ${team} is indexed with ${filedFixed} ${resource} that cannot be preempted, it holds ${countedFixed}`,
      );
    });
  }
}

/** Recomputes each user's usage, if users are tracked, and compares it with the index. */
export function checkUserUse(findings: Findings, { state, teamUse, rules }: World): void {
  const { users } = teamUse;
  const isAsked =
    rules.order.includes("user") || [...state.teams.values()].some(({ userLimit }) => userLimit !== undefined);
  findings.expect(
    users.isKept === isAsked,
    () => `users are ${isAsked ? "" : "not "}told apart, the index says otherwise`,
  );
  const seen = new Set<string>();
  if (isAsked)
    for (const user of new Set([...state.workloads.values()].map(({ actor }) => actor)))
      for (const [team, amounts] of heldByUser(state, user)) {
        const filed = users.used(team, user);
        seen.add(`${team}\n${user}`);
        teamUse.resources.forEach((resource, position) => {
          const unit = position >= ACCELERATORS_AT ? 1000 : 1;
          const [is, counted] = [(filed[position] ?? 0) / unit, amounts.get(resource) ?? 0];
          findings.expect(
            isSame(is, counted),
            () => `${user} in ${team} is indexed with ${is} ${resource}, and holds ${counted}`,
          );
        });
      }
  for (const [key, filed] of users.entries())
    findings.expect(
      seen.has(key) || filed.every((amount) => amount === 0),
      () => `${key} is indexed as holding something and holds nothing`,
    );
}

/** Thousandths are summed as integers here and as fractions in the index. */
const isSame = (left: number, right: number): boolean => Math.abs(left - right) < 1e-6;

/** Checks the capacity that teams may still borrow, if the active policy allows borrowing. */
export function checkLending(findings: Findings, { state, teamUse, rules }: World): void {
  const { quota } = teamUse;
  const borrows = rules.teams.overGuarantee === "borrow";
  findings.expect(
    borrows === (quota !== null),
    () => `teams ${borrows ? "" : "do not "}borrow and the quota tree says otherwise`,
  );
  if (quota === null) return;
  const view = quotaView(state);
  for (const team of state.teams.keys()) {
    const leaf = quota.leaf(team);
    quota.positions.forEach((position, at) => {
      const resource = teamUse.resources[position] as string;
      const filed = quota.tree.available(leaf, at) / (position >= ACCELERATORS_AT ? 1000 : 1);
      const counted = view.available(team, resource);
      // The index and this recount represent unlimited amounts differently.
      const isBound = counted !== null && Math.abs(counted) < 1e12;
      findings.expect(
        !isBound || isSame(filed, counted),
        () => `team ${team} is indexed with ${filed} ${resource} to use, it may use ${counted}`,
      );
    });
  }
}

/** Checks that the index of partially or fully evicted attempts contains exactly the victims of plans. */
export function checkTerminating(findings: Findings, { state, terminating }: World): void {
  for (const attempt of state.attempts.values()) {
    const { id, stop } = attempt;
    const isTaken = stop !== null && isEviction(stop.reason);
    const isTerminating = isTaken || attempt.terminating !== undefined;
    findings.expect(
      terminating.has(attempt) === isTerminating,
      () => `${id} is indexed as ${isTerminating ? "staying" : "terminating"} and is not`,
    );
  }
  const gone = [...terminating].filter(({ id }) => !state.attempts.has(id));
  findings.expect(
    gone.length === 0,
    () => `${gone.map(({ id }) => id).join(", ")} has ended and is indexed as terminating`,
  );
}

/**
 * Checks that every running gang below its maximum requests the number of workers that it may get at once, and that no
 * other gang requests any.
 */
export function checkGrowth(findings: Findings, { state, queue }: World): void {
  const filed = new Map([...queue.growthClasses()].map(({ request }) => [request.grows as string, request.workers]));
  for (const attempt of state.attempts.values()) {
    const asked = growthAsked(state, attempt);
    const filedAs = filed.get(attempt.id) ?? 0;
    findings.expect(
      filedAs === asked,
      () => `${attempt.id} is indexed as asking for ${filedAs} workers, it asks for ${asked}`,
    );
    filed.delete(attempt.id);
  }
  findings.expect(filed.size === 0, () => `${[...filed.keys()].join(", ")} would grow and does not run`);
}

/**
 * Checks the index of preemptible work, which is divided by the plans that may evict the work, and its upper bounds for
 * plans.
 */
export function checkEvictable(findings: Findings, { state, rules, evictable }: World): void {
  const counted = new Map<string, { accelerators: number; priorityMin: number; size: number }>();
  for (const attempt of state.attempts.values()) {
    const spec = state.workloads.get(attempt.workloadId)?.spec;
    const work = spec === undefined ? undefined : evictable.get(spec.team);
    const isFiled = work?.has(attempt) === true;
    const preemptibility = spec === undefined ? "never" : preemptibilityOf(rules, spec);
    if (spec === undefined || attempt.stop !== null || preemptibility === "never" || !mayEvict(rules)) {
      findings.expect(!isFiled, () => `${attempt.id} is indexed as evictable and is not`);
      continue;
    }
    const filed = preemptibility === "always" ? work?.always : work?.guarded;
    findings.expect(filed?.has(attempt) === true, () => `${attempt.id} is evictable and is not indexed so`);
    const key = `${spec.team} ${preemptibility}`;
    const known = counted.get(key) ?? { accelerators: 0, priorityMin: spec.priority, size: 0 };
    known.accelerators += attempt.workers.length * spec.gang.accelerators;
    known.priorityMin = Math.min(known.priorityMin, spec.priority);
    known.size++;
    counted.set(key, known);
  }
  for (const [team, work] of evictable) {
    findings.expect(work.size > 0, () => `${team} has no evictable work and is indexed with some`);
    for (const [preemptibility, filed] of [
      ["always", work.always] as const,
      ["aboveGuarantee", work.guarded] as const,
    ]) {
      const known = counted.get(`${team} ${preemptibility}`);
      const { size, accelerators, priorityMin } = filed;
      findings.expect(
        known === undefined
          ? size === 0
          : known.size === size && known.accelerators === accelerators && known.priorityMin === priorityMin,
        () =>
          `${team}'s evictable work (${preemptibility}) is indexed as ${size}, ${accelerators}, ${priorityMin}: ${JSON.stringify(known)}`,
      );
    }
  }
}
