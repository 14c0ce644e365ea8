/** Replicas that can replace one another, and the router that chooses among them. */
import {
  createRouter,
  seededDraw,
  type BatchLimits,
  type Chosen,
  type Router,
  type RoutingRequest,
  type Ticket,
} from "@headroom/routing";
import { FairQueue } from "../fairness/fair-queue.ts";
import { followedWake, type PoolConfig, type PriceConfig } from "../config/schema.ts";
import { RecentLatencies } from "./recent-latencies.ts";
import { engines, type EngineTraits } from "./engines.ts";
import { noHeaders, type PoolHeaders } from "./pool-headers.ts";
import { policyOf, type FollowedOverflow, type OverflowPolicy, type OverflowReason } from "./overflow-policy.ts";
import { PoolOverflow } from "./pool-overflow.ts";
import { RecentEnds } from "./recent-ends.ts";
import { Replica } from "./replica.ts";
import { TokenCounter } from "./token-counter.ts";
import { RolloutSplit, type FollowedRollout } from "./rollout-split.ts";

export interface Placement {
  readonly replica: Replica;
  readonly decision: Chosen;
}

/**
 * Capacity of the router for a number of configured replicas. Its tables and the cost of a decision grow with the
 * capacity. Twice the number of replicas allows for more.
 */
function capacityFor(replicaCount: number): number {
  return Math.max(32, Math.ceil((2 * replicaCount) / 32) * 32);
}

/** Number of replicas for which a pool that follows an endpoint is made, beside its configured ones; twice as many fit. */
const ENDPOINT_REPLICAS = 64;

/** Minimum number of requests to a replica before its failure rate can make it an outlier, which is ejected. */
const OUTLIER_COUNT_MIN = 20;
const OUTLIER_SHARE = 0.5;
const EJECTED_FOR_MS = 30_000;
/** Time in ms between trials of a replica of a new revision whose breaker is open. */
const TRIAL_EVERY_MS = 1_000;
/** A client that leaves earlier than this without a byte leaves for a reason of its own. */
const HUNG_MS_MIN = 1_000;
/** Maximum time in ms for which a replica's `Retry-After` keeps requests away from it. */
const BACK_OFF_MS_MAX = 30_000;

export class Pool {
  readonly name: string;
  config: PoolConfig;
  readonly traits: EngineTraits;
  readonly router: Router;
  /** Maximum number of replicas in the router. */
  readonly capacity: number;
  readonly #replicas = new Map<string, Replica>();
  headers: PoolHeaders = noHeaders;
  requestCount = 0;
  /** Number of requests that were sent to replicas, retries included. */
  startedCount = 0;
  /** Tokens of those requests, and of the completed ones. */
  readonly tokens = new TokenCounter();
  /** Time at which the last request came while no replica took it, was sent or ended. */
  lastActiveAtMs = 0;
  readonly latencies = new RecentLatencies();
  /** Whether the control plane starts replicas of the pool's endpoint when requests wait for one. */
  isAutoscaled = false;
  /** The rollout of the endpoint that the pool follows. */
  split: RolloutSplit | undefined;
  /** Copies of requests for a new revision since the start of the gateway. `skipped`: too many were in progress. */
  readonly copies = { sent: 0, failed: 0, skipped: 0 };
  #overflow: PoolOverflow | undefined;
  /** The overflow of the document of the endpoint that the pool follows. Undefined: the document has none. */
  #followedOverflow: { readonly policy: OverflowPolicy | undefined } | undefined;
  readonly #ends = new RecentEnds();
  readonly #fair: FairQueue;
  /** Time of the last call that stated it. */
  #nowMs = 0;
  readonly #draw: () => number;

  constructor(config: PoolConfig, seed: number) {
    this.name = config.name;
    this.#draw = seededDraw(seed + 1);
    this.config = config;
    this.traits = engines[config.engine];
    this.capacity = capacityFor(config.replicas.length + (config.endpoint === undefined ? 0 : ENDPOINT_REPLICAS));
    this.#fair = new FairQueue(() => this.#fairBounds());
    this.router = createRouter({ policy: config.routing, draw: seededDraw(seed), maxReplicas: this.capacity });
    for (const each of config.replicas) this.add(new Replica(each, config));
  }

