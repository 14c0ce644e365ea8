/** Samples of used, queued and unavailable capacity over the last 24 hours: bounded, pure, fed by whoever owns a clock. */
import { teamHoldsInAll, waitingSummary } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import type { CapacityHistory, CapacitySample } from "@headroom/protocol";
import { fleetView } from "./fleet-view.ts";

/** 288 samples a day: finer than a chart of a day shows. */
export const CAPACITY_SAMPLE_EVERY_MS = 300_000;
const KEPT_MS = 86_400_000;
/** A sample is kept in memory and sent whole; more teams than this are not told apart in a chart. */
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

  /** Takes a sample unless the newest is too young. Samples from the future of `nowMs` are forgotten: the clock was set back. */
  sampleIfDue(engine: Engine, nowMs: number): boolean {
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
