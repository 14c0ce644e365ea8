/**
 * The control plane of a gateway: replicas of the endpoints that pools follow, their load for its autoscaler, and its access tokens.
 */
import path from "node:path";
import type { Callers } from "../access/callers.ts";
import { TokenFollower } from "../access/followed-tokens.ts";
import type { GatewayConfig } from "../config/schema.ts";
import { EndpointFollower } from "../replicas/endpoint-follower.ts";
import type { Fleet } from "../replicas/fleet.ts";
import type { LimitSource } from "../limits/account.ts";
import type { GatewayLoad, OverflowLoad } from "../replicas/load-reporter.ts";
import type { Pool } from "../replicas/pool.ts";
import { addedCounters } from "../replicas/rollout-split.ts";
import type { LatencyFigures } from "../replicas/recent-latencies.ts";
import type { UsageLog } from "../usage/usage-log.ts";
import { OverflowBudgets } from "./overflow-budgets.ts";
import type { Waker } from "../replicas/waker.ts";

/** Maximum number of replicas in a report. */
const REPLICAS_MAX = 1_000;
/** Largest amount that the control plane takes. */
const QUEUED_MAX = 1e12;

interface FollowedParts {
  readonly callers: Callers;
  readonly fleet: Fleet;
  readonly waker: Waker;
  readonly limits: LimitSource;
  readonly usage: UsageLog;
  readonly usageDirectory: string;
  readonly stateDirectory: string;
  /** The configuration that was applied last. */
  active(): GatewayConfig;
  now(): number;
  log(line: string): void;
}

/** Time in ms between two looks for budgets of overflows that are not counted yet. */
const BUDGETS_MS = 1000;

/** The endpoints that pools follow, if the gateway has a control plane, and the budgets of the overflows of pools. */
export class FollowedEndpoints {
  readonly #follower: EndpointFollower | undefined;
  readonly #tokens: TokenFollower | undefined;
  readonly #budgets: OverflowBudgets;
  #timer: NodeJS.Timeout | undefined;

  constructor(config: GatewayConfig, parts: FollowedParts) {
    const { fleet, usage, usageDirectory: directory, limits, now, log } = parts;
    this.#budgets = new OverflowBudgets({ directory, usage, limits, now, log, pools: () => fleet.pools.values() });
    this.#tokens = TokenFollower.of(config, parts);
    this.#follower = followerOf(config, parts, () => void this.#budgets.check());
  }

