/**
 * Moves rollouts on. The rule (`autoscale/src/control`) is evaluated here, beside the engine; a decision enters the engine as
 * the command `steerRollout` with its ground, made for one step of one rollout.
 */
import { RolloutControl } from "@headroom/autoscale";
import { endpointsOf } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import type { Attempt, Workload } from "@headroom/model";
import type { LoadReport } from "@headroom/protocol";
import type { RolloutJudged } from "@headroom/views";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";

const TICK_MS = 1_000;
const CONTROLLER = "rollouts";

interface RolloutParts {
  readonly driver: Pick<Driver, "read" | "command">;
  readonly log: DriverLog;
  readonly nowMs: () => number;
}

interface RollingEndpoint {
  readonly workload: Workload;
  readonly active: readonly Attempt[];
}

export class RolloutService {
  readonly #parts: RolloutParts;
  #timer: NodeJS.Timeout | null = null;
  #isLooking = false;
  readonly #control = new RolloutControl();

  constructor(parts: RolloutParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#lookAtAll(), TICK_MS);
    this.#timer.unref();
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  /** Takes in what a gateway reports about the rollout of an endpoint. */
  take(workload: Pick<Workload, "id" | "rollout">, report: LoadReport): void {
    this.#control.take(workload, report);
  }

  judged(workload: Workload): RolloutJudged | null {
    return this.#control.judged(workload);
  }

  async #lookAtAll(): Promise<void> {
    const { driver, log } = this.#parts;
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const looked = await driver.read((engine) => rollingOut(engine.state, endpointsOf(engine)));
      this.#control.keepOnly(new Set(looked.map(({ workload }) => workload.id)));
      for (const each of looked) await this.#steer(each);
    } catch (error) {
      log.warn(`Rollouts were not moved on: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      this.#isLooking = false;
    }
  }

  async #steer({ workload, active }: RollingEndpoint): Promise<void> {
    const { driver, nowMs } = this.#parts;
    const command = this.#control.decide(workload, active, nowMs());
    if (command !== null) await driver.command({ ...command, actor: CONTROLLER, idempotencyKey: null });
  }
}

const rollingOut = (state: ReadonlyState, endpoints: readonly Workload[]): readonly RollingEndpoint[] =>
  endpoints.flatMap((workload) =>
    workload.rollout === undefined
      ? []
      : [{ workload: { ...workload }, active: workload.activeAttempts.flatMap((id) => state.attempts.get(id) ?? []) }],
  );
