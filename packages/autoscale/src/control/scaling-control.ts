/**
 * Scaling of one endpoint by its targets: the rule of `targets/` with the endpoint's own starts, between readings and the
 * command that a decision becomes. Pure: the server calls it with its clock, the demo with simulated time.
 */
import { isBudgetSpent, replicaBounds, revisionNumberOf, shadowShare, typeOrder } from "@headroom/model";
import type {
  Attempt,
  AttemptId,
  EndedAttempt,
  LoadGround,
  Pool,
  ScaleMetric,
  ScaleTargets,
  Workload,
  WorkloadId,
} from "@headroom/model";
import type { ScalingState, TypeFigures } from "@headroom/protocol";
import type { LoadReading } from "../targets/load-reading.ts";
import { metricFinding, type MetricReading } from "../targets/metric-reading.ts";
import { TargetScaler, type Need } from "../targets/target-scaler.ts";
import type { MetricTarget, Targets } from "../targets/targets.ts";
import { ColdStarts } from "./cold-starts.ts";
import type { LoadReports, TotalLoad } from "./load-reports.ts";
import { StartFailures } from "./start-failures.ts";
import { TypeChoice, typeOffers, type TypeOffer } from "./type-choice.ts";

/** An endpoint that follows traffic, as far as a decision reads it. */
export interface ScaledEndpoint {
  readonly id: WorkloadId;
  readonly scale: NonNullable<Workload["scale"]>;
  readonly targets: ScaleTargets;
  readonly bounds: { readonly min: number; readonly max: number };
  readonly active: readonly Attempt[];
  /** Whether the bounds are those of a spent budget. */
  readonly isSpent?: boolean;
  readonly team: string;
  readonly priority: number;
  /** Accelerator types among which new replicas have a choice, in the order of the spec; none: there is none. */
  readonly offers: readonly TypeOffer[];
  /** The accepted types in the order in which replicas take them now. */
  readonly types: readonly string[];
  /** Its last replicas that ended. */
  readonly ended: readonly EndedAttempt[];
  readonly revision: number;
  readonly isRollingOut: boolean;
  /** The revision whose replicas get copies of requests alone. Absent: none. */
  readonly shadowRevision?: number;
}

/** The body of the command `scaleEndpoint`. */
export interface ScaleCommand {
  readonly kind: "scaleEndpoint";
  readonly workloadId: WorkloadId;
  readonly from: number;
  readonly replicas: number;
  readonly ground: LoadGround;
  readonly stopFirst: readonly AttemptId[];
  /** Absent: the order stays. */
  readonly acceleratorTypes?: readonly string[];
}

export interface ScalingStep {
  /** `null`: the number stays. */
  readonly command: ScaleCommand | null;
  readonly ground: LoadGround | null;
  /** The rule that the traffic chose, in words; `null`: targets alone decide. */
  readonly rule: string | null;
  /** The decision as `Endpoint.scaling`, without the sentence. */
  readonly state: Omit<ScalingState, "sentence">;
}

/** Readings beside the state. */
interface Seen {
  readonly reports: LoadReports;
  readonly metrics?: readonly MetricReading[];
  /** Whether a replica became ready, also if it has ended since. Without it, a replica counts as ready only if a look saw it so. */
  readonly becameReady?: (attemptId: string) => boolean;
}

/** Copies what a decision reads; `null`: the endpoint has ended, or commands alone change its number. */
export function scaledEndpoint(
  workload: Workload,
  active: readonly Attempt[],
  pools: Iterable<Pool>,
): ScaledEndpoint | null {
  const { id, spec, scale, rollout, endedAtMs, stopRequested } = workload;
  if (endedAtMs !== null || stopRequested || spec.kind !== "serve") return null;
  if (spec.scale === undefined || scale === undefined) return null;
  const { team, priority } = spec;
  const budgeted = { spec, ...(workload.account === undefined ? {} : { account: workload.account }) };
  return {
    id,
    scale,
    targets: spec.scale,
    bounds: replicaBounds(budgeted),
    isSpent: isBudgetSpent(budgeted),
    active,
    team,
    priority,
    offers: typeOffers(spec, pools),
    types: typeOrder(workload),
    ended: workload.endedAttempts,
    revision: revisionNumberOf(workload),
    isRollingOut: rollout !== undefined,
    ...(rollout === undefined || shadowShare(rollout) === null ? {} : { shadowRevision: rollout.number }),
  };
}

