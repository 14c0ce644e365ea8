/** Connects the watch of scaling triggers with the parts of a control plane. */
import type { CapacityService } from "../capacity/capacity-service.ts";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import type { ForecastService } from "../forecast/forecast-service.ts";
import { triggerMessage } from "../notifications/message.ts";
import type { Notifier } from "../notifications/notifier.ts";
import type { EffectParts } from "../remedies/proposal-effect.ts";
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
}

export function openTriggerWatch(
  { home, triggersEveryMs: everyMs }: { readonly home: string; readonly triggersEveryMs?: number },
  { driver, notifier, log }: TriggerSources,
  { nowMs, capacity, forecast, remediations }: TriggerServices,
): TriggerWatch {
  return new TriggerWatch({
    home,
    log,
    nowMs,
    everyMs,
    history: () => capacity.history,
    queueAgeHours: (atMs) => driver.read(({ state }) => queueAgeHours(state, atMs)),
    proposals: new TriggerProposals({ driver, forecast, remediations, log, nowMs }),
    announce: async (sentence) => notifier.send(triggerMessage(sentence, driver.status().sequence, nowMs())),
  });
}
