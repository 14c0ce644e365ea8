/**
 * Endpoints of the demo: gateways that report, replicas that become ready, and the control plane's own rules for scaling and
 * rollouts (`autoscale/src/control`) in simulated time.
 */
import { LoadReports, RolloutControl, scaledEndpoint, ScalingControl, SILENT_AFTER_MS } from "@headroom/autoscale";
import type { JudgedRollout } from "@headroom/autoscale";
import { endpointsOf } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import type { Attempt, Observation, Workload } from "@headroom/model";
import { ProblemError } from "@headroom/protocol";
import type { EndpointLoad, ScalingState } from "@headroom/protocol";
import { scalingSentence, type EndpointReadings } from "@headroom/views";
import type { DemoCommand } from "../demo-world.ts";
import { chatEndpoint, revisionRun } from "./chat-endpoint.ts";
import { DemoGateway } from "./demo-gateway.ts";

/** Simulated time between two looks. Reports older than 20 s would count as silence. */
const LOOK_MS = 5_000;
/** Time from the start of a server to its readiness: it loads the model. */
const LOAD_MODEL_MS = 40_000;
/** The author of the endpoint tries a revision when a wave has come so far. */
const REVISES_AT = 0.15;
const AUTHOR = "ana";

interface DemoEndpointsParts {
  readonly engine: () => Engine;
  readonly seed: number;
  command(command: DemoCommand, actor: string): unknown;
  observe(observations: readonly Observation[]): void;
}

interface FollowedEndpoint {
  readonly gateway: DemoGateway;
  readonly scaling: ScalingControl;
  state: ScalingState | null;
}

export class DemoEndpoints implements EndpointReadings {
  readonly #parts: DemoEndpointsParts;
  readonly #reports = new LoadReports();
  readonly #rollouts = new RolloutControl();
  readonly #kept = new Map<string, FollowedEndpoint>();
  #nextAtMs = Number.POSITIVE_INFINITY;
  #lastAtMs = 0;
  /** Number of waves in which the author has tried a revision. */
  #revisions = 0;

  constructor(parts: DemoEndpointsParts) {
    this.#parts = parts;
  }

  get nextAtMs(): number {
    return this.#nextAtMs;
  }

  /** Looks at endpoints from now on. */
  begin(nowMs: number): void {
    this.#lastAtMs = nowMs;
    this.#nextAtMs = nowMs + LOOK_MS;
  }

