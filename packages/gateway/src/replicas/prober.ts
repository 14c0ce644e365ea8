/**
 * Probes replicas for health and load. Each replica has its own connection, with at most one request of a kind at a
 * time.
 */
import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
import { readLoad } from "./model-server-metrics.ts";
import type { Pool } from "./pool.ts";
import type { Replica } from "./replica.ts";

/** Maximum size of a metrics page. */
const PAGE_BYTES_MAX = 4 * 1024 * 1024;

interface Page {
  readonly status: number;
  readonly text: string;
  /** Time that TCP took to open the connection. */
  readonly roundTripMs: number;
}

export class Prober {
  readonly #pools: () => Iterable<Pool>;
  readonly #now: () => number;
  readonly #changed: (pool: Pool) => void;
  readonly #due = new WeakMap<
    Replica,
    { probeAtMs: number; metricsAtMs: number; isProbing: boolean; isReading: boolean }
  >();
  readonly #first = new Set<Promise<void>>();
  #isFirst = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(pools: () => Iterable<Pool>, now: () => number, changed: (pool: Pool) => void) {
    this.#pools = pools;
    this.#now = now;
    this.#changed = changed;
  }

  start(): void {
    this.tick();
    this.#isFirst = false;
    this.#timer = setInterval(() => this.tick(), 100);
  }

  /** Resolves when every replica has been probed once, or after `timeoutMs`. */
  async firstRound(timeoutMs: number): Promise<void> {
    const first = Promise.allSettled(this.#first);
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([first, new Promise((resolve) => (timer = setTimeout(resolve, timeoutMs)))]);
    clearTimeout(timer);
    this.#first.clear();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  tick(): void {
    const nowMs = this.#now();
    for (const pool of this.#pools()) {
      for (const replica of pool.replicas.values()) {
        const due = this.#due.get(replica) ?? { probeAtMs: 0, metricsAtMs: 0, isProbing: false, isReading: false };
        this.#due.set(replica, due);
        if (nowMs >= due.probeAtMs && !due.isProbing) {
          due.probeAtMs = nowMs + pool.config.probe.interval;
          due.isProbing = true;
          const probe = this.#probe(pool, replica).finally(() => (due.isProbing = false));
          if (this.#isFirst) this.#first.add(probe);
        }
        if (nowMs >= due.metricsAtMs && !due.isReading && replica.health === "healthy") {
          due.metricsAtMs = nowMs + pool.config.metrics.interval;
          due.isReading = true;
          void this.#readMetrics(pool, replica).finally(() => (due.isReading = false));
        }
        // The end of an ejection, or of an open breaker's wait, comes with time, without any request.
        pool.refresh(replica, nowMs);
      }
    }
  }

  /** Probes one replica now, for example after it was woken. */
  async #probe(pool: Pool, replica: Replica): Promise<void> {
    const path = pool.config.probe.path ?? pool.traits.probePath;
    if (path === undefined) return;
    const startedAtMs = this.#now();
    const page = await fetchPage(pool, replica, { path });
    replica.probedAtMs = startedAtMs;
    const before = replica.health;
    // Engines answer 503 while they start and while they drain. In both cases they take no new requests.
    if (page === undefined) replica.health = "unhealthy";
    else if (page.status === 503) replica.health = "draining";
    else replica.health = page.status < 400 ? "healthy" : "unhealthy";
    if (page !== undefined) pool.router.observeRoundTrip(replica.id, page.roundTripMs);
    if (replica.health === "healthy" && before !== "healthy") {
      replica.breaker.succeeded();
      if (before === "unhealthy") pool.router.forgetCache(replica.id);
    }
    pool.refresh(replica, this.#now());
    if (replica.health !== before) this.#changed(pool);
  }

  async #readMetrics(pool: Pool, replica: Replica): Promise<void> {
    const path = pool.config.metrics.path ?? pool.traits.metricsPath;
    if (path === undefined) return;
    const page = await fetchPage(pool, replica, { path, port: pool.traits.metricsPort });
    if (page?.status !== 200) return;
    replica.load = readLoad(page.text, pool.traits);
    const { queued, running, kvUsage, loraAdapters, maxAdapters, kvCapacityTokens } = replica.load;
    pool.router.observe(
      replica.id,
      {
        waitingRequests: queued,
        runningRequests: running,
        kvUsage,
        adapters: pool.traits.loraInfo === undefined ? undefined : loraAdapters,
        maxAdapters,
        kvCapacityTokens,
      },
      this.#now(),
    );
  }
}

/** Sends the pool's key and headers, too: a provider answers 401 without them. */
function fetchPage(
  pool: Pool,
  replica: Replica,
  { path, port = replica.url.port }: { readonly path: string; readonly port?: number | undefined },
): Promise<Page | undefined> {
  const { isTls, host, basePath } = replica.url;
  const timeoutMs = pool.config.probe.timeout;
  return new Promise((resolve) => {
    const options = {
      host,
      port,
      path: `${basePath}${path}`,
      timeout: timeoutMs,
      agent: false,
      headers: { ...pool.headers.values, connection: "close" },
    };
    let openedAtMs = performance.now();
    let roundTripMs = 0;
    const request = (isTls ? getHttps : getHttp)(
      options,
      (response) => void readPage(response, roundTripMs).then(resolve, () => resolve(undefined)),
    );
    request.once("socket", (socket) => {
      socket.once("lookup", () => (openedAtMs = performance.now()));
      socket.once("connect", () => (roundTripMs = performance.now() - openedAtMs));
    });
    const timer = setTimeout(() => request.destroy(), timeoutMs);
    request.once("error", () => resolve(undefined));
    request.once("close", () => {
      clearTimeout(timer);
      resolve(undefined);
    });
  });
}

async function readPage(response: IncomingMessage, roundTripMs: number): Promise<Page> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes > PAGE_BYTES_MAX) break;
  }
  return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8"), roundTripMs };
}
