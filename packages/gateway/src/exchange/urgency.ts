/** Priority and deadline of a request, from its headers and its `service_tier`, within the bounds of its key. */
import type { Caller } from "../access/teams.ts";
import { lowerOf, priorities, rankOf, type Priority } from "../fairness/priority.ts";
import type { ApiError } from "../protocols/api-error.ts";

export interface Urgency {
  readonly priority: Priority;
  /** Time in ms after the arrival of the request at which its answer must have begun. Undefined: any time. */
  readonly deadlineMs: number | undefined;
}

/** Longest deadline: a day. */
const DEADLINE_MS_MAX = 86_400_000;

/** Names of OpenAI's service tiers for work that may wait, and for work that pays to come first. */
const tierPriorities: ReadonlyMap<string, Priority> = new Map([
  ["flex", "low"],
  ["priority", "high"],
]);

/**
 * A header beyond the bounds of the key is refused. A service tier beyond them is lowered, as providers do: SDKs send it to every
 * server alike.
 */
export function urgencyOf(
  own: ReadonlyMap<string, string> | undefined,
  serviceTier: string,
  { priorityMax, team }: Pick<Caller, "priorityMax" | "team">,
): Urgency | ApiError {
  const stated = own?.get("x-headroom-priority")?.toLowerCase();
  const priority = priorities.find((each) => each === stated);
  if (stated !== undefined && priority === undefined) {
    const message = `\`x-headroom-priority\` must be one of ${priorities.join(", ")}.`;
    return { kind: "badRequest", field: "x-headroom-priority", message };
  }
  if (priority !== undefined && rankOf(priority) > rankOf(priorityMax)) {
    const message = `Requests with this key may have priority ${priorityMax} at most. The operator can raise \`priorityMax\` of team ${team} and of the key.`;
    return { kind: "forbidden", code: "priority_not_allowed", field: "x-headroom-priority", message };
  }
  const deadline = own?.get("x-headroom-deadline-ms");
  const deadlineMs = deadline === undefined ? undefined : Number(deadline);
  if (deadline !== undefined && !(/^\d{1,8}$/.test(deadline) && deadlineMs! >= 1 && deadlineMs! <= DEADLINE_MS_MAX)) {
    const message = `\`x-headroom-deadline-ms\` must be a whole number of milliseconds from 1 to ${DEADLINE_MS_MAX}.`;
    return { kind: "badRequest", field: "x-headroom-deadline-ms", message };
  }
  return { priority: priority ?? lowerOf(tierPriorities.get(serviceTier) ?? "normal", priorityMax), deadlineMs };
}

export const usual: Urgency = { priority: "normal", deadlineMs: undefined };