  async start(): Promise<void> {
    await Promise.all([this.#follower?.start(), this.#tokens?.start()]);
    await this.#budgets.check();
    this.#timer = setInterval(() => void this.#budgets.check(), BUDGETS_MS);
    this.#timer.unref();
  }

  async poke(): Promise<void> {
    await this.#follower?.poke();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#follower?.stop();
    this.#tokens?.stop();
  }
}

function followerOf(
  { controlPlane, id }: GatewayConfig,
  parts: FollowedParts,
  overflowChanged: () => void,
): EndpointFollower | undefined {
  if (controlPlane === undefined) return undefined;
  const { fleet, waker, stateDirectory, active, limits, now, log } = parts;
  const startedAtMs = Math.floor(now());
  return new EndpointFollower({
    url: controlPlane.url,
    token: controlPlane.token,
    gateway: id,
    startedAtMs,
    intervalMs: controlPlane.interval,
    file: path.join(stateDirectory, "endpoints.json"),
    pools: () => active().pools,
    take: (name, urls, endpoint) => {
      const refusedCount = fleet.setDiscovered(name, urls, now());
      if (refusedCount > 0) log(`pool ${name}: there is no room for ${refusedCount} replicas of its endpoint`);
      const pool = fleet.pools.get(name);
      if (pool === undefined) return;
      pool.isAutoscaled = endpoint.isAutoscaled;
      pool.follow(endpoint.rollout);
      pool.followOverflow(endpoint.name, endpoint.overflow);
      overflowChanged();
      waker.check(pool);
    },
    load: (names) =>
      loadOf(
        names.flatMap((name) => fleet.pools.get(name) ?? []),
        { waker, limits, nowMs: now(), startedAtMs },
      ),
    isWaiting: () =>
      [...fleet.pools.values()].some((pool) => pool.config.endpoint !== undefined && waker.isWaking(pool)),
    log,
  });
}

function loadOf(
  pools: readonly Pool[],
  {
    waker,
    limits,
    nowMs,
    startedAtMs,
  }: Pick<FollowedParts, "waker" | "limits"> & {
    readonly nowMs: number;
    readonly startedAtMs: number;
  },
): GatewayLoad {
  const replicas = pools.flatMap((pool) => [...pool.replicas.values()]);
  const queued = replicas.flatMap(({ load }) => load.queued ?? []);
  const kvUsages = replicas.flatMap(({ load }) => load.kvUsage ?? []);
  const held = sum(pools.map((pool) => waker.heldIn(pool) + pool.waitingCount));
  const rollout = addedCounters(pools.flatMap(({ split }) => (split === undefined ? [] : [split.counters()])));
  const overflow = pools.find((pool) => pool.isOverflowListed)?.overflow;
  const lastActiveAtMs = Math.max(startedAtMs, ...pools.map((pool) => pool.lastActiveAtMs));
  return {
    requests: sum(pools.map(({ startedCount }) => startedCount)),
    running: sum(pools.map(({ requestCount, fillingCount }) => Math.max(0, requestCount - fillingCount))),
    held,
    idleMs: held > 0 ? 0 : Math.max(0, Math.round(nowMs - lastActiveAtMs)),
    // A report with an impossible figure is refused as a whole, and replicas write these figures.
    queued: queued.length === 0 ? null : Math.min(QUEUED_MAX, Math.max(0, Math.round(sum(queued)))),
    kvUsage: kvUsages.length === 0 ? null : Math.max(...kvUsages),
    ttft: worst(pools.map(({ latencies }) => latencies.firstToken(nowMs))),
    tpot: worst(pools.map(({ latencies }) => latencies.perToken(nowMs))),
    tokens: {
      prompt: Math.round(sum(pools.map(({ tokens }) => tokens.prompt))),
      output: sum(pools.map(({ tokens }) => tokens.output)),
      ended: sum(pools.map(({ tokens }) => tokens.ended)),
      promptTokenMs: least(pools.map(({ latencies }) => latencies.perPromptToken(nowMs))),
    },
    ...(rollout === undefined ? {} : { rollout }),
    ...(overflow === undefined ? {} : { overflow: overflowLoad(pools, limits) }),
    replicas: pools.flatMap(replicaLoads).slice(0, REPLICAS_MAX),
  };
}

const replicaLoads = ({ router, replicas }: Pool): GatewayLoad["replicas"] =>
  [...replicas.values()].map(({ id, url, requestCount }) => {
    const times = router.measuredTimes(id);
    const load = { address: `${url.host}:${url.port}`, requests: requestCount };
    return times === undefined ? load : { ...load, times };
  });

/** Amounts over all pools of the endpoint, whose budget is one. */
function overflowLoad(pools: readonly Pool[], limits: LimitSource): OverflowLoad {
  const all = pools.flatMap(({ overflow }) => overflow ?? []);
  const added = (maps: readonly ReadonlyMap<string, number>[]): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const [reason, count] of maps.flatMap((each) => [...each])) counts[reason] = (counts[reason] ?? 0) + count;
    return counts;
  };
  const budget = all[0]?.budget;
  return {
    left: added(all.map(({ left }) => left)),
    stayed: added(all.map(({ stayed }) => stayed)),
    targets: added(all.map(({ targets }) => targets)),
    nanoUsd: sum(all.map(({ nanoUsd }) => nanoUsd)),
    spentNanoUsd: budget === undefined ? null : Math.round(limits.used(budget)),
  };
}

/** Quantiles of several pools cannot be added; the one with the highest counts. */
function worst(figures: readonly (LatencyFigures | null)[]): LatencyFigures | null {
  return figures.reduce<LatencyFigures | null>(
    (most, each) => (most === null || (each !== null && each.p95Ms > most.p95Ms) ? each : most),
    null,
  );
}

function least(values: readonly (number | null)[]): number | null {
  const known = values.flatMap((value) => value ?? []);
  return known.length === 0 ? null : Math.min(...known);
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