  look(nowMs: number): void {
    const engine = this.#parts.engine();
    const elapsedMs = Math.max(1, nowMs - this.#lastAtMs);
    this.#lastAtMs = nowMs;
    this.#nextAtMs = nowMs + LOOK_MS;
    const workloads = endpointsOf(engine).map((each) => ({ ...each }));
    const present = new Set<string>(workloads.map(({ id }) => id));
    this.#reports.keepOnly(present, nowMs);
    this.#rollouts.keepOnly(present);
    for (const id of this.#kept.keys()) if (!present.has(id)) this.#kept.delete(id);
    for (const workload of workloads) this.#lookAt(workload, { nowMs, elapsedMs });
  }

  load(workloadId: string): EndpointLoad | null {
    const total = this.#reports.load(workloadId, this.#lastAtMs);
    if (total === null) return null;
    const { idleMs: _idle, arrived: _arrived, ...load } = total;
    return load;
  }

  scaling(workloadId: string): ScalingState | null {
    return this.#kept.get(workloadId)?.state ?? null;
  }

  overflow(): null {
    return null;
  }

  requestsAt(workloadId: string, address: string): number | null {
    return this.#reports.requestsAt(workloadId, address);
  }

  rollout(workload: Workload): JudgedRollout | null {
    return this.#rollouts.judged(workload);
  }

  #lookAt(workload: Workload, { nowMs, elapsedMs }: { readonly nowMs: number; readonly elapsedMs: number }): void {
    const active = this.#activeOf(workload);
    this.#becomeReady(active, nowMs);
    const kept = this.#keptOf(workload, nowMs);
    const serving = this.#activeOf(workload).filter(({ ready, stop }) => ready !== undefined && stop === null);
    const report = kept.gateway.report({ nowMs, elapsedMs, serving, rollout: workload.rollout });
    this.#reports.take(workload.id, report, nowMs);
    this.#rollouts.take(workload, report);
    this.#scale(workload, kept, { nowMs, queued: (report.queued ?? 0) + report.held });
    const steered = this.#rollouts.decide(workload, this.#activeOf(workload), nowMs);
    if (steered !== null) this.#send(steered, "rollouts");
    this.#revise(workload, kept, nowMs);
  }

  #becomeReady(active: readonly Attempt[], nowMs: number): void {
    const due = active.filter(
      ({ ready, stop, phase, startedAtMs }) =>
        ready === undefined &&
        stop === null &&
        phase === "running" &&
        startedAtMs !== null &&
        nowMs >= startedAtMs + LOAD_MODEL_MS,
    );
    if (due.length === 0) return;
    this.#parts.observe(
      due.map(({ id, task, workers }) => ({
        kind: "replicaReady",
        attemptId: id,
        address: `${workers[0]?.node ?? "node"}.demo:${8_000 + task}`,
      })),
    );
  }

  #scale(
    workload: Workload,
    kept: FollowedEndpoint,
    { nowMs, queued }: { readonly nowMs: number; readonly queued: number },
  ): void {
    const endpoint = scaledEndpoint(workload, this.#activeOf(workload), this.#parts.engine().state.pools.values());
    if (endpoint === null) return void (kept.state = null);
    // The demo's metric source reads the queues of the engines at each look.
    const source = { source: "engines", atMs: nowMs, everyMs: LOOK_MS, replicas: null };
    const readings = { reports: this.#reports, metrics: [{ ...source, name: "requestsQueued", value: queued }] };
    const { command, ground, rule, state } = kept.scaling.decide(endpoint, readings, nowMs);
    const refusal = command === null ? null : this.#send(command, "autoscaler");
    const shown = refusal === null ? state.kept : "refused";
    const sentence = scalingSentence({
      ground,
      kept: shown,
      silentAfterMs: SILENT_AFTER_MS,
      refusal,
      rule,
      metrics: state.metrics,
    });
    kept.state = { ...state, kept: shown, sentence };
  }

  /** Once in each wave after the first, the author of the demo's own endpoint changes what its replicas run. */
  #revise({ id, spec, rollout, scale }: Workload, { gateway }: FollowedEndpoint, nowMs: number): void {
    const { number, at } = gateway.wave(nowMs);
    if (spec.name !== chatEndpoint.name || number <= this.#revisions || at < REVISES_AT) return;
    if (rollout !== undefined || (scale?.replicas ?? 0) === 0) return;
    this.#revisions = number;
    this.#send({ kind: "changeWorkload", workloadId: id, changes: { run: revisionRun(number) } }, AUTHOR);
  }

  /** Returns the reason why the engine refused the command, or `null`. */
  #send(command: DemoCommand, actor: string): string | null {
    try {
      this.#parts.command(command, actor);
      return null;
    } catch (error) {
      if (error instanceof ProblemError) return error.message;
      throw error;
    }
  }

  #activeOf({ id }: Pick<Workload, "id">): readonly Attempt[] {
    const { workloads, attempts } = this.#parts.engine().state;
    return (workloads.get(id)?.activeAttempts ?? []).flatMap((each) => attempts.get(each) ?? []);
  }

  #keptOf({ id, spec }: Workload, nowMs: number): FollowedEndpoint {
    const known = this.#kept.get(id);
    if (known !== undefined) return known;
    const gateway = new DemoGateway(this.#parts.seed, spec.name, nowMs);
    const kept: FollowedEndpoint = { gateway, scaling: new ScalingControl(), state: null };
    this.#kept.set(id, kept);
    return kept;
  }
}
