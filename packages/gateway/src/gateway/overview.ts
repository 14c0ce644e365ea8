/**
 * The figures of the gateway's page in one bounded answer: `GET /v1/overview` of the admin address. The control plane
 * reads it too, so the form is that of `packages/protocol/src/gateway.ts`; the browser test compares them.
 */
import { limitsOfTeam } from "../access/teams.ts";
import type { GatewayConfig, TeamConfig } from "../config/schema.ts";
import type { ExchangeSummary } from "../exchange/runtime.ts";
import type { LimitDefinition } from "../limits/ledger.ts";
import { notReady, type ServingState } from "../protocols/health.ts";
import { priorities } from "../fairness/priority.ts";
import { endpointFullName } from "../replicas/endpoint-name.ts";
import type { Pool } from "../replicas/pool.ts";
import type { Replica } from "../replicas/replica.ts";
import type { GatewayGauges, GatewayMetrics } from "../telemetry/metrics.ts";
import { countedOutcomeOf } from "../telemetry/recent-minutes.ts";
import type { RequestRing } from "../telemetry/request-ring.ts";
import { limitStates, type TeamCounts } from "../telemetry/team-metrics.ts";
import { shownKeys } from "./admin-keys.ts";
import type { AdminRoutes } from "./admin-answer.ts";

const TEAMS_MAX = 100;
const KEYS_MAX = 20;
const POOLS_MAX = 100;
const REPLICAS_MAX = 200;
/** Models of a pool. */
const MODELS_MAX = 20;
const ERRORS_MAX = 20;
const REASONS_MAX = 50;
const TEXT_MAX = 300;
/** Time in ms for which an answer is given again: however many pages are open, one is computed. */
const KEPT_MS = 1000;

export interface OverviewSources {
  readonly metrics: GatewayMetrics;
  readonly ring: RequestRing;
  readonly startedAtMs: number;
  /** Where the gateway takes requests. */
  readonly url: string;
  /** The configuration that was applied last. */
  active(): GatewayConfig;
  gauges(): GatewayGauges;
  servingState(): ServingState;
  used(definition: LimitDefinition): number;
}

export function overviewRoutes(sources: OverviewSources): AdminRoutes {
  let kept: { readonly body: object; readonly untilMs: number } | undefined;
  return ({ method, path }) => {
    if (method !== "GET" || path !== "/v1/overview") return undefined;
    const { nowMs } = sources.servingState();
    if (kept === undefined || nowMs >= kept.untilMs) kept = { body: overviewOf(sources), untilMs: nowMs + KEPT_MS };
    return { status: 200, body: kept.body };
  };
}

function overviewOf(sources: OverviewSources): object {
  const config = sources.active();
  const state = sources.servingState();
  const { connections, exchanges, held } = sources.gauges();
  const { refusals, recent, teamCounts } = sources.metrics;
  const pools = [...state.fleet.pools.values()];
  return {
    id: config.id,
    url: sources.url,
    startedAtMs: Math.round(sources.startedAtMs),
    nowMs: Math.round(state.nowMs),
    notReady: notReady(state).map(({ detail }) => detail),
    inProgress: exchanges,
    held,
    connections,
    minutes: recent.figures(state.nowMs),
    refused: [...refusals].slice(0, REASONS_MAX).map(([reason, count]) => ({ reason, count })),
    teamCount: config.teams.length,
    teams: shownTeams(config, teamCounts).map((team) => teamOf(team, sources, state.nowMs)),
    poolCount: pools.length,
    pools: shownPools(pools, config, state.nowMs),
    errors: sources.ring.newest(ERRORS_MAX, isFailure).map(errorOf),
  };
}

interface ShownTeam {
  readonly config: TeamConfig;
  readonly counts: readonly TeamCounts[];
}

/** Teams with requests come first, those that spent most before others; then teams in the order of the file. */
function shownTeams({ teams }: GatewayConfig, counts: readonly TeamCounts[]): readonly ShownTeam[] {
  const byTeam = Map.groupBy(counts, ({ team }) => team);
  const idle: ShownTeam[] = [];
  const busy: ShownTeam[] = [];
  for (const config of teams) {
    const own = byTeam.get(config.name);
    if (own !== undefined) busy.push({ config, counts: own });
    else if (idle.length < TEAMS_MAX) idle.push({ config, counts: [] });
  }
  const spent = (team: ShownTeam): number => sum(team.counts, ({ nanoUsd }) => nanoUsd);
  return [...busy.toSorted((a, b) => spent(b) - spent(a)), ...idle].slice(0, TEAMS_MAX);
}

