/**
 * Late requests by slot and constant number of replicas, by a queue of work instead of a simulation of requests: for
 * traces so long that a run with every number would take hours.
 */
import type { RequestTrace } from "@headroom/sim";
import type { Objectives, ReplicaCapacity } from "../capacity.ts";
import { LoadMeter } from "../policies/load-meter.ts";
import { WAITED_SHARE } from "../policies/waited-share.ts";
import { lateInTick, TICK_MS, tickTraffic, workByTick } from "../simulation/tick-traffic.ts";
import type { MissTable } from "./plan.ts";

/** `factor`: the work that the traffic is, in times of what the capacity says. */
export function fluidMisses(
  trace: RequestTrace,
  capacity: ReplicaCapacity,
  objectives: Objectives,
  setting: {
    readonly slotMs: number;
    readonly replicasMax: number;
    readonly factor: number;
    readonly lateLeft: number;
  },
): MissTable {
  const toleranceS = (objectives.ttftMs * WAITED_SHARE) / 1000;
  const traffic = tickTraffic(trace);
  const workS = workByTick(traffic, new LoadMeter(capacity, toleranceS), setting.factor);
  const ticks = { arrivals: traffic.arrivals, workS };
  const missed: Float64Array[] = [];
  for (let replicas = 1; replicas <= setting.replicasMax; replicas += 1) {
    const bySlot = lateBySlot(ticks, { replicas, toleranceS, slotMs: setting.slotMs });
    missed.push(bySlot);
    if (bySlot.reduce((sum, late) => sum + late, 0) <= setting.lateLeft * trace.requests.length) break;
  }
  return { slotMs: setting.slotMs, missed };
}

function lateBySlot(
  { arrivals, workS }: { readonly arrivals: Float64Array; readonly workS: Float64Array },
  { replicas, toleranceS, slotMs }: { readonly replicas: number; readonly toleranceS: number; readonly slotMs: number },
): Float64Array {
  const ticksPerSlot = slotMs / TICK_MS;
  const late = new Float64Array(Math.ceil(arrivals.length / ticksPerSlot));
  let backlogS = 0;
  for (let tick = 0; tick < arrivals.length; tick += 1) {
    const served = lateInTick({ backlogS, workS: workS[tick] ?? 0, replicas, toleranceS });
    const slot = Math.floor(tick / ticksPerSlot);
    late[slot] = (late[slot] ?? 0) + served.lateShare * (arrivals[tick] ?? 0);
    backlogS = served.backlogS;
  }
  return late;
}
