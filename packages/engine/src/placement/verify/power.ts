/** Verifies that a placement keeps within the caps on power and cooling. Shares no code with the search (`power-budget.ts`). */
import { InvariantError, cappedDomainName, shapeOf } from "@headroom/model";
import type { GangSpec, WorkerAllocation } from "@headroom/model";
import { leftOf } from "../../cluster/power-meters.ts";
import type { PowerMeter } from "../../cluster/power-meters.ts";
import type { World } from "../../cluster/world.ts";

export function verifyPower({ capacity }: World, gang: GangSpec, workers: readonly WorkerAllocation[]): void {
  const { power } = capacity;
  if (power === null) return;
  const draws = new Map<PowerMeter, number>();
  for (const worker of workers) {
    const slot = capacity.slot(worker.node);
    const draw = power.drawOn(slot, shapeOf(gang, worker));
    if (draw === 0) continue;
    for (const meter of power.metersOf(slot).meters) draws.set(meter, (draws.get(meter) ?? 0) + draw);
  }
  for (const [meter, draw] of draws)
    if (draw > leftOf(meter, "idle"))
      throw new InvariantError(
        `work that draws ${draw / 1000} W was placed in ${cappedDomainName(meter.domain)}, which has ${leftOf(meter, "idle") / 1000} W left`,
      );
}