/** The command that stops replicas of an endpoint that had no request for this time, before its `idleToZero`. */
export const scaledDown = ({ id, scale, targets }: ScaledEndpoint, replicas: number, idleMs: number): ScaleCommand => ({
  kind: "scaleEndpoint",
  workloadId: id,
  from: scale.replicas,
  replicas,
  ground: groundOf({
    cause: "idle",
    measured: Math.min(idleMs, Math.max(0, (targets.idleToZeroMs ?? 0) - 1)),
    target: targets.idleToZeroMs ?? 0,
    replicas,
    aheadMs: 0,
  }),
  stopFirst: [],
});

/** The memory of one endpoint. */
export class ScalingControl {
  readonly #scaler = new TargetScaler();
  readonly #coldStarts = new ColdStarts();
  readonly #choice = new TypeChoice();
  readonly #failures = new StartFailures();
  /** The last choice of types. */
  #types: readonly TypeFigures[] | null = null;

  /** Returns what was learnt, for `restore` of a later process; `null`: nothing. */
  saved(): unknown {
    return this.#scaler.saved();
  }

  /** Takes what `saved` gave. Anything that is damaged, older than a day or for other targets is learnt again. */
  restore(stored: unknown): void {
    this.#scaler.restore(stored);
  }

  /** States that the endpoint made room for another one: its number was changed neither by its load nor by hand. */
  yielded(change: number, nowMs: number): void {
    this.#scaler.yielded(change, nowMs);
  }

  /** Whether requests are late while stored samples are still to be learnt. */
  get isUrgent(): boolean {
    return this.#scaler.isUrgent;
  }

  /** Learns from so many stored samples at most; returns the number of those that it learnt from. */
  learnAgain(most: number): number {
    return this.#scaler.learnAgain(most);
  }

  decide(endpoint: ScaledEndpoint, { reports, metrics = [], becameReady }: Seen, nowMs: number): ScalingStep {
    const { id, scale, targets, bounds, active, shadowRevision, isSpent = false } = endpoint;
    this.#coldStarts.learn(active);
    this.#failures.learn(endpoint, becameReady);
    const coldStartMs = this.#coldStarts.usualMs;
    const load = reports.load(id, nowMs);
    // Replicas in the shadow serve no client.
    const staying = active.filter((each) => each.stop === null && revisionNumberOf(each) !== shadowRevision);
    const serving = staying.filter(({ ready }) => ready !== undefined);
    const scalerTargets = targetsOf(targets);
    const decision = this.#scaler.decide(
      {
        nowMs,
        replicas: scale.replicas,
        ready: serving.length,
        changedAtMs: scale.atMs,
        coldStartMs,
        bounds,
        reading: load === null || load.gateways === 0 ? null : readingOf(load),
        isPartial: (load?.silentGateways ?? 0) > 0,
        metrics,
      },
      scalerTargets,
    );
    const { need, kept, replicas } = decision;
    const ground = need === null ? null : groundOf(need);
    const stopFirst = replicas < scale.replicas ? stopFirstOf(id, serving, reports) : [];
    const failed = this.#failures.typesAt(nowMs);
    const types = this.#typesFor({ ...endpoint, failed }, { reports, staying, serving }, { replicas, need });
    return {
      ground,
      rule: need?.learnt?.reason ?? null,
      command:
        ground === null || (replicas === scale.replicas && types.acceleratorTypes === undefined)
          ? null
          : { kind: "scaleEndpoint", workloadId: id, from: scale.replicas, replicas, ground, stopFirst, ...types },
      state: {
        atMs: nowMs,
        kept: kept === "max" && isSpent ? "budget" : kept,
        cause: need?.cause ?? null,
        neededMilli: ground?.neededMilli ?? null,
        ...shownMetrics(scalerTargets.metrics, metrics, { nowMs, ready: serving.length }),
        ...(this.#types === null ? {} : { types: [...this.#types] }),
        coldStartMs: Math.round(coldStartMs),
      },
    };
  }

