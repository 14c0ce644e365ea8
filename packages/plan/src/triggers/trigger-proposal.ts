/**
 * The proposal that a fired trigger makes: its change as the document states it, or advice with the trigger's action, and the
 * measured numbers as its ground. The engine's rule of the kind decides about it, so that a trigger changes nothing by itself.
 */
import { poolName, teamName } from "@headroom/model";
import type { ProposalGround, ProposedChange } from "@headroom/model";
import { daysOf } from "../document/calendar.ts";
import type { Trigger, TriggerState } from "./triggers.ts";

const DAY_MS = 86_400_000;
const ORDER_NAME_MAX = 63;
const REASON_MAX = 500;
const VALUE_MAX = 1e9;

export interface TriggerProposal {
  readonly change: ProposedChange;
  readonly reason: string;
  readonly ground: readonly ProposalGround[];
}

/** `firedOn`: the day like `20261129`. It names the order, so that a trigger that fires again asks for another one. */
export function proposalOfTrigger(trigger: Trigger, state: TriggerState, firedOn: string): TriggerProposal {
  const reason = `trigger ${trigger.name} fired: ${trigger.on} was above ${trigger.above} for ${trigger.for} h; ${trigger.action}`;
  return {
    change: changeOf(trigger, firedOn),
    reason: reason.slice(0, REASON_MAX),
    ground: groundOf(trigger, state),
  };
}

function changeOf({ name, action, propose }: Trigger, firedOn: string): ProposedChange {
  if (propose?.order !== undefined) {
    const { pool, nodes, leadTime } = propose.order;
    const [p50, p95] = typeof leadTime === "string" ? [leadTime, leadTime] : [leadTime.p50, leadTime.p95];
    const arrival = {
      kind: "leadTime",
      p50Ms: Math.round(daysOf(p50) * DAY_MS),
      p95Ms: Math.round(daysOf(p95) * DAY_MS),
    } as const;
    return {
      kind: "order",
      order: { name: orderName(name, firedOn), pool: poolName(pool), nodeCount: nodes, arrival },
    };
  }
  if (propose?.quota !== undefined) {
    const { team, limit, guarantee } = propose.quota;
    const stated = { ...(limit === undefined ? {} : { limit }), ...(guarantee === undefined ? {} : { guarantee }) };
    return { kind: "quota", team: teamName(team), ...stated };
  }
  return { kind: "advice", about: `trigger ${name}`, text: action };
}

/** `busy-20261129`: letters, digits and `-`. */
function orderName(trigger: string, firedOn: string): string {
  const plain = trigger
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
  return `${(plain === "" ? "trigger" : plain).slice(0, ORDER_NAME_MAX - 9)}-${firedOn}`;
}

function groundOf({ on, above, for: hours }: Trigger, { value, endsBelow, firings }: TriggerState): ProposalGround[] {
  const unit = on === "queueAge" ? "h" : "";
  const peak = firings.at(-1)?.endedAtHour === null ? firings.at(-1)?.peak : undefined;
  const numbers: readonly (readonly [string, number | null | undefined, string])[] = [
    [on, value, unit],
    ["threshold", above, unit],
    ["ends below", endsBelow, unit],
    ["held for at least", hours, "h"],
    ["peak", peak, unit],
  ];
  return numbers.flatMap(([measure, number, of]) =>
    number === null || number === undefined || Math.abs(number) > VALUE_MAX
      ? []
      : [{ measure, valueMilli: Math.round(number * 1_000), unit: of }],
  );
}
