/**
 * Decides when work with a start window on price or carbon may start: in such a window, or from its latest start on.
 */
import type { WorkloadSpec } from "@headroom/model";
import { statedDurationMs } from "../usage/expected-duration.ts";
import type { World } from "./world.ts";
import type { PowerForecast } from "../energy/power-forecast.ts";
import { nextTariffChangeMs } from "../energy/tariffs.ts";

/**
 * Latest start of the work, as stated or as derived from its deadline and expected run time. `null` if there is none.
 */
export function latestStartAtMs(world: World, spec: WorkloadSpec): number | null {
  const { startWindow, deadlineMs } = spec;
  const byDeadlineMs = deadlineMs === undefined ? null : Math.max(0, deadlineMs - statedDurationMs(world.rules, spec));
  const latestMs = startWindow?.latestStartMs ?? null;
  if (byDeadlineMs === null || latestMs === null) return byDeadlineMs ?? latestMs;
  return Math.min(byDeadlineMs, latestMs);
}

/**
 * Whether a period of the forecast meets the conditions of the start window. A condition on a figure that no tariff
 * states is not met.
 */
function isMet(world: World, spec: WorkloadSpec, { forecast, index }: ForecastPoint): boolean {
  const { microUsdPerKwhMax, gramsPerKwhMax, cheapestMs, cleanestMs } = spec.startWindow ?? {};
  const { microUsdPerKwh, gramsPerKwh } = forecast.at(index)?.figures ?? { microUsdPerKwh: null, gramsPerKwh: null };
  const within = (figure: number | null, most: number | undefined): boolean =>
    most === undefined || (figure !== null && figure <= most);
  if (!within(microUsdPerKwh, microUsdPerKwhMax) || !within(gramsPerKwh, gramsPerKwhMax)) return false;
  if (cheapestMs === undefined && cleanestMs === undefined) return true;
  // The lowest price or carbon intensity is searched up to the work's latest start; without a latest start, over all
  // known tariffs.
  const untilMs = latestStartAtMs(world, spec) ?? Number.POSITIVE_INFINITY;
  if ((forecast.at(index)?.fromMs ?? untilMs) >= untilMs) return false;
  const isLeast = (figure: "microUsdPerKwh" | "gramsPerKwh", leastMs: number | undefined): boolean =>
    leastMs === undefined || forecast.isAmongLeast(index, figure, { leastMs, untilMs });
  return isLeast("microUsdPerKwh", cheapestMs) && isLeast("gramsPerKwh", cleanestMs);
}

interface ForecastPoint {
  readonly forecast: PowerForecast;
  readonly index: number;
}

/** Whether the work may start at the instant at which the forecast begins. */
export function mayStart(world: World, spec: WorkloadSpec, forecast: PowerForecast, nowMs: number): boolean {
  if (spec.startWindow === undefined || isMet(world, spec, { forecast, index: 0 })) return true;
  const latestStartMs = latestStartAtMs(world, spec);
  return latestStartMs !== null && latestStartMs <= nowMs;
}

/** Start of the next window within the known tariffs, or `null` if none is known. */
export function opensAtMs(world: World, spec: WorkloadSpec, forecast: PowerForecast): number | null {
  for (let index = 1, piece = forecast.at(index); piece !== undefined; piece = forecast.at(++index))
    if (isMet(world, spec, { forecast, index })) return piece.fromMs;
  return null;
}

/** The next instant at which the start window of any work may open or close, or `null` if there is none. */
export function nextLookMs(world: World, nowMs: number): number | null {
  const { waiting } = world.startWindow;
  if (waiting.size === 0) return null;
  const instants = [...waiting].flatMap((id) => {
    const workload = world.state.workloads.get(id);
    return workload === undefined ? [] : [latestStartAtMs(world, workload.spec)];
  });
  const later = [nextTariffChangeMs(world.state, nowMs), ...instants].filter(
    (instant): instant is number => instant !== null && instant > nowMs,
  );
  return later.length === 0 ? null : Math.min(...later);
}
