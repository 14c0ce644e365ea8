/**
 * Checks that starts are allowed at their instant (not held, start time reached, power cheap enough, budget not used
 * up), and that work excluded by a calendar window has stopped when the window begins. Recomputed from the state and
 * the calendar's entries alone.
 */
import { covers, isKeptFor, withAncestors } from "@headroom/engine/internals";
import type { Findings } from "@headroom/engine/internals";
import { lastDueMs } from "@headroom/model";
import type { Tariff, Workload } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";

/** Checks a start that had no earlier nomination. */
export function checkTime(findings: Findings, state: ReadonlyState, workload: Workload, nowMs: number): void {
  const { id, spec, held, waitsFor } = workload;
  findings.expect(held !== true, () => `${id} was started while it is held`);
  findings.expect((spec.notBeforeMs ?? 0) <= nowMs, () => `${id} was started before ${spec.notBeforeMs} ms`);
  findings.expect(waitsFor === undefined, () => `${id} was started before ${waitsFor?.[0]?.workloadId} had ended`);
  findings.expect(mayUsePower(state, workload, nowMs), () => `${id} was started while power is too dear for it`);
  for (const team of withAncestors(state, spec.team)) {
    const { over = "warn" } = state.teams.get(team)?.budget ?? {};
    const isUsedUp = over !== "warn" && state.accounts.get(team)?.crossed?.percent === 100;
    findings.expect(!isUsedUp, () => `${id} was started with the budget of ${team} used up`);
  }
}

/**
 * Whether the start window is open by price. Conditions on the cheapest or cleanest hours, and on carbon, cannot be
 * judged here and count as met.
 */
function mayUsePower(state: ReadonlyState, { spec }: Workload, nowMs: number): boolean {
  const { startWindow, deadlineMs, walltimeMs } = spec;
  const { microUsdPerKwhMax: most, latestStartMs } = startWindow ?? {};
  if (most === undefined || (latestStartMs ?? nowMs + 1) <= nowMs) return true;
  // A deadline may force the start. For work without a walltime this cannot be judged, so it counts as forced.
  if (deadlineMs !== undefined && (walltimeMs === null || deadlineMs - walltimeMs <= nowMs)) return true;
  return [...state.sites.keys()].every((site) => {
    const price = priceAt(state, site, nowMs) ?? priceAt(state, undefined, nowMs);
    return price !== null && price <= most;
  });
}

/** Power price of a site. A forecast comes before other tariffs; among these, the tariff that began last is used. */
function priceAt({ calendar }: ReadonlyState, site: Tariff["site"], nowMs: number): number | null {
  const active = [...calendar.values()].flatMap(({ entry }) => {
    if (entry.kind !== "tariff" || entry.site !== site) return [];
    const since = sinceMs(entry, nowMs);
    const price = priceOf(entry, nowMs);
    return since === null || price === undefined ? [] : [{ since, price, entry }];
  });
  const isSeries = (entry: Tariff): number => (entry.when.kind === "series" ? 1 : 0);
  const [first] = active.toSorted(
    (left, right) =>
      isSeries(right.entry) - isSeries(left.entry) ||
      right.since - left.since ||
      (left.entry.name > right.entry.name ? -1 : 1),
  );
  return first?.price ?? null;
}

function sinceMs({ when }: Tariff, nowMs: number): number | null {
  if (when.kind !== "recurring")
    return when.startMs <= nowMs && (when.kind === "series" || nowMs < when.endMs) ? when.startMs : null;
  const due = lastDueMs(when.times, nowMs);
  return due !== null && nowMs < due + when.durationMs ? due : null;
}

const priceOf = ({ when, microUsdPerKwh }: Tariff, nowMs: number): number | undefined =>
  when.kind === "series" ? when.microUsdPerKwh?.[Math.floor((nowMs - when.startMs) / when.stepMs)] : microUsdPerKwh;

/** Checks that once a window has begun, only work for which the window is reserved runs on its nodes. */
export function checkWindows(findings: Findings, state: ReadonlyState, nowMs: number): void {
  for (const item of state.calendar.values()) {
    const { entry } = item;
    if (entry.kind === "tariff" || nowMs < entry.startMs || nowMs >= entry.endMs) continue;
    for (const { id, workloadId, workers, stop } of state.attempts.values()) {
      const workload = state.workloads.get(workloadId);
      const isThere = workers.some(({ node }) => {
        const declared = state.nodes.get(node);
        return declared !== undefined && covers(item, declared);
      });
      if (workload === undefined || !isThere || isKeptFor(state, item, workload)) continue;
      findings.expect(
        stop !== null && stop.checkpointUntilMs === undefined,
        () => `${id} runs on in ${entry.name}, which has begun`,
      );
    }
  }
}
