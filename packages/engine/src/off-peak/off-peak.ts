/** When work that waits for cheap or clean power may start: in such a window, or when it can wait no longer. */
import type { OffPeakSpec, WorkloadSpec } from "../model/workload.ts";
import { expectedDurationMs } from "../schedule/backfill/expected-duration.ts";
import type { World } from "../state/world.ts";
import { figuresAt, nextTariffChangeMs } from "./tariffs.ts";
import type { Figures } from "./tariffs.ts";

/** A figure that no tariff states is not met. */
function isMet({ microUsdPerKwhMax, gramsPerKwhMax }: OffPeakSpec, { microUsdPerKwh, gramsPerKwh }: Figures): boolean {
  const within = (figure: number | null, most: number | undefined): boolean =>
    most === undefined || (figure !== null && figure <= most);
  return within(microUsdPerKwh, microUsdPerKwhMax) && within(gramsPerKwh, gramsPerKwhMax);
}

/** When it starts anyway: at its latest start, or so that it is expected to be done by its deadline; `null`: never. */
export function anywayAtMs(world: World, spec: WorkloadSpec): number | null {
  const { offPeak, deadlineMs } = spec;
  const byDeadlineMs = deadlineMs === undefined ? null : Math.max(0, deadlineMs - expectedDurationMs(world, spec));
  const latestMs = offPeak?.latestStartMs ?? null;
  if (byDeadlineMs === null || latestMs === null) return byDeadlineMs ?? latestMs;
  return Math.min(byDeadlineMs, latestMs);
}

export function mayStart(world: World, spec: WorkloadSpec, nowMs: number): boolean {
  if (spec.offPeak === undefined || isMet(spec.offPeak, figuresAt(world.state, nowMs))) return true;
  const anywayMs = anywayAtMs(world, spec);
  return anywayMs !== null && anywayMs <= nowMs;
}

/** So many changes of tariffs are looked through: weeks of hourly ones. */
const CHANGES_LOOKED_AT = 1000;

/** When the next window opens, as far as tariffs are known; `null`: none is known. */
export function opensAtMs({ state }: World, offPeak: OffPeakSpec, nowMs: number): number | null {
  let atMs = nextTariffChangeMs(state, nowMs);
  for (let looks = 0; atMs !== null && looks < CHANGES_LOOKED_AT; looks++) {
    if (isMet(offPeak, figuresAt(state, atMs))) return atMs;
    atMs = nextTariffChangeMs(state, atMs);
  }
  return null;
}

/** The next instant at which any of the work may have to be told apart anew; `null`: time alone changes nothing. */
export function nextLookMs(world: World, nowMs: number): number | null {
  const { waiting } = world.offPeak;
  if (waiting.size === 0) return null;
  const instants = [...waiting].flatMap((id) => {
    const workload = world.state.workloads.get(id);
    return workload === undefined ? [] : [anywayAtMs(world, workload.spec)];
  });
  const coming = [nextTariffChangeMs(world.state, nowMs), ...instants].filter(
    (instant): instant is number => instant !== null && instant > nowMs,
  );
  return coming.length === 0 ? null : Math.min(...coming);
}
