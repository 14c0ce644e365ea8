/**
 * Lets endpoints with targets follow their traffic. The rule (`@headroom/autoscale`) is evaluated here, beside the
 * engine; its decision enters the engine as the command `scaleEndpoint`, with its ground in numbers.
 */
import { TargetScaler } from "@headroom/autoscale";
import type { LoadReading, Need, TargetDecision, Targets } from "@headroom/autoscale";
import { endpointsOf } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import type { Attempt, AttemptId, LoadGround, ScaleTargets, Workload } from "@headroom/model";
import type { EndpointLoad, LoadReport, OverflowReading, ScalingState } from "@headroom/protocol";
import { rejectionProblem, scalingSentence, type EndpointReadings, type RolloutJudged } from "@headroom/views";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import { ColdStarts } from "./cold-starts.ts";
import { RolloutService } from "./rollout-service.ts";
import { LoadReports, SILENT_AFTER_MS, type TotalLoad } from "./load-reports.ts";

const TICK_MS = 2_000;
const AUTOSCALER = "autoscaler";

interface AutoscalerParts {
  readonly driver: Pick<Driver, "read" | "command">;
  readonly log: DriverLog;
  readonly nowMs: () => number;
}

/** The memory of one endpoint. */
interface Followed {
  readonly scaler: TargetScaler;
  readonly coldStarts: ColdStarts;
  state: ScalingState | null;
  isDeciding: boolean;
}

interface Looked {
  readonly workload: Workload & { readonly scale: NonNullable<Workload["scale"]> };
  readonly targets: ScaleTargets;
  readonly bounds: { readonly min: number; readonly max: number };
  readonly active: readonly Attempt[];
}

export class AutoscalerService implements EndpointReadings {
  readonly #parts: AutoscalerParts;
  readonly #reports = new LoadReports();
  readonly #rollouts: RolloutService;
  readonly #followed = new Map<string, Followed>();
  #timer: NodeJS.Timeout | null = null;
  #isLooking = false;

  constructor(parts: AutoscalerParts) {
    this.#parts = parts;
    this.#rollouts = new RolloutService(parts);
  }

  start(): void {
    this.#timer = setInterval(() => void this.#lookAtAll(), TICK_MS);
    this.#timer.unref();
    this.#rollouts.start();
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#rollouts.close();
  }

  rollout(workload: Workload): RolloutJudged | null {
    return this.#rollouts.judged(workload);
  }

