/**
 * Late requests by slot and constant number of replicas, by a queue of work instead of a simulation of requests: for
 * traces so long that a run with every number would take hours.
 */
import type { RequestTrace } from "@headroom/sim";
import type { Objectives, ReplicaCapacity } from "../capacity.ts";
import { LoadMeter } from "../policies/load-meter.ts";
import { WAITED_SHARE } from "../policies/predictive.ts";
import type { MissTable } from "./plan.ts";

const TICK_MS = 1000;

interface TickWork {
  readonly arrivals: Float64Array;
  /** Work in s of one replica. */
  readonly workS: Float64Array;
}

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
  const ticks = workByTick(trace, new LoadMeter(capacity, toleranceS), setting.factor);
  const missed: Float64Array[] = [];
  for (let replicas = 1; replicas <= setting.replicasMax; replicas += 1) {
    const bySlot = lateBySlot(ticks, { replicas, toleranceS, slotMs: setting.slotMs });
    missed.push(bySlot);
    if (bySlot.reduce((sum, late) => sum + late, 0) <= setting.lateLeft * trace.requests.length) break;
  }
  return { slotMs: setting.slotMs, missed };
}

function workByTick({ requests }: RequestTrace, meter: LoadMeter, factor: number): TickWork {
  const count = Math.floor((requests.at(-1)?.arrivalMs ?? 0) / TICK_MS) + 1;
  const [arrivals, workS] = [new Float64Array(count), new Float64Array(count)];
  let at = 0;
  for (let tick = 0; tick < count; tick += 1) {
    let [arrived, promptTokens, outputTokens] = [0, 0, 0];
    for (let one = requests[at]; one !== undefined && one.arrivalMs < (tick + 1) * TICK_MS; one = requests[at]) {
      arrived += 1;
      promptTokens += one.promptTokens;
      outputTokens += one.outputTokens;
      at += 1;
    }
    const counts = {
      arrivals: arrived,
      arrivedPromptTokens: promptTokens,
      ended: arrived,
      endedOutputTokens: outputTokens,
    };
    meter.add({ ...counts, tickMs: TICK_MS });
    arrivals[tick] = arrived;
    workS[tick] = (factor * meter.workMs(promptTokens)) / 1000;
  }
  return { arrivals, workS };
}

function lateBySlot(
  { arrivals, workS }: TickWork,
  { replicas, toleranceS, slotMs }: { readonly replicas: number; readonly toleranceS: number; readonly slotMs: number },
): Float64Array {
  const ticksPerSlot = slotMs / TICK_MS;
  const late = new Float64Array(Math.ceil(arrivals.length / ticksPerSlot));
  const served = (TICK_MS / 1000) * replicas;
  const bound = toleranceS * replicas;
  let backlog = 0;
  for (let tick = 0; tick < arrivals.length; tick += 1) {
    const work = workS[tick] ?? 0;
    const beyond = backlog + work - served - bound;
    const share = backlog >= bound ? 1 : beyond <= 0 ? 0 : Math.min(1, beyond / work);
    const slot = Math.floor(tick / ticksPerSlot);
    late[slot] = (late[slot] ?? 0) + share * (arrivals[tick] ?? 0);
    backlog = Math.max(0, backlog + work - served);
  }
  return late;
}