  /** Chooses the order of accelerator types where replicas are added; empty: it stays. */
  #typesFor(
    { id, scale, targets, offers, types, failed }: ScaledEndpoint & { readonly failed: readonly string[] },
    {
      reports,
      staying,
      serving,
    }: { readonly reports: LoadReports } & Readonly<Record<"staying" | "serving", readonly Attempt[]>>,
    { replicas, need }: { readonly replicas: number; readonly need: Need | null },
  ): Pick<ScaleCommand, "acceleratorTypes"> {
    if (offers.length === 0) return {};
    this.#choice.learn(
      serving.map(({ acceleratorType, ready }) => ({
        acceleratorType,
        times: reports.timesAt(id, ready?.address ?? ""),
      })),
    );
    const added = replicas - scale.replicas;
    // Replicas that wait for a further try of a type that failed go to another one.
    const missing = scale.replicas - staying.length;
    const first = offers.find(({ type }) => type === types[0])?.poolTypes ?? [];
    const isStuck = added === 0 && missing > 0 && first.some((type) => failed.includes(type));
    if (need === null || (added <= 0 && !isStuck)) return {};
    const lack = { replicas: Math.max(0, need.replicas - scale.replicas), added: Math.max(1, added) };
    this.#types = this.#choice.order(offers, { targets, lack, failed });
    const chosen = this.#types?.map(({ type }) => type) ?? [];
    const order = [...chosen, ...types.filter((type) => !chosen.includes(type))];
    return order.join() === types.join() ? {} : { acceleratorTypes: order };
  }
}

/** Replicas by their requests in progress, the fewest first. Those of unknown load stay in the engine's own order. */
const stopFirstOf = (id: WorkloadId, serving: readonly Attempt[], reports: LoadReports): readonly AttemptId[] =>
  serving
    .flatMap((attempt) => {
      const requests = reports.requestsAt(id, attempt.ready?.address ?? "");
      return requests === null ? [] : [{ id: attempt.id, requests }];
    })
    .toSorted((left, right) => left.requests - right.requests)
    .map((each) => each.id);

/** Quantiles of few requests say little. */
const REQUESTS_MIN = 20;

const readingOf = ({
  running,
  queued,
  held,
  requestsPerSecond,
  arrived,
  idleMs,
  ttft,
  tpot,
  tokens,
  newestAtMs,
}: TotalLoad): LoadReading => ({
  atMs: newestAtMs,
  running,
  queued: queued ?? 0,
  held,
  requestsPerSecond,
  arrived,
  idleMs,
  ttft: (ttft?.requests ?? 0) < REQUESTS_MIN ? null : ttft,
  tpot: (tpot?.requests ?? 0) < REQUESTS_MIN ? null : tpot,
  tokens: tokens === null || (ttft?.requests ?? 0) >= REQUESTS_MIN ? tokens : { ...tokens, promptTokenMs: null },
});

const latencyOf = (target: ScaleTargets["ttft"]): Targets["ttft"] =>
  target === undefined ? null : { p95Ms: target.p95Ms ?? null, p99Ms: target.p99Ms ?? null };

const metricTargetOf = ({ name, source, perReplicaMilli, levelMilli }: ScaleMetric): MetricTarget => ({
  name,
  source: source ?? null,
  kind: perReplicaMilli === undefined ? "level" : "perReplica",
  target: (perReplicaMilli ?? levelMilli ?? 1) / 1000,
});

const targetsOf = (targets: ScaleTargets): Targets => ({
  concurrency: targets.concurrencyMilli === undefined ? null : targets.concurrencyMilli / 1000,
  requestsPerSecond: targets.requestsPerSecondMilli === undefined ? null : targets.requestsPerSecondMilli / 1000,
  queueTimeMs: targets.queueTimeMs ?? null,
  ttft: latencyOf(targets.ttft),
  tpot: latencyOf(targets.tpot),
  metrics: (targets.metrics ?? []).map(metricTargetOf),
  idleToZeroMs: targets.idleToZeroMs ?? null,
  downAfterMs: targets.downAfterMs,
});

function shownMetrics(
  targets: readonly MetricTarget[],
  readings: readonly MetricReading[],
  at: { readonly nowMs: number; readonly ready: number },
): Pick<ScalingState, "metrics"> {
  if (targets.length === 0) return {};
  const metrics = targets.map((target) => {
    const found = metricFinding(target, readings, at);
    return found.kind === "gap"
      ? { ...target, value: null, gap: found.gap, atMs: found.atMs }
      : { ...target, value: found.value, gap: null, atMs: found.atMs };
  });
  return { metrics };
}

/** The ground in whole thousandths: events hold integers. */
function groundOf({ cause, metric, measured, target, replicas, aheadMs }: Need): LoadGround {
  const milli = (value: number): number => Math.round(1000 * Math.min(value, 1e12));
  return {
    kind: "load",
    cause,
    ...(metric === undefined ? {} : { metric }),
    measuredMilli: milli(measured),
    targetMilli: milli(target),
    neededMilli: milli(replicas),
    aheadMs: Math.round(aheadMs),
  };
}
