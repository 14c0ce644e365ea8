/** Price and carbon of a kilowatt-hour at an instant, from the tariffs in the calendar. */
import { tariffEndMs, lastDueMs, nextDueMs } from "@headroom/model";
import type { Tariff, TariffTimes } from "@headroom/model";
import type { ReadonlyState } from "../state/state.ts";

/** Price and carbon of a kilowatt-hour. A figure is `null` if no tariff states it. */
export interface Figures {
  readonly microUsdPerKwh: number | null;
  readonly gramsPerKwh: number | null;
}

type Figure = keyof Figures;

export function tariffsOf({ calendar }: Pick<ReadonlyState, "calendar">): readonly Tariff[] {
  return [...calendar.values()].flatMap(({ entry }) => (entry.kind === "tariff" ? [entry] : []));
}

/**
 * The figures for a start at this instant. The site of the start is not known yet, so the highest price and the highest
 * carbon intensity of all sites are used. A figure is `null` if it is unknown for any site.
 */
export function figuresAt(state: ReadonlyState, atMs: number): Figures {
  const tariffs = tariffsOf(state);
  const of = (figure: Figure): number | null => {
    const sites = state.sites.size === 0 ? [undefined] : [...state.sites.keys()];
    let most: number | null = null;
    for (const site of sites) {
      const here =
        activeFigure(tariffs, figure, { site, atMs }) ?? activeFigure(tariffs, figure, { site: undefined, atMs });
      if (here === null) return null;
      most = most === null ? here : Math.max(most, here);
    }
    return most;
  };
  return { microUsdPerKwh: of("microUsdPerKwh"), gramsPerKwh: of("gramsPerKwh") };
}

interface TariffScope {
  readonly site: Tariff["site"];
  readonly atMs: number;
}

interface ActiveTariff {
  readonly isForecast: boolean;
  readonly begunMs: number;
  readonly name: string;
  readonly amount: number;
}

function goesBefore(left: ActiveTariff, right: ActiveTariff): boolean {
  if (left.isForecast !== right.isForecast) return left.isForecast;
  return left.begunMs > right.begunMs || (left.begunMs === right.begunMs && left.name > right.name);
}

/** The value of a series in the step that contains the instant, or `undefined` if the series does not cover it. */
const stepAt = (when: TariffTimes & { readonly kind: "series" }, atMs: number, figure: Figure): number | undefined =>
  when[figure]?.[Math.floor((atMs - when.startMs) / when.stepMs)];

/**
 * The figure that applies at the site. A series is preferred to other tariffs, then the tariff that began last, then
 * the one with the later name.
 */
function activeFigure(tariffs: readonly Tariff[], figure: Figure, { site, atMs }: TariffScope): number | null {
  let best: ActiveTariff | null = null;
  for (const tariff of tariffs) {
    const begunMs = tariff.site === site ? begunAtMs(tariff, atMs) : null;
    if (begunMs === null) continue;
    const amount = tariff.when.kind === "series" ? stepAt(tariff.when, atMs, figure) : tariff[figure];
    if (amount === undefined) continue;
    const each = { isForecast: tariff.when.kind === "series", begunMs, name: tariff.name, amount };
    if (best === null || goesBefore(each, best)) best = each;
  }
  return best?.amount ?? null;
}

/** Start of the tariff's current period, or `null` if the tariff does not apply at this instant. */
function begunAtMs({ when }: Tariff, atMs: number): number | null {
  if (when.kind !== "recurring") return when.startMs <= atMs && atMs < tariffEndMs(when) ? when.startMs : null;
  const begunMs = lastDueMs(when.times, atMs);
  return begunMs !== null && atMs < begunMs + when.durationMs ? begunMs : null;
}

function nextStepMs(when: TariffTimes & { readonly kind: "series" }, afterMs: number): number | null {
  const { startMs, stepMs } = when;
  if (afterMs < startMs) return startMs;
  const nextMs = startMs + (Math.floor((afterMs - startMs) / stepMs) + 1) * stepMs;
  return nextMs <= tariffEndMs(when) ? nextMs : null;
}

/** The first instant after this one at which a tariff begins or ends, or `null` if there is none. */
export function nextTariffChangeMs(state: Pick<ReadonlyState, "calendar">, afterMs: number): number | null {
  const instants = tariffsOf(state).flatMap(({ when }): (number | null)[] => {
    if (when.kind === "once") return [when.startMs, when.endMs];
    if (when.kind === "series") return [nextStepMs(when, afterMs)];
    const begunMs = lastDueMs(when.times, afterMs);
    return [nextDueMs(when.times, afterMs), begunMs === null ? null : begunMs + when.durationMs];
  });
  const later = instants.filter((instant): instant is number => instant !== null && instant > afterMs);
  return later.length === 0 ? null : Math.min(...later);
}
