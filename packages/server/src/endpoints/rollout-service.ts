/**
 * Moves rollouts on. The rule (`rollout-decision.ts`) is evaluated here, beside the engine; a decision enters the engine as the
 * command `steerRollout` with its ground, made for one step of one rollout.
 */
import { endpointsOf } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import type { Attempt, Workload } from "@headroom/model";
import type { LoadReport } from "@headroom/protocol";
import type { RolloutJudged } from "@headroom/views";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import { figureGrounds, rolloutDecision, verdictOn } from "./rollout-decision.ts";
import { StepReadings, type RolloutReadings } from "./rollout-readings.ts";

const TICK_MS = 1_000;
const CONTROLLER = "rollouts";
const ROLLOUTS_MAX = 1_000;

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
  /** By id of the endpoint. */
  readonly #steps = new Map<string, StepReadings>();

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
  take({ id, rollout }: Pick<Workload, "id" | "rollout">, report: LoadReport): void {
    const known = this.#steps.get(id);
    if (rollout === undefined) return void this.#steps.delete(id);
    const steps = known?.isOf(rollout) === true ? known : new StepReadings(rollout);
    if (known === undefined && this.#steps.size >= ROLLOUTS_MAX) return;
    this.#steps.set(id, steps);
    steps.take(report, rollout.step);
  }

  judged(workload: Workload): RolloutJudged | null {
    const readings = this.#readings(workload);
    const verdict = verdictOn(workload, readings);
    if (readings === null || verdict === null) return null;
    return {
      verdict: verdict.kind,
      requests: { canary: readings.canary.requests, baseline: readings.baseline.requests },
      figures: [...figureGrounds(verdict)],
    };
  }

  #readings({ id, rollout }: Workload): RolloutReadings | null {
    const steps = this.#steps.get(id);
    return rollout === undefined || steps?.isOf(rollout) !== true ? null : steps.readings();
  }

  async #lookAtAll(): Promise<void> {
    const { driver, log } = this.#parts;
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const looked = await driver.read((engine) => rollingOut(engine.state, endpointsOf(engine)));
      const present = new Set<string>(looked.map(({ workload }) => workload.id));
      for (const id of this.#steps.keys()) if (!present.has(id)) this.#steps.delete(id);
      for (const each of looked) await this.#steer(each);
    } catch (error) {
      log.warn(`Rollouts were not moved on: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      this.#isLooking = false;
    }
  }

  async #steer({ workload, active }: RollingEndpoint): Promise<void> {
    const { driver, nowMs } = this.#parts;
    const verdict = verdictOn(workload, this.#readings(workload));
    const decision = rolloutDecision(workload, { nowMs: nowMs(), active, verdict });
    if (decision === null || workload.rollout === undefined) return;
    await driver.command({
      kind: "steerRollout",
      workloadId: workload.id,
      number: workload.rollout.number,
      step: workload.rollout.step,
      ...decision,
      actor: CONTROLLER,
      idempotencyKey: null,
    });
  }
}

const rollingOut = (state: ReadonlyState, endpoints: readonly Workload[]): readonly RollingEndpoint[] =>
  endpoints.flatMap((workload) =>
    workload.rollout === undefined
      ? []
      : [{ workload: { ...workload }, active: workload.activeAttempts.flatMap((id) => state.attempts.get(id) ?? []) }],
  );
