/**
 * Lets endpoints with targets follow their traffic. The rule (`@headroom/autoscale`) is evaluated here, beside the
 * engine; its decision enters the engine as the command `scaleEndpoint`, with its ground in numbers.
 */
import { setImmediate } from "node:timers/promises";
import {
  IdleYields,
  LoadReports,
  scaledEndpoint,
  ScalingControl,
  SILENT_AFTER_MS,
  waitsForPlace,
} from "@headroom/autoscale";
import type { ScaleCommand, ScaledEndpoint } from "@headroom/autoscale";
import { endpointsOf } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import type { Workload } from "@headroom/model";
import type { EndpointLoad, LoadReport, OverflowReading, ScalingState } from "@headroom/protocol";
import { rejectionProblem, scalingSentence, type EndpointReadings, type RolloutJudged } from "@headroom/views";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import { BecameReady } from "./became-ready.ts";
import { LearntFiles } from "./learnt-files.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { ForecastService } from "../forecast/forecast-service.ts";
import { NewestValues } from "./newest-values.ts";
import { OverflowCharges } from "./overflow-charges.ts";
import { RolloutService } from "./rollout-service.ts";

const TICK_MS = 2_000;
/** Time in ms in each look for stored samples, and the samples that endpoints learn from without a pause. */
const LEARNING_MS = 200;
const LEARNT_AT_ONCE = 25;
const AUTOSCALER = "autoscaler";
/** The longest wait for an answer whether an idle endpoint makes room. */
const ROOM_MS_MAX = 5_000;

interface AutoscalerParts {
  /** Folder of the state. */
  readonly home: string;
  readonly driver: Pick<Driver, "read" | "command" | "onReplicaReady">;
  readonly telemetry: Pick<Telemetry, "onFollowed">;
  readonly forecast: Pick<ForecastService, "ask">;
  readonly log: DriverLog;
  readonly nowMs: () => number;
}

/** The memory of one endpoint. */
interface Followed {
  readonly control: ScalingControl;
  state: ScalingState | null;
  isDeciding: boolean;
  isYielding: boolean;
  /** Remembers which idle endpoints made room for this one. */
  readonly yields: IdleYields;
}

export class AutoscalerService implements EndpointReadings {
  readonly #parts: AutoscalerParts;
  readonly #reports = new LoadReports();
  readonly #metrics = new NewestValues();
  readonly #rollouts: RolloutService;
  readonly #followed = new Map<string, Followed>();
  readonly #learnt: LearntFiles;
  readonly #charges: OverflowCharges;
  readonly #becameReady = new BecameReady();
  /** Questions about room, one after the other, and the problem of the last one. */
  #room: Promise<void> = Promise.resolve();
  #roomProblem: string | null = null;
  #isSwept = false;
  #timer: NodeJS.Timeout | null = null;
  #look: Promise<void> | null = null;
  #isClosed = false;

  constructor(parts: AutoscalerParts) {
    this.#parts = parts;
    this.#rollouts = new RolloutService(parts);
    this.#charges = new OverflowCharges(parts);
    this.#learnt = new LearntFiles(parts.home, parts.log, parts.nowMs);
    parts.driver.onReplicaReady = (id) => this.#becameReady.add(id);
    parts.telemetry.onFollowed = (values) => this.#metrics.take(values);
  }