  get replicas(): ReadonlyMap<string, Replica> {
    return this.#replicas;
  }

  /** How requests wait while no replica takes them. Undefined if they are refused. */
  get wake(): PoolConfig["wake"] {
    return this.config.wake ?? (this.isAutoscaled ? followedWake : undefined);
  }

  get price(): PriceConfig | undefined {
    return this.config.price;
  }

  /** Whether the pool's engine serves the protocol itself. If not, requests are translated to chat completions. */
  speaks(protocol: "messages" | "responses"): boolean {
    const { protocols } = this.config;
    if (protocols !== undefined) return protocols.includes(protocol);
    return protocol === "messages" ? this.traits.speaksMessages : this.traits.speaksResponses;
  }

  get usesPrefixes(): boolean {
    return this.#replicas.size > 1 && (this.config.routing === "prefix" || this.config.routing === "predicted-latency");
  }

  add(replica: Replica): void {
    this.#replicas.set(replica.id, replica);
    const { config } = replica;
    this.router.addReplica({
      id: replica.id,
      weight: replica.weight,
      ...(replica.zone === "" ? {} : { zone: replica.zone }),
      ...(replica.region === "" ? {} : { region: replica.region }),
      ...("latency" in config && config.latency !== undefined ? { latency: config.latency } : {}),
      ...("limits" in config && config.limits !== undefined ? { limits: config.limits as Partial<BatchLimits> } : {}),
    });
    this.refresh(replica, 0);
  }

  remove(replica: Replica): void {
    this.#replicas.delete(replica.id);
    this.router.removeReplica(replica.id);
    replica.connections.close();
  }

  /**
   * Tells the router whether the replica accepts requests. Called after each change of health, and periodically,
   * because some changes come with time alone.
   */
  refresh(replica: Replica, nowMs: number): void {
    this.#nowMs = nowMs;
    const health = replica.isAvailable(nowMs)
      ? "ready"
      : replica.isDraining || replica.health === "draining"
        ? "draining"
        : "unhealthy";
    this.router.setHealth(replica.id, health);
    this.#fair.pump();
  }

  /** The queue in which requests wait for their turn. Undefined if the pool has none. */
  get fair(): FairQueue | undefined {
    return this.config.fair === undefined ? undefined : this.#fair;
  }

  /** Requests that wait for their turn, without lines of batches. */
  get waitingCount(): number {
    return this.#fair.waitingCount;
  }