function teamOf({ config, counts }: ShownTeam, { used }: OverviewSources, nowMs: number): object {
  const keys = shownKeys([config], [], nowMs).map(({ name, state, expiresAtMs = null }) => {
    const own = counts.filter(({ key }) => key === name);
    return { name, state, expiresAtMs, requests: sum(own, requestsOf), costUsd: sum(own, costOf) };
  });
  return {
    name: config.name,
    completed: sum(counts, ({ requests }) => requests.get("completed") ?? 0),
    failed: sum(counts, ({ requests }) => requests.get("failed") ?? 0),
    aborted: sum(counts, ({ requests }) => requests.get("aborted") ?? 0),
    limited: sum(counts, ({ requests }) => requests.get("limited") ?? 0),
    inputTokens: sum(counts, ({ input }) => input),
    cachedTokens: sum(counts, ({ cached }) => cached),
    outputTokens: sum(counts, ({ output }) => output),
    costUsd: sum(counts, costOf),
    limits: limitStates([{ team: config.name, limits: limitsOfTeam(config) }], used),
    keyCount: keys.length,
    keys: keys.toSorted((a, b) => b.requests - a.requests).slice(0, KEYS_MAX),
  };
}

function requestsOf({ requests }: TeamCounts): number {
  return sum([...requests.values()], (count) => count);
}

function costOf({ nanoUsd }: TeamCounts): number {
  return nanoUsd / 1e9;
}

function sum<Item>(items: readonly Item[], value: (item: Item) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}

function shownPools(pools: readonly Pool[], { models }: GatewayConfig, nowMs: number): readonly object[] {
  let left = REPLICAS_MAX;
  return pools.slice(0, POOLS_MAX).map((pool) => {
    const replicas = [...pool.replicas.values()];
    // A replica out of service is what an operator looks for.
    const shown = replicas
      .toSorted((a, b) => Number(a.isAvailable(nowMs)) - Number(b.isAvailable(nowMs)))
      .slice(0, left)
      .map((replica) => replicaOf(replica, nowMs));
    left -= shown.length;
    return {
      name: pool.name,
      engine: pool.config.engine,
      endpoint: pool.config.endpoint === undefined ? null : endpointFullName(pool.config.endpoint),
      models: models
        .filter(({ pools: routes }) => routes[0]?.pool === pool.name)
        .slice(0, MODELS_MAX)
        .map(({ name }) => name),
      requests: pool.requestCount,
      waiting:
        pool.fair === undefined
          ? null
          : Object.fromEntries(priorities.map((each) => [each, pool.fair?.waitingAt(each) ?? 0])),
      replicaCount: replicas.length,
      readyCount: replicas.filter((replica) => replica.isAvailable(nowMs)).length,
      replicas: shown,
    };
  });
}

function replicaOf(replica: Replica, nowMs: number): object {
  const { queued = null, running = null, kvUsage = null } = replica.load;
  return { id: replica.id, state: stateOf(replica, nowMs), requests: replica.requestCount, queued, running, kvUsage };
}

function stateOf(replica: Replica, nowMs: number): string {
  if (replica.isAvailable(nowMs)) return "ready";
  if (replica.isDraining) return "draining";
  if (replica.health !== "healthy" && replica.health !== "unknown") return replica.health;
  if (nowMs < replica.backOffUntilMs) return "backing off";
  return "failing";
}

/** Refusals by a limit are no failures: the team's line counts them. */
function isFailure(summary: ExchangeSummary): boolean {
  return countedOutcomeOf(summary) === "failed";
}

function errorOf({ record, refusal, attempts }: ExchangeSummary): object {
  const { id, atMs, team, key, model, pool, status } = record;
  const failure = attempts.findLast((note) => note.failure !== "")?.failure;
  const message = failure ?? refusal?.message ?? `The model server answered ${status}.`;
  return { id, atMs, team, key, model, pool, status, message: message.slice(0, TEXT_MAX) };
}
