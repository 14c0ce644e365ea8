/** Charges the budgets of endpoints for requests that left by their overflow, as gateways count them, once a minute at most. */
import type { WorkloadId } from "@headroom/model";
import type { LoadReport } from "@headroom/protocol";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import { messageOf } from "../executors/within.ts";

const EVERY_MS = 60_000;

interface ChargeParts {
  readonly driver: Pick<Driver, "read" | "command">;
  readonly log: DriverLog;
  readonly nowMs: () => number;
}

type ReportsOf = (id: WorkloadId) => readonly LoadReport[];

export class OverflowCharges {
  readonly #parts: ChargeParts;
  #begunAtMs = -Infinity;
  #sending: Promise<void> | null = null;
  #isClosed = false;
  /** Counters below the charged ones at the last sending. */
  #lower: ReadonlySet<string> = new Set();

  constructor(parts: ChargeParts) {
    this.#parts = parts;
  }

  /** Begins to charge, unless it did so within a minute or still does: each charge waits for the journal, and scaling must not. */
  begin(ids: readonly WorkloadId[], reportsOf: ReportsOf): void {
    const { nowMs, log } = this.#parts;
    if (this.#isClosed || this.#sending !== null || Math.abs(nowMs() - this.#begunAtMs) < EVERY_MS) return;
    this.#begunAtMs = nowMs();
    this.#sending = this.#send(ids, reportsOf)
      .catch((error: unknown) => {
        if (!this.#isClosed) log.warn(`Overflow was not charged: ${messageOf(error)}`);
      })
      .finally(() => (this.#sending = null));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#sending;
  }

  async #send(ids: readonly WorkloadId[], reportsOf: ReportsOf): Promise<void> {
    const { driver, log } = this.#parts;
    const lower = new Set<string>();
    for (const workloadId of ids) {
      const account = await driver.read(({ state }) => state.workloads.get(workloadId)?.account);
      if (account === undefined) continue;
      for (const { gateway, startedAtMs, overflow } of reportsOf(workloadId)) {
        if (overflow === undefined || this.#isClosed) continue;
        const microUsd = Math.floor(overflow.nanoUsd / 1000);
        const known = account.gateways?.find((each) => each.gateway === gateway && each.startedAtMs === startedAtMs);
        if (known !== undefined && known.microUsd === microUsd) continue;
        if (
          known !== undefined &&
          microUsd < known.microUsd &&
          !this.#isConfirmed(lower, { workloadId, gateway, startedAtMs })
        )
          continue;
        const charge = { kind: "chargeOverflow", workloadId, gateway, startedAtMs, microUsd } as const;
        const reply = await driver.command({ ...charge, actor: "autoscaler", idempotencyKey: null });
        if (reply.kind === "rejected") log.warn(`Overflow of ${workloadId} was not charged: ${reply.rejection.code}`);
      }
    }
    this.#lower = lower;
  }

  /** A lower counter began again, and is charged whole, if it is still lower after a minute. Once, a late report looks the same. */
  #isConfirmed(
    lower: Set<string>,
    { workloadId, gateway, startedAtMs }: Pick<LoadReport, "gateway" | "startedAtMs"> & { readonly workloadId: string },
  ): boolean {
    const key = `${workloadId} ${gateway} ${startedAtMs}`;
    lower.add(key);
    return this.#lower.has(key);
  }
}
