/**
 * Rollouts of all endpoints: readings by step, the verdict on them, and the command that a decision becomes. Pure, like
 * `scaling-control.ts`.
 */
import type { Attempt, Workload, WorkloadId } from "@headroom/model";
import type { LoadReport, RolloutState } from "@headroom/protocol";
import { figureGrounds, rolloutDecision, verdictOn, type RolloutDecision } from "./rollout-decision.ts";
import { StepReadings, type RolloutReadings } from "./rollout-readings.ts";

const ROLLOUTS_MAX = 1_000;

/** The body of the command `steerRollout`. */
export interface SteerCommand extends RolloutDecision {
  readonly kind: "steerRollout";
  readonly workloadId: WorkloadId;
  readonly number: number;
  readonly step: number;
}

export type JudgedRollout = Pick<RolloutState, "verdict" | "requests" | "figures">;

export class RolloutControl {
  /** By id of the endpoint. */
  readonly #steps = new Map<string, StepReadings>();

  /** Takes in what a gateway reports about the rollout of an endpoint. */
  take({ id, rollout }: Pick<Workload, "id" | "rollout">, report: LoadReport): void {
    const known = this.#steps.get(id);
    if (rollout === undefined) return void this.#steps.delete(id);
    const steps = known?.isOf(rollout) === true ? known : new StepReadings(rollout);
    if (known === undefined && this.#steps.size >= ROLLOUTS_MAX) return;
    this.#steps.set(id, steps);
    steps.take(report, rollout.step);
  }

  keepOnly(workloadIds: ReadonlySet<string>): void {
    for (const id of this.#steps.keys()) if (!workloadIds.has(id)) this.#steps.delete(id);
  }

  /** `null`: no gateway reported, or the rollout has no steps. */
  judged(workload: Workload): JudgedRollout | null {
    const readings = this.#readings(workload);
    const verdict = verdictOn(workload, readings);
    if (readings === null || verdict === null) return null;
    return {
      verdict: verdict.kind,
      requests: { canary: readings.canary.requests, baseline: readings.baseline.requests },
      figures: [...figureGrounds(verdict)],
    };
  }

  /** `null`: the rollout stays as it is. */
  decide(workload: Workload, active: readonly Attempt[], nowMs: number): SteerCommand | null {
    const { id, rollout } = workload;
    const verdict = verdictOn(workload, this.#readings(workload));
    const decision = rolloutDecision(workload, { nowMs, active, verdict });
    if (decision === null || rollout === undefined) return null;
    return { kind: "steerRollout", workloadId: id, number: rollout.number, step: rollout.step, ...decision };
  }

  #readings({ id, rollout }: Workload): RolloutReadings | null {
    const steps = this.#steps.get(id);
    return rollout === undefined || steps?.isOf(rollout) !== true ? null : steps.readings();
  }
}
