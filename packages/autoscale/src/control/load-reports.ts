/**
 * The newest report of each gateway about each endpoint. Reports stay out of the journal: only decisions enter it. After
 * a restart nothing is known until gateways report again, which they do within seconds.
 */
import type { EndpointLoad, LoadReport, OverflowReading, ReplicaTimes } from "@headroom/protocol";
import type { TokenReading } from "../targets/load-reading.ts";

/** A gateway that did not report for this time is silent. Gateways report every second, or every five if nothing changes. */
export const SILENT_AFTER_MS = 20_000;
/** A silent gateway is forgotten after this time: it was removed, or its machine is gone. The last reading is kept. */
const FORGOTTEN_AFTER_MS = 120_000;
const RATE_WINDOW_MS = 15_000;
/** Requests of a longer time between two reports count in part: all of them at once would be no load of now. */
const COUNTED_MS = 60_000;
/** The same while other gateways report, whose reports are the time between two samples: the longest usual interval. */
const COUNTED_BESIDE_MS = 6_000;
const GATEWAYS_MAX = 64;
const ENDPOINTS_MAX = 1_000;

interface GatewayReading {
  readonly report: LoadReport;
  readonly atMs: number;
  /** Numbers of requests of the last seconds, the oldest first. */
  readonly counts: readonly { readonly atMs: number; readonly requests: number }[];
  /** Whether several running gateways report under this id. */
  readonly isShared: boolean;
}

interface Readings {
  /** By id and start of the gateway. */
  readonly gateways: Map<string, GatewayReading>;
  /** Requests that gateways sent to replicas since their first reports, and tokens. */
  sent: number;
  readonly tokens: { prompt: number; output: number; ended: number };
  /** Time of the last report for which there was no room. */
  refusedAtMs: number;
  /** Time of the first report, and of the last gateway that was forgotten. */
  heardSinceMs: number;
  lostAtMs: number;
}

/** The load of an endpoint over all gateways that are not silent. */
export interface TotalLoad extends EndpointLoad {
  readonly idleMs: number;
  /** Requests that arrived since the first report, those included that wait for a first replica. */
  readonly arrived: number;
  /** Tokens since the first report; `null`: a gateway does not report them. */
  readonly tokens: TokenReading | null;
  readonly newestAtMs: number;
  /** Time of the first report; time at which a gateway was last forgotten, which may still serve. */
  readonly heardSinceMs: number;
  readonly lostAtMs: number;
}

export class LoadReports {
  readonly #endpoints = new Map<string, Readings>();

