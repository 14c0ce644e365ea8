/**
 * Keeps the replicas of pools that name an endpoint as the control plane lists them. The list is polled; while the
 * control plane does not answer, the last known replicas stay, also over a restart of the gateway. Probes and failures
 * decide about the health of each replica meanwhile, as for configured replicas.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { isLoopback } from "@headroom/platform";
import { z } from "zod";
import type { PoolConfig } from "../config/schema.ts";
import { upstreamUrl, type UpstreamUrl } from "../config/quantities.ts";
import type { SecretSource } from "../config/secrets.ts";
import { askControlPlane } from "../control-plane/ask.ts";
import { endpointFullName as fullName } from "./endpoint-name.ts";
import { followedOverflow, listedOverflow, type FollowedOverflow } from "./overflow-policy.ts";
import { replicaIdOf } from "./replica.ts";
import type { FollowedRollout } from "./rollout-split.ts";
import { LoadReporter, type GatewayLoad, type ReportedEndpoint } from "./load-reporter.ts";

/** Interval while requests wait for a first replica. */
const WAITING_INTERVAL_MS = 200;
/** Interval during a rollout, so that a rollback moves the requests within a second. */
const ROLLOUT_INTERVAL_MS = 250;
const REPLICAS_MAX = 1_000;
/** Number of endpoints at which the control plane cuts its list. */
const ENDPOINTS_LISTED_MAX = 1_000;

const address = z.string().max(300);

const weight = z.int().min(0).max(1000);

const listSchema = z.object({
  items: z
    .array(
      z.object({
        name: z.string(),
        team: z.string(),
        workloadId: z.string().max(300).optional(),
        autoscaled: z.boolean().default(false),
        rollout: z
          .object({
            number: z.int(),
            startedAtMs: z.int().default(0),
            weightMilli: weight.nullable(),
            shadowMilli: weight.nullable().default(null),
          })
          .nullable()
          .default(null),
        // An overflow that this release does not know lets nothing leave, also not by the overflow of the pool.
        overflow: z.union([listedOverflow, z.null(), z.unknown().transform(() => "unreadable" as const)]).default(null),
        list: z
          .array(z.object({ address: address.nullable(), draining: z.boolean(), revision: z.int().default(1) }))
          .max(REPLICAS_MAX),
      }),
    )
    .max(ENDPOINTS_LISTED_MAX),
});
type ListedEndpoints = z.output<typeof listSchema>["items"];

/** Addresses of the replicas that take new requests, and whether their number follows traffic. */
const followed = z.object({
  addresses: z.array(address).max(REPLICAS_MAX),
  isAutoscaled: z.boolean(),
  overflow: followedOverflow.default(null),
  rollout: z
    .object({
      number: z.int(),
      startedAtMs: z.int().default(0),
      weightMilli: weight.nullable(),
      shadowMilli: weight.nullable().default(null),
      canary: z.array(address).max(REPLICAS_MAX),
    })
    .nullable()
    .default(null),
});
type Followed = z.output<typeof followed>;

/** By the name that a pool gives to the endpoint. Earlier releases kept the addresses alone. */
const knownSchema = z.record(
  z.string(),
  z.union([
    followed,
    followed.shape.addresses.transform((addresses): Followed => ({
      addresses,
      isAutoscaled: false,
      overflow: null,
      rollout: null,
    })),
  ]),
);
type Known = z.output<typeof knownSchema>;

interface TakenEndpoint {
  /** `TEAM/NAME`. */
  readonly name: string;
  readonly isAutoscaled: boolean;
  readonly overflow: FollowedOverflow;
  readonly rollout: FollowedRollout | null;
}

export interface FollowerSetup {
  readonly url: string;
  readonly token: SecretSource;
  /** Id of this gateway, and the time of its start. */
  readonly gateway: string;
  readonly startedAtMs: number;
  readonly intervalMs: number;
  /** File of the last known replicas. */
  readonly file: string;
  /** Pools of the active configuration. */
  pools(): readonly PoolConfig[];
  /** Makes these the replicas of the pool, beside the configured ones. */
  take(pool: string, replicas: readonly UpstreamUrl[], endpoint: TakenEndpoint): void;
  /** The load of the pools that follow the endpoint, for the control plane. */
  load(pools: readonly string[]): GatewayLoad;
  /** Whether requests wait for a first replica. */
  isWaiting(): boolean;
  log(line: string): void;
}

