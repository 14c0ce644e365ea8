/** What a kilowatt-hour costs, and how much carbon is in it, at an instant: read off the tariffs of the calendar. */
import type { Tariff } from "../model/calendar.ts";
import { lastDueMs, nextDueMs } from "../recurrence/due.ts";
import type { ReadonlyState } from "../state/state.ts";

/** `null`: no tariff says. */
export interface Figures {
  readonly microUsdPerKwh: number | null;
  readonly gramsPerKwh: number | null;
}

type Figure = keyof Figures;

export function tariffsOf({ calendar }: Pick<ReadonlyState, "calendar">): readonly Tariff[] {
  return [...calendar.values()].flatMap(({ entry }) => (entry.kind === "tariff" ? [entry] : []));
}

/**
 * Nobody knows beforehand at which site work will start, so of several sites the dearest and the dirtiest counts, and what is
 * not known of one of them is not known.
 */
export function figuresAt(state: ReadonlyState, atMs: number): Figures {
  const tariffs = tariffsOf(state);
  const of = (figure: Figure): number | null => {
    const sites = state.sites.size === 0 ? [undefined] : [...state.sites.keys()];
    let most: number | null = null;
    for (const site of sites) {
      const here = inForce(tariffs, figure, { site, atMs }) ?? inForce(tariffs, figure, { site: undefined, atMs });
      if (here === null) return null;
      most = Math.max(most ?? 0, here);
    }
    return most;
  };
  return { microUsdPerKwh: of("microUsdPerKwh"), gramsPerKwh: of("gramsPerKwh") };
}

interface Where {
  readonly site: Tariff["site"];
  readonly atMs: number;
}

/** Of the tariffs that hold at the site and state the figure, the one that began last; of two, the one named later. */
function inForce(tariffs: readonly Tariff[], figure: Figure, { site, atMs }: Where): number | null {
  let best: { readonly begunMs: number; readonly name: string; readonly amount: number } | null = null;
  for (const tariff of tariffs) {
    const amount = tariff[figure];
    const begunMs = tariff.site === site ? begunAtMs(tariff, atMs) : null;
    if (begunMs === null || amount === undefined) continue;
    if (best === null || begunMs > best.begunMs || (begunMs === best.begunMs && tariff.name > best.name))
      best = { begunMs, name: tariff.name, amount };
  }
  return best?.amount ?? null;
}

/** Since when the tariff holds; `null`: it does not at this instant. */
function begunAtMs({ when }: Tariff, atMs: number): number | null {
  if (when.kind === "once") return when.startMs <= atMs && atMs < when.endMs ? when.startMs : null;
  const begunMs = lastDueMs(when.times, atMs);
  return begunMs !== null && atMs < begunMs + when.durationMs ? begunMs : null;
}

/** The first instant after this one at which a tariff begins or ends; `null`: none does. */
export function nextTariffChangeMs(state: Pick<ReadonlyState, "calendar">, afterMs: number): number | null {
  const instants = tariffsOf(state).flatMap(({ when }): (number | null)[] => {
    if (when.kind === "once") return [when.startMs, when.endMs];
    const begunMs = lastDueMs(when.times, afterMs);
    return [nextDueMs(when.times, afterMs), begunMs === null ? null : begunMs + when.durationMs];
  });
  const coming = instants.filter((instant): instant is number => instant !== null && instant > afterMs);
  return coming.length === 0 ? null : Math.min(...coming);
}
