/** The overflow of one pool: whether its replicas are saturated, its budget, and counts of requests that left or stayed. */
import type { LimitDefinition } from "../limits/ledger.ts";
import type { OverflowPolicy, OverflowReason, StayReason } from "./overflow-policy.ts";
import type { Replica } from "./replica.ts";

/** The state of a pool by which requests leave it. */
export interface PoolLoad {
  readonly replicas: ReadonlyMap<string, Replica>;
  readonly requestCount: number;
  /** Requests that wait in the gateway for their turn. */
  readonly waitingCount: number;
  readonly concurrencyMax: number;
  /** Requests that ended each second, over the last seconds. */
  readonly endsPerSecond: number;
}

/** Once the queue time is reached, requests leave until it is below this share of it. */
const FAILBACK_SHARE = 0.5;

export class PoolOverflow {
  readonly policy: OverflowPolicy;
  readonly budget: LimitDefinition | undefined;
  /** Whether what the budget has spent in this period is counted. Until then nothing leaves that would cost money. */
  isSpentKnown = false;
  readonly left = new Map<OverflowReason, number>();
  /** Requests that left, by pool. */
  readonly targets = new Map<string, number>();
  readonly stayed = new Map<StayReason, number>();
  /** Cost of the requests that left and ended, since the start of the gateway. */
  nanoUsd = 0;
  #isQueueLong = false;

  /** `before`: the overflow of the same pool under an earlier policy, whose counts go on. */
  constructor(policy: OverflowPolicy, before: PoolOverflow | undefined) {
    this.policy = policy;
    const { name, budget } = policy;
    this.budget =
      budget === undefined
        ? undefined
        : {
            id: `money:${budget.period}:overflow/${name}`,
            kind: "money",
            limit: budget.nanoUsd,
            period: budget.period,
          };
    if (before?.policy.name !== name) return;
    this.left = before.left;
    this.targets = before.targets;
    this.stayed = before.stayed;
    this.nanoUsd = before.nanoUsd;
    this.isSpentKnown = before.isSpentKnown && before.budget?.id === this.budget?.id;
  }

  /** Why a request should leave now; `undefined`: the own replicas take it. */
  reason(load: PoolLoad, nowMs: number, regions: readonly string[] | undefined): OverflowReason | undefined {
    const { concurrency, queueTimeMs } = this.policy;
    let available = 0;
    let queued = load.waitingCount;
    for (const replica of load.replicas.values()) {
      queued += replica.load.queued ?? 0;
      if (replica.isAvailable(nowMs) && (regions === undefined || regions.includes(replica.region))) available++;
    }
    if (available === 0) return "noReplica";
    if (load.requestCount >= Math.min(load.concurrencyMax, (concurrency ?? Infinity) * available)) return "concurrency";
    if (queueTimeMs === undefined) return undefined;
    // Little's law. Without an end in the last seconds the wait is longer than any limit.
    const waitMs = queued === 0 ? 0 : (1000 * queued) / load.endsPerSecond;
    this.#isQueueLong = waitMs >= queueTimeMs * (this.#isQueueLong ? FAILBACK_SHARE : 1);
    return this.#isQueueLong ? "queueTime" : undefined;
  }

  leaves(reason: OverflowReason, target: string): void {
    this.targets.set(target, (this.targets.get(target) ?? 0) + 1);
    this.left.set(reason, (this.left.get(reason) ?? 0) + 1);
  }

  stays(reason: StayReason): void {
    this.stayed.set(reason, (this.stayed.get(reason) ?? 0) + 1);
  }
}
