/**
 * The newest report of each gateway about each endpoint. Reports stay out of the journal: only decisions enter it. After
 * a restart nothing is known until gateways report again, which they do within seconds.
 */
import type { EndpointLoad, LoadReport } from "@headroom/protocol";

/** A gateway that did not report for this time is silent. Gateways report every second, or every five if nothing changes. */
export const SILENT_AFTER_MS = 20_000;
/** A silent gateway is forgotten after this time: it was removed, or its machine is gone. The last reading is kept. */
const FORGOTTEN_AFTER_MS = 120_000;
const RATE_WINDOW_MS = 15_000;
const GATEWAYS_MAX = 64;
const ENDPOINTS_MAX = 1_000;

interface GatewayReading {
  readonly report: LoadReport;
  readonly atMs: number;
  /** Numbers of requests of the last seconds, the oldest first. */
  readonly counts: readonly { readonly atMs: number; readonly requests: number }[];
}

/** The load of an endpoint over all gateways that are not silent. */
export interface TotalLoad extends EndpointLoad {
  readonly idleMs: number;
}

export class LoadReports {
  readonly #endpoints = new Map<string, Map<string, GatewayReading>>();

  /** Returns false if there is no room for another gateway or endpoint. */
  take(workloadId: string, report: LoadReport, nowMs: number): boolean {
    const known = this.#endpoints.get(workloadId);
    if (known === undefined && this.#endpoints.size >= ENDPOINTS_MAX) return false;
    const gateways = known ?? new Map<string, GatewayReading>();
    const before = gateways.get(report.gateway);
    if (before === undefined && gateways.size >= GATEWAYS_MAX) return false;
    gateways.set(report.gateway, { report, atMs: nowMs, counts: countsAfter(before, report, nowMs) });
    this.#endpoints.set(workloadId, gateways);
    return true;
  }

  /** Keeps only these endpoints, and drops gateways that are silent for long while others report. */
  keepOnly(workloadIds: ReadonlySet<string>, nowMs: number): void {
    for (const [id, gateways] of this.#endpoints) {
      if (!workloadIds.has(id)) this.#endpoints.delete(id);
      for (const [name, { atMs }] of gateways)
        if (gateways.size > 1 && nowMs - atMs > FORGOTTEN_AFTER_MS) gateways.delete(name);
    }
  }

  /** `null`: no gateway ever reported. */
  load(workloadId: string, nowMs: number): TotalLoad | null {
    const all = [...(this.#endpoints.get(workloadId)?.values() ?? [])];
    const fresh = all.filter(({ atMs }) => nowMs - atMs <= SILENT_AFTER_MS);
    const shown = fresh.length > 0 ? fresh : all;
    if (shown.length === 0) return null;
    const reports = shown.map(({ report }) => report);
    const queued = reports.flatMap((each) => each.queued ?? []);
    const kvUsages = reports.flatMap((each) => each.kvUsage ?? []);
    return {
      reportedAtMs: Math.min(...shown.map(({ atMs }) => atMs)),
      gateways: fresh.length,
      silentGateways: all.length - fresh.length,
      running: sum(reports.map(({ running }) => running)),
      held: sum(reports.map(({ held }) => held)),
      queued: queued.length === 0 ? null : sum(queued),
      requestsPerSecond: sum(shown.map(({ counts }) => rateOf(counts))),
      kvUsage: kvUsages.length === 0 ? null : Math.max(...kvUsages),
      ttft: worst(reports.map(({ ttft }) => ttft)),
      tpot: worst(reports.map(({ tpot }) => tpot)),
      idleMs: Math.min(...shown.map(({ report, atMs }) => report.idleMs + nowMs - atMs)),
    };
  }

  requestsAt(workloadId: string, address: string): number | null {
    let requests: number | null = null;
    for (const { report } of this.#endpoints.get(workloadId)?.values() ?? [])
      for (const replica of report.replicas)
        if (replica.address === address) requests = (requests ?? 0) + replica.requests;
    return requests;
  }
}

/** A gateway that started again counts from zero; so does one whose count went back. */
function countsAfter(before: GatewayReading | undefined, report: LoadReport, nowMs: number): GatewayReading["counts"] {
  const next = { atMs: nowMs, requests: report.requests };
  const isSame = before?.report.startedAtMs === report.startedAtMs && before.report.requests <= report.requests;
  if (before === undefined || !isSame) return [next];
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

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
