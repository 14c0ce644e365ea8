/** Charges the budgets of endpoints for requests that left by their overflow, as gateways count them, once a minute at most. */
import type { WorkloadId } from "@headroom/model";
import type { LoadReport } from "@headroom/protocol";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";

const EVERY_MS = 60_000;

interface ChargeParts {
  readonly driver: Pick<Driver, "read" | "command">;
  readonly log: DriverLog;
  readonly nowMs: () => number;
}

export class OverflowCharges {
  readonly #parts: ChargeParts;
  #sentAtMs = -Infinity;

  constructor(parts: ChargeParts) {
    this.#parts = parts;
  }

  async send(ids: readonly WorkloadId[], reportsOf: (id: WorkloadId) => readonly LoadReport[]): Promise<void> {
    const { driver, log, nowMs } = this.#parts;
    if (Math.abs(nowMs() - this.#sentAtMs) < EVERY_MS) return;
    this.#sentAtMs = nowMs();
    for (const workloadId of ids) {
      const account = await driver.read(({ state }) => state.workloads.get(workloadId)?.account);
      if (account === undefined) continue;
      for (const { gateway, startedAtMs, overflow } of reportsOf(workloadId)) {
        if (overflow === undefined) continue;
        const microUsd = Math.floor(overflow.nanoUsd / 1000);
        const known = account.gateways?.find((each) => each.gateway === gateway && each.startedAtMs === startedAtMs);
        if (known !== undefined && known.microUsd === microUsd) continue;
        const charge = { kind: "chargeOverflow", workloadId, gateway, startedAtMs, microUsd } as const;
        const reply = await driver.command({ ...charge, actor: "autoscaler", idempotencyKey: null });
        if (reply.kind === "rejected") log.warn(`Overflow of ${workloadId} was not charged: ${reply.rejection.code}`);
      }
    }
  }
}
