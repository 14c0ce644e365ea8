/** Usage of a team with a budget on each of the last days in UTC, whatever the budget's period. */
import { DAY_MS, dayOf } from "@headroom/model";
import type { DayUse, Rate } from "@headroom/model";

/** Number of whole days before the present one that are kept: a week, so that a weekend is included. */
const WHOLE_DAYS_COUNTED = 7;

/** The first daily count. It is empty and begins at this instant. */
export const daysFrom = (fromMs: number): readonly DayUse[] => [{ fromMs, milliMs: 0, moneyMilliMs: 0 }];

interface Passed {
  readonly rate: Rate;
  readonly fromMs: number;
  readonly nowMs: number;
}

/** The daily counts at a later instant. In between, usage had one constant rate. */
export function daysUntil(days: readonly DayUse[], { rate, fromMs, nowMs }: Passed): readonly DayUse[] {
  const firstMs = (dayOf(nowMs) - WHOLE_DAYS_COUNTED) * DAY_MS;
  const counted = days.filter((day) => dayOf(day.fromMs) * DAY_MS >= firstMs);
  let atMs = Math.max(fromMs, firstMs);
  while (atMs < nowMs) {
    const untilMs = Math.min(nowMs, (dayOf(atMs) + 1) * DAY_MS);
    const last = counted.at(-1);
    const isOfDay = last !== undefined && dayOf(last.fromMs) === dayOf(atMs);
    const known = isOfDay ? last : { fromMs: atMs, milliMs: 0, moneyMilliMs: 0 };
    const passedMs = untilMs - atMs;
    counted.splice(isOfDay ? -1 : counted.length, 1, {
      fromMs: known.fromMs,
      milliMs: known.milliMs + rate.milli * passedMs,
      moneyMilliMs: known.moneyMilliMs + rate.moneyMilli * passedMs,
    });
    atMs = untilMs;
  }
  return counted;
}
