import { groupAt, typesOfGroup, isPreemptible } from "@headroom/model";
import type { BlockedReason } from "@headroom/model";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import { amountAsked, isInGroups, partsAsked, quotaExceededAlone, quotaReachedBy } from "../../cluster/request.ts";
import { FIRST_TYPE_AT, amountAt, statedAmount } from "../../cluster/team-node.ts";
import type { Amount } from "../../cluster/team-node.ts";
import type { World } from "../../cluster/world.ts";
import type { Filter } from "./filter.ts";
import type { Inquiry } from "./inquiry.ts";

/**
 * Limits, guarantees, lending and budgets of the team and the teams above it, checked by accelerator type
 * (`quotaReached`).
 */
export const quota: Filter = {
  // A list and not a string: V8 would copy a concatenated string of every submission before it compares it.
  signature: ({ spec, actor }, { rules, users }) => {
    const isPreemptibleWork = isPreemptible(rules, spec);
    if (users.isKept) return [spec.team, isPreemptibleWork, actor];
    return isPreemptibleWork ? spec.team : [spec.team];
  },
  check: "amounts",
  wakeOn: ["teamDefined", "teamRemoved", "attemptStopRequested", "gangShrinkRequested"],
  explain: (inquiry) => {
    if (inquiry.exceedsFleet) return null;
    if (isInGroups(inquiry.request)) {
      const limit = limitOn(inquiry.world, inquiry.request, "") ?? limitOnFirstTypes(inquiry);
      return limit === null ? null : { reasons: [limit] };
    }
    const reasons = limitsOf(inquiry);
    return reasons.length === 0 ? null : { reasons, isPartial: inquiry.open.length > 0 };
  },
};

type TeamLimit = BlockedReason & { readonly kind: "teamLimit" };

/** The quota that excludes the request from a type, or `null` if none does. */
export const limitOn = (world: World, request: PlacementRequest, type: string): TeamLimit | null =>
  limitBy(world, request, type, amountAsked(world, request, type));

/**
 * One reason for each quota that excludes a type. A quota that is not stated by type excludes all types and is reported
 * once.
 */
function limitsOf({ world, request, able }: Inquiry): readonly TeamLimit[] {
  const reasons = new Map<string, TeamLimit>();
  for (const { type } of able) {
    const reason = limitOn(world, request, type.type);
    if (reason === null) continue;
    const { bound, team, resource } = reason;
    const key = [bound, team, resource].join(" ");
    if (!reasons.has(key)) reasons.set(key, reason);
  }
  return [...reasons.values()];
}

/** The quota that is reached if each task group gets the type that it prefers most. */
function limitOnFirstTypes(inquiry: Inquiry): TeamLimit | null {
  const { world, request } = inquiry;
  if (!inquiry.groupsFitWithoutQuotas()) return null;
  const amount = world.teamUse.amountOfParts(partsAsked(world, request), ({ group = 0 }) => {
    const types = typesOfGroup(request.spec, groupAt(request.gang, group));
    return world.capacity.acceptable(types)[0]?.type ?? "";
  });
  return limitBy(world, request, "", amount);
}

function limitBy(world: World, request: PlacementRequest, acceleratorType: string, amount: Amount): TeamLimit | null {
  // A quota that the request exceeds even without other usage comes before a quota that other work has used up.
  const reached = quotaExceededAlone(world, request, amount) ?? quotaReachedBy(world, request, () => amount);
  if (reached === null) return null;
  const { bound, team, resource, limit: limitCount, used: usedCount } = reached;
  const neededCount = amountOf(world, amount, resource);
  const user = reached.user === undefined ? {} : { user: reached.user };
  return { kind: "teamLimit", bound, ...user, team, acceleratorType, resource, neededCount, limitCount, usedCount };
}

/** An amount of a resource in the unit in which teams state it. */
function amountOf({ teamUse }: World, amount: Amount, resource: string): number {
  const position = teamUse.position(resource);
  const isOfOneType = position >= FIRST_TYPE_AT && amount.byType === undefined;
  return statedAmount(position, isOfOneType ? amount.acceleratorsMilli : amountAt(amount, position));
}