export class EndpointFollower {
  readonly #setup: FollowerSetup;
  readonly #abort = new AbortController();
  #known: Known;
  #timer: NodeJS.Timeout | null = null;
  /** The last problem, so that it is logged once. */
  #problem = "";
  /** Endpoints that were missing in the last list, so that each is logged once. */
  #missing: ReadonlySet<string> = new Set();
  #toldLoopback = false;
  #isPolling = false;
  readonly #reporter: LoadReporter;

  constructor(setup: FollowerSetup) {
    this.#setup = setup;
    this.#reporter = new LoadReporter({ ...setup, log: (line) => setup.log(line), signal: this.#abort.signal });
    this.#known = readKnown(setup.file);
  }

  /** Takes over the last known replicas, asks once, and goes on in the background. */
  async start(): Promise<void> {
    this.#apply();
    await this.#poll();
  }

  stop(): void {
    this.#abort.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** Asks now. Called when requests begin to wait for a first replica. */
  async poke(): Promise<void> {
    if (this.#isPolling || this.#abort.signal.aborted) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#poll();
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    try {
      const items = await this.#ask();
      this.#remember(this.#followed(items));
      this.#apply();
      this.#tell("");
      await this.#reporter.report(this.#reported(items));
    } catch (error) {
      this.#tell(`the control plane at ${this.#setup.url} does not list endpoints: ${messageOf(error)}`);
    }
    this.#isPolling = false;
    if (this.#abort.signal.aborted) return;
    const { intervalMs } = this.#setup;
    const isRollingOut = Object.values(this.#known).some(({ rollout }) => rollout !== null);
    const soonMs = this.#setup.isWaiting() ? WAITING_INTERVAL_MS : isRollingOut ? ROLLOUT_INTERVAL_MS : intervalMs;
    const waitMs = Math.min(soonMs, intervalMs);
    this.#timer = setTimeout(() => void this.#poll(), waitMs);
    this.#timer.unref();
  }

  /** The listed endpoints with the pools that follow them. */
  #reported(items: ListedEndpoints): readonly ReportedEndpoint[] {
    const pools = this.#setup.pools();
    return items.flatMap(({ name, team, workloadId, autoscaled }) => {
      const followers = pools.filter(
        ({ endpoint }) => endpoint !== undefined && fullName(endpoint) === `${team}/${name}`,
      );
      if (workloadId === undefined || followers.length === 0) return [];
      return [{ workloadId, isAutoscaled: autoscaled, pools: followers.map((pool) => pool.name) }];
    });
  }

  async #ask(): Promise<ListedEndpoints> {
    return listSchema.parse(await askControlPlane(this.#setup, "/v1/endpoints", this.#abort.signal)).items;
  }

  /**
   * An endpoint that is not listed has ended: its addresses may belong to other work soon. Only a list that was cut
   * does not say so.
   */
  #followed(items: ListedEndpoints): Known {
    const known: Known = {};
    const missing = new Set<string>();
    for (const { endpoint } of this.#setup.pools()) {
      if (endpoint === undefined) continue;
      const listed = itemsOf(items, endpoint);
      if (listed.length === 0) missing.add(endpoint);
      const last = this.#known[endpoint];
      if (listed.length === 0 && items.length >= ENDPOINTS_LISTED_MAX && last !== undefined) known[endpoint] = last;
      else
        known[endpoint] = {
          addresses: servingAddresses(listed),
          isAutoscaled: listed.some(({ autoscaled }) => autoscaled),
          overflow: listed.find(({ overflow }) => overflow !== null)?.overflow ?? null,
          rollout: rolloutIn(listed),
        };
    }
    this.#logMissing(missing, items.length);
    for (const [endpoint, { overflow }] of Object.entries(known))
      if (overflow === "unreadable" && this.#known[endpoint]?.overflow !== "unreadable")
        this.#setup.log(
          `the overflow of endpoint ${endpoint} is not understood, so no request leaves it: install the release of the control plane`,
        );
    return known;
  }

  /** A name that is misspelled, or that the token may not read, looks like an endpoint that has ended. */
  #logMissing(missing: ReadonlySet<string>, listedCount: number): void {
    const cut = listedCount < ENDPOINTS_LISTED_MAX ? "" : `, whose list is cut at ${ENDPOINTS_LISTED_MAX}`;
    for (const endpoint of missing)
      if (!this.#missing.has(endpoint)) this.#setup.log(`the control plane lists no endpoint ${endpoint}${cut}`);
    this.#missing = missing;
  }

  #remember(known: Known): void {
    const text = JSON.stringify(known);
    if (text === JSON.stringify(this.#known)) return;
    this.#known = known;
    const { file } = this.#setup;
    writeFileSync(`${file}.new`, `${text}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }

  #apply(): void {
    for (const { name, endpoint } of this.#setup.pools()) {
      const known = endpoint === undefined ? undefined : this.#known[endpoint];
      if (endpoint === undefined || known === undefined) continue;
      const urls = urlsOf(known.addresses);
      this.#setup.take(name, this.#reachable(urls), {
        name: fullName(endpoint),
        isAutoscaled: known.isAutoscaled,
        overflow: known.overflow,
        rollout: known.rollout === null ? null : { ...known.rollout, canary: idsOf(known.rollout.canary) },
      });
    }
  }

  /** Loopback addresses of another machine would lead to other servers on this machine. */
  #reachable(urls: readonly UpstreamUrl[]): readonly UpstreamUrl[] {
    const { url, log } = this.#setup;
    if (isLoopback(new URL(url).hostname.replace(/^\[|\]$/g, ""))) return urls;
    const reachable = urls.filter(({ host }) => !isLoopback(host));
    if (reachable.length < urls.length && !this.#toldLoopback)
      log(
        `the control plane at ${url} lists replicas on its loopback interface, which get no requests from here: run the gateway on its machine, with a URL like http://127.0.0.1:7070`,
      );
    this.#toldLoopback ||= reachable.length < urls.length;
    return reachable;
  }

  #tell(problem: string): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    if (!this.#abort.signal.aborted)
      this.#setup.log(
        problem === "" ? "the control plane lists endpoints again" : `${problem}; the last replicas stay`,
      );
  }
}

/**
 * The endpoints of this name: one, or while it is replaced also the one that is being stopped. A name without a team
 * means the team `default`. Otherwise a team could take over the requests of another one with an endpoint of its name.
 */
function itemsOf(items: ListedEndpoints, endpoint: string): ListedEndpoints {
  const wanted = fullName(endpoint);
  return items.filter(({ name, team }) => `${team}/${name}` === wanted);
}

function servingAddresses(listed: ListedEndpoints): string[] {
  const serving = listed.flatMap(({ list }) => list).filter(({ draining }) => !draining);
  return serving.flatMap((each) => each.address ?? []).slice(0, REPLICAS_MAX);
}

function rolloutIn(listed: ListedEndpoints): Followed["rollout"] {
  const found = listed.find(({ rollout }) => rollout !== null);
  if (found?.rollout === null || found === undefined) return null;
  const { number, startedAtMs, weightMilli, shadowMilli } = found.rollout;
  const canary = servingAddresses([{ ...found, list: found.list.filter(({ revision }) => revision === number) }]);
  return { number, startedAtMs, weightMilli, shadowMilli, canary };
}

const urlsOf = (addresses: readonly string[]): readonly UpstreamUrl[] =>
  addresses.flatMap((each) => upstreamUrl.safeParse(`http://${each}`).data ?? []);

const idsOf = (addresses: readonly string[]): ReadonlySet<string> =>
  new Set(urlsOf(addresses).map((url) => replicaIdOf({ url })));

function readKnown(file: string): Known {
  try {
    return knownSchema.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    // There was no earlier process, or the file is damaged: then nothing is known.
    return {};
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
