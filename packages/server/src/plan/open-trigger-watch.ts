/** Connects the watch of scaling triggers with the parts of a control plane. */
import type { Engine } from "@headroom/engine";
import { expectedArrival, isOutstanding } from "@headroom/model";
import { planReadings, readPlanDocument } from "@headroom/plan";
import type { PlanReadings, PoolCapacity } from "@headroom/plan";
import type { StoredPlan } from "@headroom/protocol";
import { fleetView } from "@headroom/views";
import type { CapacityService } from "../capacity/capacity-service.ts";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import type { ForecastService } from "../forecast/forecast-service.ts";
import { triggerMessage } from "../notifications/message.ts";
import type { Notifier } from "../notifications/notifier.ts";
import type { EffectParts } from "../remedies/proposal-effect.ts";
import type { PlanService } from "./plan-service.ts";
import { TriggerProposals } from "./trigger-proposals.ts";
import { TriggerWatch, queueAgeHours } from "./trigger-watch.ts";

interface TriggerSources {
  readonly driver: Driver;
  readonly notifier: Notifier;
  readonly log: DriverLog;
}

interface TriggerServices {
  readonly nowMs: () => number;
  readonly capacity: CapacityService;
  readonly forecast: ForecastService;
  readonly remediations: EffectParts["remediations"];
  readonly plan: Pick<PlanService, "stored">;
}

export function openTriggerWatch(
  { home, triggersEveryMs: everyMs }: { readonly home: string; readonly triggersEveryMs?: number },
  { driver, notifier, log }: TriggerSources,
  { nowMs, capacity, forecast, remediations, plan }: TriggerServices,
): TriggerWatch {
  return new TriggerWatch({
    home,
    log,
    nowMs,
    everyMs,
    history: () => capacity.history,
    queueAgeHours: (atMs) => driver.read(({ state }) => queueAgeHours(state, atMs)),
    planReadings: async (atMs) =>
      readingsOf(plan.stored, await driver.read((engine) => capacities(engine, atMs)), atMs),
    proposals: new TriggerProposals({ driver, forecast, remediations, log, nowMs }),
    announce: async (sentence) => notifier.send(triggerMessage(sentence, driver.status().sequence, nowMs())),
  });
}

function readingsOf({ documents }: StoredPlan, fleet: readonly PoolCapacity[], nowMs: number): PlanReadings {
  const reading = documents === null ? null : readPlanDocument(documents.plan);
  return reading?.kind === "read" ? planReadings(reading.document, fleet, nowMs) : {};
}

function capacities(engine: Engine, nowMs: number): readonly PoolCapacity[] {
  const outstanding = [...engine.state.capacityOrders.values()].filter(isOutstanding);
  return fleetView(engine).pools.map(({ name, accelerators }) => ({
    pool: name,
    accelerators: accelerators.total,
    held: accelerators.held,
    orders: outstanding
      .filter(({ pool }) => pool === name)
      .map((order) => ({
        accelerators: (order.nodeCount - order.joinedCount) * order.shape.acceleratorCount,
        byMs: expectedArrival(order, nowMs).p95AtMs,
      })),
  }));
}