  start(): void {
    this.#timer = setInterval(() => {
      // With many endpoints, or a slow journal, one look takes longer than a tick.
      this.#look ??= this.#lookAtAll().finally(() => (this.#look = null));
    }, TICK_MS);
    this.#timer.unref();
    this.#rollouts.start();
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#rollouts.close();
    this.#isClosed = true;
    await this.#look;
    await this.#charges.close();
    await this.#learnt.storeAll(this.#learntOfAll());
  }

  #learntOfAll(): readonly { readonly id: string; saved(): unknown }[] {
    return [...this.#followed].map(([id, { control }]) => ({ id, saved: () => control.saved() }));
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
    const { idleMs: _idle, arrived: _arrived, tokens: _tokens, newestAtMs: _newest, ...others } = total;
    const { heardSinceMs: _heard, lostAtMs: _lost, ...load } = others;
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
    try {
      const ids = await driver.read((engine) => endpointsOf(engine).map(({ id }) => id));
      const present = new Set<string>(ids);
      this.#reports.keepOnly(present, nowMs());
      this.#metrics.keepOnly(present);
      for (const id of this.#followed.keys()) if (!present.has(id)) this.#forget(id);
      for (const id of ids) await this.#lookAt(id);
      this.#becameReady.looked();
      if (this.#isClosed) return;
      if (!this.#isSwept) await this.#learnt.keepOnly(present);
      this.#isSwept = true;
      this.#charges.begin(ids, (id) => this.#reports.reportsOf(id));
      await this.#learnAgain();
      await this.#learnt.storeDue(this.#learntOfAll());
    } catch (error) {
      log.warn(`Endpoints were not scaled: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Endpoints learn again one after the other, those with late requests first. */
  async #learnAgain(): Promise<void> {
    const untilMs = performance.now() + LEARNING_MS;
    const urgent = [...this.#followed.values()].toSorted(
      (left, right) => Number(right.control.isUrgent) - Number(left.control.isUrgent),
    );
    for (const { control } of urgent) {
      while (performance.now() < untilMs && !this.#isClosed) {
        if (control.learnAgain(LEARNT_AT_ONCE) < LEARNT_AT_ONCE) break;
        await setImmediate();
      }
    }
  }

  async #lookAt(workloadId: string): Promise<void> {
    const looked = await this.#parts.driver.read(({ state }) => lookedAt(state, workloadId));
    if (looked === null) return this.#forget(workloadId);
    const followed = this.#followed.get(workloadId) ?? this.#follow(workloadId);
    this.#beginYield(workloadId, followed);
    if (followed.isDeciding) return;
    followed.isDeciding = true;
    try {
      await this.#decide(looked, followed);
    } finally {
      followed.isDeciding = false;
    }
  }

  #forget(workloadId: string): void {
    if (this.#followed.delete(workloadId)) this.#learnt.remove(workloadId);
  }

  #follow(workloadId: string): Followed {
    const followed = newlyFollowed();
    followed.control.restore(this.#learnt.read(workloadId));
    this.#followed.set(workloadId, followed);
    return followed;
  }

  async #decide(endpoint: ScaledEndpoint, followed: Followed): Promise<void> {
    const becameReady = (id: string): boolean => this.#becameReady.has(id);
    const seen = { reports: this.#reports, metrics: this.#metrics.of(endpoint.id), becameReady };
    const { command, ground, rule, state } = followed.control.decide(endpoint, seen, this.#parts.nowMs());
    const refusal = command === null ? null : await this.#scale(command);
    const kept = refusal === null ? state.kept : "refused";
    followed.state = {
      ...state,
      kept,
      sentence: scalingSentence({
        ground,
        kept,
        silentAfterMs: SILENT_AFTER_MS,
        refusal,
        rule,
        metrics: state.metrics,
        types: state.types,
      }),
    };
  }

  /** One question at a time, in the order of the looks; no look waits for an answer. */
  #beginYield(workloadId: string, followed: Followed): void {
    if (followed.isYielding || this.#isClosed) return;
    followed.isYielding = true;
    this.#room = this.#room
      .then(() => (this.#isClosed ? undefined : this.#yieldFor(workloadId, followed)))
      .catch((error: unknown) => this.#warnOfRoom(`Endpoint ${workloadId} got no room: ${String(error)}`))
      .finally(() => (followed.isYielding = false));
  }

  /** Says each problem once, until an answer comes. */
  #warnOfRoom(problem: string): void {
    if (this.#isClosed || this.#roomProblem === problem) return;
    this.#roomProblem = problem;
    this.#parts.log.warn(problem);
  }

  /** Where requests wait for a first replica without a place, an idle endpoint of the team gives up its own. */
  async #yieldFor(workloadId: string, { yields }: Followed): Promise<void> {
    const { driver, log, nowMs } = this.#parts;
    if ((this.#reports.load(workloadId, nowMs())?.held ?? 0) === 0) return;
    const candidates = (): Promise<readonly ScaleCommand[]> =>
      driver.read(({ state }) => {
        const waiting = lookedAt(state, workloadId);
        if (waiting === null) return [];
        const isWaiting = waitsForPlace(waiting, this.#reports, nowMs());
        const others = isWaiting ? this.#othersOf(state, waiting) : [];
        return yields.candidates({ waiting, others, reports: this.#reports, nowMs: nowMs() });
      });
    const tried = await candidates();
    if (tried.length === 0) return;
    const found = await this.#makesRoom(workloadId, tried);
    // Requests may have come meanwhile.
    const command = found === null ? null : (await candidates()).find((each) => isSameChange(each, found));
    yields.chosen(command ?? null, nowMs());
    if (command === undefined || command === null) return;
    const refusal = await this.#scale(command);
    const made = `Endpoint ${command.workloadId} goes from ${command.from} to ${command.replicas} replicas to make room for endpoint ${workloadId}`;
    if (refusal !== null) return log.warn(`${made}, which was refused: ${refusal}`);
    log.info(`${made}.`);
    this.#followed.get(command.workloadId)?.control.yielded(command.replicas - command.from, nowMs());
  }

  /** Tries the commands on a fork, on the thread of forecasts. `null`: none makes room, or there is no answer in time. */
  async #makesRoom(workloadId: string, commands: readonly ScaleCommand[]): Promise<ScaleCommand | null> {
    const question = { kind: "makesRoom", waiting: workloadId as Workload["id"], commands } as const;
    try {
      const first = await this.#parts.forecast.ask(question, AUTOSCALER, AbortSignal.timeout(ROOM_MS_MAX));
      this.#roomProblem = null;
      return first === null ? null : (commands[first] ?? null);
    } catch (error) {
      this.#warnOfRoom(
        `It is not known whether an idle endpoint makes room for one that waits: ${error instanceof Error ? error.message : String(error)}`,
      );
      return null;
    }
  }

  #othersOf(state: ReadonlyState, { team }: ScaledEndpoint): readonly ScaledEndpoint[] {
    return [...this.#followed.keys()].flatMap((id) => {
      const workload = endpointIn(state, id);
      if (workload?.spec.team !== team || workload.activeAttempts.length === 0) return [];
      return lookedAt(state, id) ?? [];
    });
  }

  /** Returns the reason why the engine refused the change, or `null`. */
  async #scale(command: ScaleCommand): Promise<string | null> {
    const reply = await this.#parts.driver.command({ ...command, actor: AUTOSCALER, idempotencyKey: null });
    return reply.kind === "rejected" ? rejectionProblem(reply.rejection).detail : null;
  }
}

const isSameChange = (left: ScaleCommand, right: ScaleCommand): boolean =>
  left.workloadId === right.workloadId && left.from === right.from && left.replicas === right.replicas;

const newlyFollowed = (): Followed => ({
  control: new ScalingControl(),
  state: null,
  isDeciding: false,
  isYielding: false,
  yields: new IdleYields(),
});

function endpointIn(state: ReadonlyState, workloadId: string): Workload | null {
  const workload = state.workloads.get(workloadId as Workload["id"]);
  return workload === undefined || workload.endedAtMs !== null ? null : workload;
}

function lookedAt(state: ReadonlyState, workloadId: string): ScaledEndpoint | null {
  const workload = endpointIn(state, workloadId);
  if (workload === null) return null;
  return scaledEndpoint(
    workload,
    workload.activeAttempts.flatMap((id) => state.attempts.get(id) ?? []),
    state.pools.values(),
  );
}