  /** Lines of batches in progress beyond the first: they fill idle replicas, and are no reason for more of them. */
  get fillingCount(): number {
    return Math.max(0, this.#fair.runningLineCount - 1);
  }

  /** A pool that has no queue any more, by a new configuration, lets those that wait go on. */
  #fairBounds(): ReturnType<ConstructorParameters<typeof FairQueue>[0]> {
    const { fair } = this.config;
    if (fair === undefined) return { slots: Infinity, waitingMax: 0, waitingBytesMax: 0 };
    let available = 0;
    for (const replica of this.#replicas.values())
      if (replica.isAvailable(this.#nowMs) && !this.#isShadow(replica)) available++;
    return { ...fair, slots: fair.concurrency * available };
  }

  /** Whether the replica gets copies of requests alone. */
  #isShadow({ id }: Replica): boolean {
    return this.split?.isShadow === true && this.split.isCanary(id);
  }

  /**
   * Called when a replica refused a connection. This counts as a failed probe, so that no request waits for the next
   * probe.
   */
  unreachable(replica: Replica): void {
    if (this.config.probe.path !== undefined || this.traits.probePath !== undefined) replica.health = "unhealthy";
  }

  /** Whether a replica accepts requests now. With `regions`, only replicas there count. */
  hasAvailable(nowMs: number, regions?: readonly string[]): boolean {
    for (const replica of this.#replicas.values()) {
      if (
        replica.isAvailable(nowMs) &&
        !this.#isShadow(replica) &&
        (regions === undefined || regions.includes(replica.region))
      )
        return true;
    }
    return false;
  }

  /** Called when a replica refused a request and stated in `Retry-After` when it takes the next one. */
  backOff(replica: Replica, forMs: number, nowMs: number): void {
    replica.backOffUntilMs = Math.max(replica.backOffUntilMs, nowMs + Math.min(forMs, BACK_OFF_MS_MAX));
    this.refresh(replica, nowMs);
  }

  /** The time at which the first replica takes requests that asked for none. Undefined if none has. */
  backOffEndMs(nowMs: number, regions?: readonly string[]): number | undefined {
    let endMs = Number.POSITIVE_INFINITY;
    for (const replica of this.#replicas.values()) {
      const { backOffUntilMs, region } = replica;
      const isWaiting = nowMs < backOffUntilMs && replica.isUsable(nowMs);
      if (isWaiting && (regions === undefined || regions.includes(region))) endMs = Math.min(endMs, backOffUntilMs);
    }
    return endMs === Number.POSITIVE_INFINITY ? undefined : endMs;
  }

  /** Whether a replica lies in one of the regions, or would lie there after a wake. */
  mayLieIn(regions: readonly string[]): boolean {
    if (this.wake !== undefined && regions.includes(this.config.region ?? "")) return true;
    for (const replica of this.#replicas.values()) if (regions.includes(replica.region)) return true;
    return false;
  }

  choose(request: RoutingRequest, nowMs: number): Placement | undefined {
    this.#nowMs = nowMs;
    const decision = this.#decide(request, nowMs);
    if (decision.kind === "unavailable") return undefined;
    const replica = this.#replicas.get(decision.replicaId);
    return replica === undefined ? undefined : { replica, decision };
  }

  /** The counters of a rollout begin with it, and go on while it changes. */
  follow(rollout: FollowedRollout | null): void {
    const trialEveryMs = rollout === null ? undefined : TRIAL_EVERY_MS;
    for (const { id, breaker } of this.#replicas.values())
      breaker.trialEveryMs = rollout?.canary.has(id) === true ? trialEveryMs : undefined;
    if (rollout === null) {
      this.split = undefined;
      return;
    }
    if (this.split?.isOf(rollout) !== true) this.split = new RolloutSplit(rollout);
    this.split.follow(rollout, this.#replicas.keys());
  }

  /** How requests leave the pool while it is saturated. Undefined if they do not. */
  get overflow(): PoolOverflow | undefined {
    const followed = this.#followedOverflow;
    const policy = followed === undefined ? configuredOverflow(this.config) : followed.policy;
    if (policy === undefined) this.#overflow = undefined;
    else if (policy !== this.#overflow?.policy) this.#overflow = new PoolOverflow(policy, this.#overflow);
    return this.#overflow;
  }

  /** Whether the overflow is that of the endpoint's document. */
  get isOverflowListed(): boolean {
    return this.#followedOverflow !== undefined;
  }

  /** `null`: the document of the endpoint has no overflow. */
  followOverflow(endpoint: string, listed: FollowedOverflow): void {
    const next = listed === null ? undefined : { policy: policyOf(endpoint, listed) };
    if (JSON.stringify(next) !== JSON.stringify(this.#followedOverflow)) this.#followedOverflow = next;
  }

  /** Why a request should leave the pool now; `undefined`: its replicas take the request. */
  overflowReason(nowMs: number, regions: readonly string[] | undefined): OverflowReason | undefined {
    const { requestCount, config } = this;
    const load = {
      replicas: this.#replicas,
      requestCount,
      waitingCount: this.waitingCount,
      concurrencyMax: config.concurrencyMax,
      endsPerSecond: this.#ends.perSecond(nowMs),
    };
    return this.overflow?.reason(load, nowMs, regions);
  }

  /** If no replica of the revision takes the request, one of the other does, unless that gets copies alone: a rollout refuses nothing. */
  #decide(request: RoutingRequest, nowMs: number): ReturnType<Router["choose"]> {
    if (this.split === undefined || request.only !== undefined) return this.router.choose(request, nowMs);
    const others = this.split.excluded(this.#replicas.keys(), request.sessionHash, this.#draw);
    if (others.length > 0) {
      const excluded = [...(request.excluded ?? []), ...others];
      const decision = this.router.choose({ ...request, excluded }, nowMs);
      if (decision.kind !== "unavailable" || this.split.isShadow) return decision;
    }
    return this.router.choose(request, nowMs);
  }

  start({ replica, decision }: Placement, request: RoutingRequest, nowMs: number): Ticket {
    replica.requestCount++;
    this.requestCount++;
    this.startedCount++;
    this.tokens.sent(request.promptTokens - decision.cachedTokens);
    this.lastActiveAtMs = nowMs;
    if (!replica.breaker.isClosed) {
      replica.breaker.started();
      this.refresh(replica, nowMs);
    }
    return this.router.start(decision, request, nowMs);
  }

  end(replica: Replica, ticket: Ticket, outcome: "completed" | "cancelled" | "failed", nowMs: number): void {
    replica.requestCount--;
    this.requestCount--;
    this.#nowMs = nowMs;
    this.lastActiveAtMs = nowMs;
    this.#ends.add(nowMs);
    this.router.end(ticket, outcome, nowMs);
    if (outcome === "cancelled") {
      if (!replica.breaker.isClosed) {
        replica.breaker.abandoned();
        this.refresh(replica, nowMs);
      }
      return;
    }
    this.split?.ended(replica.id, outcome === "failed");
    const wasClosed = replica.breaker.isClosed;
    if (outcome === "completed") replica.succeeded(nowMs);
    else replica.failed(nowMs);
    if (!wasClosed || outcome === "failed") this.refresh(replica, nowMs);
    if (outcome === "failed") this.#ejectOutlier(replica, nowMs);
  }

  /**
   * Called when the client left, or the deadline of its request passed, before the first byte. During a rollout, requests that had
   * waited longer than nearly all do count as failed, for both revisions alike: a revision that hangs would otherwise never be judged.
   */
  abandoned(replica: Replica, waitedMs: number, nowMs: number): void {
    if (this.split === undefined || waitedMs < HUNG_MS_MIN) return;
    if (waitedMs > (this.latencies.firstToken(nowMs)?.p99Ms ?? 0)) this.split.ended(replica.id, true);
  }

  /** Ejects a replica that fails much more often than the others, unless too many are ejected already. */
  #ejectOutlier(replica: Replica, nowMs: number): void {
    const own = replica.failureRate(nowMs);
    if (own.count < OUTLIER_COUNT_MIN || own.share < OUTLIER_SHARE || this.#replicas.size < 2) return;
    let ejectedCount = 1;
    let otherShare = 0;
    for (const each of this.#replicas.values()) {
      if (each === replica) continue;
      if (nowMs < each.ejectedUntilMs) ejectedCount++;
      otherShare += each.failureRate(nowMs).share / (this.#replicas.size - 1);
    }
    const isOutlier = own.share > 2 * otherShare;
    if (!isOutlier || ejectedCount > this.config.breaker.ejectShareMax * this.#replicas.size) return;
    replica.ejectedUntilMs = nowMs + EJECTED_FOR_MS;
    this.refresh(replica, nowMs);
  }
}

const configured = new WeakMap<object, OverflowPolicy>();

/** One object for each configuration: a policy that does not change keeps its counts. */
function configuredOverflow({ name, overflow }: PoolConfig): OverflowPolicy | undefined {
  if (overflow === undefined) return undefined;
  const known = configured.get(overflow);
  if (known !== undefined) return known;
  const { pool, when, budget, dataRules } = overflow;
  const { queueTime: queueTimeMs, concurrency } = when;
  const policy: OverflowPolicy = { name, target: { pool }, queueTimeMs, concurrency, budget, dataRules };
  configured.set(overflow, policy);
  return policy;
}