  /**
   * Takes in the report of a gateway. Requests that wait for a first replica are looked at before the answer. Returns
   * the number of replicas, or `null` if there is no such endpoint.
   */
  async report(workloadId: string, report: LoadReport): Promise<number | null> {
    const { driver, nowMs } = this.#parts;
    const wantedOf = ({ state }: { readonly state: ReadonlyState }): number | null =>
      endpointIn(state, workloadId)?.scale?.replicas ?? null;
    const endpoint = await driver.read(({ state }) => {
      const { id, rollout, scale } = endpointIn(state, workloadId) ?? {};
      return id === undefined || scale === undefined ? null : { id, wanted: scale.replicas, rollout };
    });
    if (endpoint === null) return null;
    const { id, wanted, rollout } = endpoint;
    this.#reports.take(workloadId, report, nowMs());
    this.#rollouts.take({ id, ...(rollout === undefined ? {} : { rollout }) }, report);
    if (wanted > 0 || report.held + report.running === 0 || this.#timer === null) return wanted;
    await this.#lookAt(workloadId);
    return driver.read(wantedOf);
  }

  load(workloadId: string): EndpointLoad | null {
    const total = this.#reports.load(workloadId, this.#parts.nowMs());
    if (total === null) return null;
    const { idleMs: _idle, ...load } = total;
    return load;
  }

  scaling(workloadId: string): ScalingState | null {
    return this.#followed.get(workloadId)?.state ?? null;
  }

  overflow(workloadId: string): OverflowReading | null {
    return this.#reports.overflow(workloadId);
  }

  requestsAt(workloadId: string, address: string): number | null {
    return this.#reports.requestsAt(workloadId, address);
  }

  async #lookAtAll(): Promise<void> {
    const { driver, log, nowMs } = this.#parts;
    // With many endpoints, or a slow journal, one look takes longer than a tick.
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const ids = await driver.read((engine) => endpointsOf(engine).map(({ id }) => id));
      const present = new Set<string>(ids);
      this.#reports.keepOnly(present, nowMs());
      for (const id of this.#followed.keys()) if (!present.has(id)) this.#followed.delete(id);
      for (const id of ids) await this.#lookAt(id);
    } catch (error) {
      log.warn(`Endpoints were not scaled: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      this.#isLooking = false;
    }
  }

  async #lookAt(workloadId: string): Promise<void> {
    const looked = await this.#parts.driver.read(({ state }) => lookedAt(state, workloadId));
    if (looked === null) return void this.#followed.delete(workloadId);
    const followed = this.#followed.get(workloadId) ?? newlyFollowed();
    this.#followed.set(workloadId, followed);
    if (followed.isDeciding) return;
    followed.isDeciding = true;
    try {
      await this.#decide(looked, followed);
    } finally {
      followed.isDeciding = false;
    }
  }

  async #decide({ workload, targets, bounds, active }: Looked, followed: Followed): Promise<void> {
    const nowMs = this.#parts.nowMs();
    const { id, scale } = workload;
    followed.coldStarts.learn(active);
    const coldStartMs = followed.coldStarts.usualMs;
    const load = this.#reports.load(id, nowMs);
    const serving = active.filter(({ ready, stop }) => ready !== undefined && stop === null);
    const decision = followed.scaler.decide(
      {
        nowMs,
        replicas: scale.replicas,
        ready: serving.length,
        changedAtMs: scale.atMs,
        coldStartMs,
        bounds,
        reading: load === null || load.gateways === 0 ? null : readingOf(load),
        isPartial: (load?.silentGateways ?? 0) > 0,
      },
      targetsOf(targets),
    );
    const refusal = await this.#scale(workload, decision, this.#stopFirst(id, serving));
    followed.state = stateOf(decision, { nowMs, coldStartMs, refusal });
  }

  /** Returns the reason why the engine refused the change, or `null`. */
  async #scale(
    { id, scale }: Looked["workload"],
    { replicas, need }: TargetDecision,
    stopFirst: readonly AttemptId[],
  ): Promise<string | null> {
    if (replicas === scale.replicas || need === null) return null;
    const reply = await this.#parts.driver.command({
      kind: "scaleEndpoint",
      workloadId: id,
      from: scale.replicas,
      replicas,
      ground: groundOf(need),
      stopFirst: replicas < scale.replicas ? stopFirst : [],
      actor: AUTOSCALER,
      idempotencyKey: null,
    });
    return reply.kind === "rejected" ? rejectionProblem(reply.rejection).detail : null;
  }

  /** Replicas by their requests in progress, the fewest first. Those of unknown load stay in the engine's own order. */
  #stopFirst(workloadId: string, serving: readonly Attempt[]): readonly AttemptId[] {
    return serving
      .flatMap(({ id, ready }) => {
        const requests = this.requestsAt(workloadId, ready?.address ?? "");
        return requests === null ? [] : [{ id, requests }];
      })
      .toSorted((left, right) => left.requests - right.requests)
      .map(({ id }) => id);
  }
}

const newlyFollowed = (): Followed => ({
  scaler: new TargetScaler(),
  coldStarts: new ColdStarts(),
  state: null,
  isDeciding: false,
});

function endpointIn(state: ReadonlyState, workloadId: string): Workload | null {
  const workload = state.workloads.get(workloadId as Workload["id"]);
  return workload === undefined || workload.endedAtMs !== null ? null : workload;
}

function lookedAt(state: ReadonlyState, workloadId: string): Looked | null {
  const workload = endpointIn(state, workloadId);
  if (workload === null || workload.spec.kind !== "serve" || workload.stopRequested) return null;
  const { scale, spec } = workload;
  if (spec.scale === undefined || scale === undefined) return null;
  return {
    workload: { ...workload, scale },
    targets: spec.scale,
    bounds: spec.replicas,
    active: workload.activeAttempts.flatMap((id) => state.attempts.get(id) ?? []),
  };
}

/** Quantiles of few requests say little. */
const REQUESTS_MIN = 20;

const readingOf = ({ running, queued, held, requestsPerSecond, idleMs, ttft, tpot }: TotalLoad): LoadReading => ({
  running,
  queued: queued ?? 0,
  held,
  requestsPerSecond,
  idleMs,
  ttft: (ttft?.requests ?? 0) < REQUESTS_MIN ? null : ttft,
  tpot: (tpot?.requests ?? 0) < REQUESTS_MIN ? null : tpot,
});

const latencyOf = (target: ScaleTargets["ttft"]): Targets["ttft"] =>
  target === undefined ? null : { p95Ms: target.p95Ms ?? null, p99Ms: target.p99Ms ?? null };

const targetsOf = (targets: ScaleTargets): Targets => ({
  concurrency: targets.concurrencyMilli === undefined ? null : targets.concurrencyMilli / 1000,
  requestsPerSecond: targets.requestsPerSecondMilli === undefined ? null : targets.requestsPerSecondMilli / 1000,
  queueTimeMs: targets.queueTimeMs ?? null,
  ttft: latencyOf(targets.ttft),
  tpot: latencyOf(targets.tpot),
  idleToZeroMs: targets.idleToZeroMs ?? null,
  downAfterMs: targets.downAfterMs,
});

/** The ground in whole thousandths: events hold integers. */
function groundOf({ cause, measured, target, replicas, aheadMs }: Need): LoadGround {
  const milli = (value: number): number => Math.round(1000 * Math.min(value, 1e12));
  return {
    kind: "load",
    cause,
    measuredMilli: milli(measured),
    targetMilli: milli(target),
    neededMilli: milli(replicas),
    aheadMs: Math.round(aheadMs),
  };
}

function stateOf(
  { need, kept }: TargetDecision,
  {
    nowMs,
    coldStartMs,
    refusal,
  }: { readonly nowMs: number; readonly coldStartMs: number; readonly refusal: string | null },
): ScalingState {
  const shown = refusal === null ? kept : "refused";
  const ground = need === null ? null : groundOf(need);
  return {
    atMs: nowMs,
    kept: shown,
    cause: need?.cause ?? null,
    neededMilli: ground?.neededMilli ?? null,
    coldStartMs: Math.round(coldStartMs),
    sentence: scalingSentence({ ground, kept: shown, silentAfterMs: SILENT_AFTER_MS, refusal }),
  };
}
