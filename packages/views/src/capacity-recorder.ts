/**
 * Samples of used, queued and unavailable capacity over the last 24 hours. Their number is limited, and the caller
 * provides the clock.
 */
import { teamHoldsInAll, waitingSummary } from "@headroom/explain";
import type { Engine } from "@headroom/engine";
import type { CapacityHistory, CapacitySample } from "@headroom/protocol";
import { fleetView } from "./fleet-view.ts";

/** Interval in ms between samples. 288 samples a day are more than a chart of a day can show. */
export const CAPACITY_SAMPLE_EVERY_MS = 300_000;
const KEPT_MS = 86_400_000;
/** Maximum number of teams in a sample, which is kept in memory and sent whole. A chart cannot distinguish more. */
const TEAMS_MAX = 100;

export class CapacityRecorder {
  #samples: readonly CapacitySample[];

  /** `saved`: samples of an earlier process, oldest first. */
  constructor(saved: readonly CapacitySample[] = []) {
    this.#samples = saved;
  }

  get history(): CapacityHistory {
    return { everyMs: CAPACITY_SAMPLE_EVERY_MS, samples: [...this.#samples] };
  }

  /**
   * Takes a sample if the newest one is old enough. Samples later than `nowMs` are dropped, because the clock was set
   * back. A fleet without nodes gives no sample: a new control plane has not recorded its nodes yet.
   */
  sampleIfDue(engine: Engine, nowMs: number): boolean {
    if (engine.state.nodes.size === 0) return false;
    const past = this.#samples.filter(({ atMs }) => atMs <= nowMs && atMs > nowMs - KEPT_MS);
    const newest = past.at(-1);
    if (newest !== undefined && nowMs - newest.atMs < CAPACITY_SAMPLE_EVERY_MS) return false;
    this.#samples = [...past, sampleOf(engine, nowMs)];
    return true;
  }
}

function sampleOf(engine: Engine, atMs: number): CapacitySample {
  const { total, held, unavailable } = fleetView(engine).accelerators;
  const teams = [...engine.state.teams.keys()]
    .map((team) => [team, teamHoldsInAll(engine, team).accelerators] as const)
    .filter(([, accelerators]) => accelerators > 0)
    .toSorted(([leftName, left], [rightName, right]) => right - left || (leftName < rightName ? -1 : 1))
    .slice(0, TEAMS_MAX);
  return {
    atMs,
    total,
    held,
    queued: waitingSummary(engine).accelerators,
    unavailable,
    teams: Object.fromEntries(teams),
  };
}