  /** A gateway without room counts as silent, so that no replica is stopped. */
  take(workloadId: string, report: LoadReport, nowMs: number): void {
    const known = this.#endpoints.get(workloadId);
    if (known === undefined && this.#endpoints.size >= ENDPOINTS_MAX) return;
    const readings = known ?? newReadings(nowMs);
    this.#endpoints.set(workloadId, readings);
    const { gateways } = readings;
    setBack(gateways, nowMs);
    const key = `${report.gateway} ${report.startedAtMs}`;
    const isShared = isSharedAfter(gateways, report);
    const before = gateways.get(key);
    if (before === undefined && gateways.size >= GATEWAYS_MAX && !dropSilent(gateways, nowMs)) {
      readings.refusedAtMs = nowMs;
      return;
    }
    if (before !== undefined) {
      const sinceMs = nowMs - Math.max(...[...gateways.values()].map(({ atMs }) => atMs));
      const countedMs = Math.min(COUNTED_MS, Math.max(COUNTED_BESIDE_MS, sinceMs));
      const gapMs = nowMs - before.atMs;
      count(readings, before.report, report, gapMs > countedMs ? countedMs / gapMs : 1);
    }
    gateways.set(key, { report, atMs: nowMs, counts: countsAfter(before, report, nowMs), isShared });
  }

  /** Keeps only these endpoints, and drops gateways that are silent for long while others report. */
  keepOnly(workloadIds: ReadonlySet<string>, nowMs: number): void {
    for (const [id, readings] of this.#endpoints) {
      const { gateways } = readings;
      // A clock that was set back.
      readings.heardSinceMs = Math.min(readings.heardSinceMs, nowMs);
      readings.lostAtMs = Math.min(readings.lostAtMs, nowMs);
      setBack(gateways, nowMs);
      if (!workloadIds.has(id)) this.#endpoints.delete(id);
      for (const [name, { atMs }] of gateways)
        if (gateways.size > 1 && nowMs - atMs > FORGOTTEN_AFTER_MS && gateways.delete(name)) readings.lostAtMs = nowMs;
    }
  }

  /** `null`: no gateway ever reported. */
  load(workloadId: string, nowMs: number): TotalLoad | null {
    const readings = this.#endpoints.get(workloadId) ?? newReadings(nowMs);
    const { gateways, refusedAtMs, sent, tokens, heardSinceMs, lostAtMs } = readings;
    const all = [...gateways.values()];
    const refused = nowMs - refusedAtMs <= SILENT_AFTER_MS ? 1 : 0;
    const fresh = all.filter(({ atMs }) => nowMs - atMs <= SILENT_AFTER_MS);
    const shown = fresh.length > 0 ? fresh : all;
    if (shown.length === 0) return null;
    const reports = shown.map(({ report }) => report);
    const queued = reports.flatMap((each) => each.queued ?? []);
    const kvUsages = reports.flatMap((each) => each.kvUsage ?? []);
    return {
      reportedAtMs: Math.min(...shown.map(({ atMs }) => atMs)),
      gateways: fresh.length,
      silentGateways: all.length - fresh.length + refused,
      running: sum(reports.map(({ running }) => running)),
      held: sum(reports.map(({ held }) => held)),
      queued: queued.length === 0 ? null : sum(queued),
      requestsPerSecond: sum(shown.map(({ counts }) => rateOf(counts))),
      kvUsage: kvUsages.length === 0 ? null : Math.max(...kvUsages),
      ttft: worst(reports.map(({ ttft }) => ttft)),
      tpot: worst(reports.map(({ tpot }) => tpot)),
      arrived: sent + sum(reports.map(({ held }) => held)),
      tokens: reports.some((report) => report.tokens === undefined)
        ? null
        : { ...tokens, promptTokenMs: least(reports.map((report) => report.tokens?.promptTokenMs ?? null)) },
      heardSinceMs,
      lostAtMs,
      newestAtMs: Math.max(...shown.map(({ atMs }) => atMs)),
      idleMs: Math.min(...shown.map(({ report, atMs }) => report.idleMs + nowMs - atMs)),
    };
  }

  /** Requests that left the endpoint, over all gateways; `null`: none reported them. */
  overflow(workloadId: string): OverflowReading | null {
    const readings = this.reportsOf(workloadId).flatMap(({ overflow }) => overflow ?? []);
    if (readings.length === 0) return null;
    const spent = readings.flatMap(({ spentNanoUsd }) => spentNanoUsd ?? []);
    return {
      left: addedCounts(readings.map(({ left }) => left)),
      stayed: addedCounts(readings.map(({ stayed }) => stayed)),
      targets: addedCounts(readings.map(({ targets = {} }) => targets)),
      nanoUsd: sum(readings.map(({ nanoUsd }) => nanoUsd)),
      // Each gateway states its own part, also where a coordinator holds the budget.
      spentNanoUsd: spent.length === 0 ? null : sum(spent),
    };
  }

  /** The newest reports of all gateways. */
  reportsOf(workloadId: string): readonly LoadReport[] {
    return [...(this.#endpoints.get(workloadId)?.gateways.values() ?? [])].map(({ report }) => report);
  }

  /** Times of the replica at this address, of the gateway that gave it the most requests; `null`: none measured it. */
  timesAt(workloadId: string, address: string): ReplicaTimes | null {
    let found: LoadReport["replicas"][number] | null = null;
    for (const { report } of this.#endpoints.get(workloadId)?.gateways.values() ?? [])
      for (const replica of report.replicas)
        if (replica.address === address && replica.times !== undefined && replica.requests >= (found?.requests ?? 0))
          found = replica;
    return found?.times ?? null;
  }

  requestsAt(workloadId: string, address: string): number | null {
    let requests: number | null = null;
    for (const { report } of this.#endpoints.get(workloadId)?.gateways.values() ?? [])
      for (const replica of report.replicas)
        if (replica.address === address) requests = (requests ?? 0) + replica.requests;
    return requests;
  }
}

const newReadings = (nowMs: number): Readings => ({
  gateways: new Map(),
  sent: 0,
  tokens: { prompt: 0, output: 0, ended: 0 },
  refusedAtMs: -Infinity,
  heardSinceMs: nowMs,
  lostAtMs: -Infinity,
});

/** Readings of a later time were taken before the clock was set back. */
function setBack(gateways: Map<string, GatewayReading>, nowMs: number): void {
  for (const [key, each] of gateways) if (each.atMs > nowMs) gateways.set(key, { ...each, atMs: nowMs, counts: [] });
}

/** Adds what came between two reports of a gateway. A count that went back begins again, and adds nothing. */
function count(readings: Readings, before: LoadReport, now: LoadReport, share: number): void {
  const between = (from: number, to: number): number => Math.round(share * Math.max(0, to - from));
  readings.sent += between(before.requests, now.requests);
  if (before.tokens === undefined || now.tokens === undefined) return;
  for (const key of ["prompt", "output", "ended"] as const)
    readings.tokens[key] += between(before.tokens[key], now.tokens[key]);
}

function least(values: readonly (number | null)[]): number | null {
  const known = values.flatMap((value) => value ?? []);
  return known.length === 0 ? null : Math.min(...known);
}

/**
 * Drops the earlier process of a gateway that started again. A process that reports after a later one with its id has
 * not ended: two gateways have one id, and both count. Returns whether that is so.
 */
function isSharedAfter(gateways: Map<string, GatewayReading>, { gateway, startedAtMs }: LoadReport): boolean {
  const same = [...gateways].filter(([, { report }]) => report.gateway === gateway);
  const isShared = same.some(([, each]) => each.isShared || each.report.startedAtMs > startedAtMs);
  if (isShared) for (const [key, each] of same) gateways.set(key, { ...each, isShared });
  else for (const [key, { report }] of same) if (report.startedAtMs < startedAtMs) gateways.delete(key);
  return isShared;
}

/** Drops the gateway that is silent for the longest time. Returns false if none is silent. */
function dropSilent(gateways: Map<string, GatewayReading>, nowMs: number): boolean {
  const [oldest] = [...gateways].toSorted(([, left], [, right]) => left.atMs - right.atMs);
  if (oldest === undefined || nowMs - oldest[1].atMs <= SILENT_AFTER_MS) return false;
  return gateways.delete(oldest[0]);
}

/** A count that went back begins again: the gateway loaded a configuration with other pools. */
function countsAfter(before: GatewayReading | undefined, report: LoadReport, nowMs: number): GatewayReading["counts"] {
  const next = { atMs: nowMs, requests: report.requests };
  if (before === undefined || before.report.requests > report.requests) return [next];
  const kept = before.counts.filter(({ atMs }) => atMs >= nowMs - RATE_WINDOW_MS);
  return [...(kept.length === 0 ? before.counts.slice(-1) : kept), next];
}

function rateOf(counts: GatewayReading["counts"]): number {
  const [first, last] = [counts[0], counts.at(-1)];
  if (first === undefined || last === undefined || last.atMs <= first.atMs) return 0;
  return (1000 * (last.requests - first.requests)) / (last.atMs - first.atMs);
}

/** Quantiles of several gateways cannot be added; the worst gateway counts. */
function worst(all: readonly LoadReport["ttft"][]): LoadReport["ttft"] {
  const known = all.filter((each) => each !== null);
  if (known.length === 0) return null;
  const most = (figure: (each: (typeof known)[number]) => number): number => Math.max(...known.map(figure));
  return {
    p50Ms: most(({ p50Ms }) => p50Ms),
    p95Ms: most(({ p95Ms }) => p95Ms),
    p99Ms: most(({ p99Ms }) => p99Ms),
    requests: sum(known.map(({ requests }) => requests)),
  };
}

function addedCounts(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [reason, count] of all.flatMap(Object.entries<number>)) counts[reason] = (counts[reason] ?? 0) + count;
  return counts;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
