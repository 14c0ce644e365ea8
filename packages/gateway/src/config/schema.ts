/** The schema of gateway.yaml. Every field has its default here; docs/reference/gateway.md explains them. */
import { routingPolicies } from "@headroom/routing";
import { z } from "zod";
import { address, budget, duration, instant, size, upstreamUrl } from "./quantities.ts";
import { TOKENS_MAX } from "../json/peek.ts";
import { priorities } from "../fairness/priority.ts";
import { engineNames } from "../replicas/engines.ts";
import { UNMARKED } from "../replicas/overflow-policy.ts";

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,127}$/, "must be a name of letters, digits and . _ - / : @ (at most 128)");

const secret = z.union([z.strictObject({ env: z.string().min(1) }), z.strictObject({ file: z.string().min(1) })], {
  error: "must be { env: NAME } or { file: PATH }: secrets are not written into this file",
});

/** Regions that a request may be processed in. */
const allowedRegions = z.array(name).min(1).max(100);

/** The data rule of requests: an overflow lets only requests with listed rules leave. */
const dataRule = name.optional();

const key = z.strictObject({
  name: name.optional(),
  /** Besides that of the team. */
  dataRule,
  /** Among the team's `allowedRegions`. Without this field, the team's. */
  allowedRegions: allowedRegions.optional(),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "must be the SHA-256 of the key in 64 lower-case hex digits (headroom gateway --new-key)"),
  /** Time from which the key is refused, in ms. */
  expires: instant.optional(),
  /** Among the team's `models`. Without this field, the team's. */
  models: z.array(name).min(1).max(1000).optional(),
  /** Highest priority of requests with this key, at most the team's. Without this field, the team's. */
  priorityMax: z.enum(priorities).optional(),
});

const rate = z.int().min(1).max(1_000_000_000_000);

const team = z.strictObject({
  name,
  dataRule,
  keys: z.array(key).max(1000).default([]),
  requestsPerMinute: rate.optional(),
  tokensPerMinute: rate.optional(),
  budget: budget.optional(),
  /** Share of the work of pools with `fair`, beside the weights of the other teams. */
  weight: z.number().min(0.01).max(1000).default(1),
  /** Highest priority that requests of the team may state. */
  priorityMax: z.enum(priorities).default("normal"),
  /** Models that the team may use. Without this field, it may use all models. */
  models: z.array(name).max(1000).optional(),
  /**
   * Zone and region of the team's clients. Routing uses them for requests that do not state them in `x-headroom-zone`
   * and `x-headroom-region`.
   */
  zone: name.optional(),
  region: name.optional(),
  /** The only regions in which replicas get the team's requests. Without this field, all. */
  allowedRegions: allowedRegions.optional(),
});

const price = z.strictObject({
  /** Price of input in USD per million tokens. */
  input: z.number().min(0).max(1e6).default(0),
  output: z.number().min(0).max(1e6).default(0),
  cachedInput: z.number().min(0).max(1e6).optional(),
  /** Price in USD per request, for rankers and classifiers. */
  request: z.number().min(0).max(1e6).default(0),
});

const milliseconds = z.number().min(0).max(1e6);

/** Values for `LatencyCoefficients` and `BatchLimits` of `@headroom/routing`. */
const coefficients = z.strictObject({
  stepMs: milliseconds,
  stepMsPerSequence: milliseconds.default(0),
  stepMsPerKvToken: milliseconds.default(0),
  prefillMsPerToken: milliseconds,
  prefillMsPerTokenSquared: milliseconds.optional(),
  requestMs: milliseconds.default(0),
});

const batchLimits = z.strictObject({
  maxSequences: z.int().min(1).optional(),
  maxBatchedTokens: z.int().min(1).optional(),
  kvCapacityTokens: z.int().min(1).optional(),
  maxAdapters: z.int().min(0).optional(),
});

const replica = z.union([
  z.strictObject({
    url: upstreamUrl,
    id: name.optional(),
    zone: name.optional(),
    weight: z.number().positive().max(1000).optional(),
    region: name.optional(),
    latency: coefficients.optional(),
    limits: batchLimits.optional(),
    isDraining: z.boolean().optional(),
  }),
  upstreamUrl.transform((url) => ({ url })),
]);

/** Headers that apply to one connection or message. The gateway sets them itself. */
const framingHeaders = /^(?:connection|content-length|expect|keep-alive|te|trailer|transfer-encoding|upgrade)$/i;
const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,64}$/, "must be a header name of letters, digits and -")
  .refine((text) => !framingHeaders.test(text), "frames a message: the gateway sets it itself");

const headerText = z.string().regex(/^[\x20-\x7e]*$/, "must be a text of ASCII characters");

const wake = z.strictObject({
  /**
   * Command that is run once for all held requests. It may print URLs of replicas, one per line. A pool that follows an
   * endpoint needs none: the control plane starts a replica.
   */
  command: z.array(z.string().min(1)).min(1).optional(),
  /** Environment variables that the command gets besides PATH, HOME and a few of the kind. */
  env: z
    .array(z.string().regex(/^[A-Za-z_]\w*$/, "must be the name of an environment variable"))
    .max(100)
    .default([]),
  timeout: duration.prefault("5m"),
  holdRequestsMax: z.int().min(1).max(100_000).default(1000),
  holdBytesMax: size.prefault("256MiB"),
});

/** Requests wait in the gateway while replicas are full, and teams get shares of the work by their weights. */
const fair = z.strictObject({
  /** Requests in progress for each replica that takes requests. */
  concurrency: z.int().min(1).max(100_000),
  waitingMax: z.int().min(1).max(100_000).default(1000),
  waitingBytesMax: size.prefault("256MiB"),
  waitMax: duration.prefault("1m"),
});

/** Pools to one of which requests of a saturated pool go, under one name that overflows use. */
const overflowTargets = z.strictObject({
  name,
  /** `cheapest`: by the most that the request can cost there, and equal ones in their order. */
  choose: z.enum(["cheapest", "order"]).default("cheapest"),
  pools: z
    .array(
      z.strictObject({
        pool: name,
        /** Data rules of requests that may go there, among those of the overflow. Without this field, all of those. */
        dataRules: z.array(name).max(100).optional(),
        /** Whether requests that it would get start its first replica, while they go elsewhere. */
        wakes: z.boolean().default(false),
      }),
    )
    .min(1)
    .max(16),
});

/** Requests of a saturated pool go to another one. The document of a followed endpoint comes first. */
const overflow = z.strictObject({
  pool: name,
  when: z
    .strictObject({ queueTime: duration.optional(), concurrency: z.number().positive().max(1e6).optional() })
    .prefault({}),
  budget: budget.optional(),
  dataRules: z.array(name).max(100).default([UNMARKED]),
});

/** Copies of requests for a new revision of the endpoint that the pool follows (`rollout.shadow` of its document). */
const shadow = z.strictObject({
  /** Copies in progress, and requests in progress that will be copied. */
  concurrencyMax: z.int().min(1).max(1000).default(32),
  /** Command that scores an answer: without it, the score is the agreement with the answer of the present revision. */
  scorer: z.strictObject({ command: z.array(z.string().min(1)).min(1), timeout: duration.prefault("30s") }).optional(),
});

const pool = z.strictObject({
  name,
  engine: z.enum(engineNames).default("openai"),
  replicas: z.array(replica).max(4096).default([]),
  /** Region of the replicas that state none, and of those that a wake command starts. */
  region: name.optional(),
  key: secret.optional(),
  /**
   * Protocols, besides chat completions, that the engine serves itself. Without this field, those of the engine's
   * preset.
   */
  protocols: z.array(z.enum(["messages", "responses"])).optional(),
  headers: z.record(headerName, headerText).default({}),
  price: price.optional(),
  routing: z.enum(routingPolicies).default("prefix"),
  concurrencyMax: z.int().min(1).max(100_000).default(8192),
  connectTimeout: duration.prefault("2s"),
  firstByteTimeout: duration.prefault("5m"),
  betweenBytesTimeout: duration.prefault("2m"),
  probe: z
    .strictObject({
      interval: duration.prefault("2s"),
      path: z.string().startsWith("/").optional(),
      timeout: duration.prefault("2s"),
    })
    .prefault({}),
  metrics: z
    .strictObject({ interval: duration.prefault("1s"), path: z.string().startsWith("/").optional() })
    .prefault({}),
  attempts: z.int().min(1).max(10).default(3),
  hedgeAfter: duration.optional(),
  breaker: z
    .strictObject({
      failures: z.int().min(1).max(1000).default(5),
      openFor: duration.prefault("5s"),
      ejectShareMax: z.number().min(0).max(1).default(0.5),
    })
    .prefault({}),
  drainTimeout: duration.prefault("10m"),
  resume: z.boolean().optional(),
  streamUsage: z.boolean().default(true),
  wake: wake.optional(),
  overflow: overflow.optional(),
  fair: fair.optional(),
  shadow: shadow.prefault({}),
  /** `TEAM/NAME` of an endpoint of the control plane, or `NAME` of team `default`, whose replicas the pool takes over. */
  endpoint: z.string().min(1).max(300).optional(),
});

const route = z.union([
  z.strictObject({
    pool: name,
    /** The model's name in this pool. Without this field, the name is the same. */
    model: name.optional(),
    /** Whether the model is a LoRA adapter in this pool: replicas that have loaded it are preferred. */
    adapter: z.boolean().optional(),
    /**
     * Reasons for which a request falls back to this pool from the pools before it. Without this field, every reason
     * except `waking` and `overflow`. With `overflow`, the pool may be the target of the overflow of another pool.
     */
    when: z
      .array(z.enum(["unavailable", "overloaded", "failed", "waking", "overflow"]))
      .min(1)
      .optional(),
  }),
  name.transform((poolName) => ({ pool: poolName })),
]);

const model = z.strictObject({
  name,
  aliases: z.array(name).max(100).default([]),
  pools: z.array(route).min(1).max(16),
  price: price.optional(),
  /** Output tokens reserved for a request that sets no maximum. */
  outputTokensReserved: z.int().min(1).max(1_000_000).default(1024),
  /** Largest maximum of output tokens that a request may state. */
  outputTokensMax: z.int().min(1).max(TOKENS_MAX).default(1_000_000),
  /** Fields of requests that are passed on although the gateway does not know them, such as `priority`. */
  allowFields: z
    .array(z.string().regex(/^\w[\w.-]{0,63}$/, "must be the name of a request's field"))
    .max(100)
    .default([]),
  /** Whether replicas may fetch images, audio and video from addresses in requests. */
  allowRemoteMedia: z.boolean().default(false),
});

/** How requests wait for a replica of a followed endpoint whose number of replicas follows traffic. */
export const followedWake: z.output<typeof wake> = wake.parse({});

export const gatewaySchema = z.strictObject({
  id: name.default("gateway"),
  listen: address.prefault("127.0.0.1:8080"),
  /** Whether several processes may listen on the same address. The kernel then spreads connections over them. */
  reusePort: z.boolean().default(false),
  tls: z.strictObject({ certificate: z.string(), key: z.string() }).optional(),
  /** Whether addresses beyond this machine are accepted without TLS. */
  insecure: z.boolean().default(false),
  /** Address for metrics, health and drain. Clients must not be able to reach it. */
  admin: address.optional(),
  /** Token of the admin address. Without this field, the gateway makes one and keeps it in `STATE/ID/admin-token`. */
  adminToken: secret.optional(),
  /** Names by which the admin address is used, besides `localhost` and the address itself. */
  adminHosts: z
    .array(z.string().regex(/^[A-Za-z0-9._-]{1,253}$/, "must be a host name without port"))
    .max(100)
    .default([]),
  state: z.string().min(1).default(".headroom/gateway"),
  /**
   * Address at which gateways that share limits meet. The first gateway that can bind it holds the limits; the other
   * gateways connect to it.
   */
  coordinator: address.optional(),
  coordinatorSecret: secret.optional(),
  /**
   * Whether `coordinator` may be an address beyond this machine. Amounts of limits travel there in clear; the secret
   * does not.
   */
  coordinatorOverNetwork: z.boolean().default(false),
  access: z.enum(["keys", "open"]).default("keys"),
  /** File of the keys that `headroom key` creates. Without this field, `gateway.keys.json` beside `gateway.yaml`. */
  keysFile: z.string().min(1).optional(),
  teams: z.array(team).max(100_000).default([]),
  pools: z.array(pool).min(1).max(1000),
  /** Control plane whose endpoints pools can follow. */
  controlPlane: z
    .strictObject({
      url: z.url({ protocol: /^https?$/, error: "must be an http or https URL, such as http://127.0.0.1:7600" }),
      token: secret,
      interval: duration.prefault("1s"),
      /** Whether access tokens of the control plane are keys here, for its teams that `teams` lists and those below them. */
      accessTokens: z.boolean().default(false),
    })
    .optional(),
  models: z.array(model).min(1).max(10_000),
  bounds: z
    .strictObject({
      connections: z.int().min(1).max(1_000_000).default(20_000),
      head: size.prefault("32KiB"),
      body: size.prefault("16MiB"),
      bodies: size.prefault("1GiB"),
      responseBuffer: size.prefault("1MiB"),
      answer: size.prefault("64MiB"),
      answers: size.prefault("512MiB"),
      headTimeout: duration.prefault("15s"),
      bodyTimeout: duration.prefault("2m"),
      idleTimeout: duration.prefault("75s"),
      stallTimeout: duration.prefault("1m"),
      shutdownTimeout: duration.prefault("1m"),
    })
    .prefault({}),
  usage: z
    .strictObject({ sync: z.enum(["always", "interval"]).default("interval"), segment: size.prefault("64MiB") })
    .prefault({}),
  tracing: z
    .strictObject({
      endpoint: z.url({
        protocol: /^https?$/,
        error: "must be an http or https URL, such as http://127.0.0.1:4318",
      }),
      share: z.number().min(0).max(1).default(1),
      /** Collectors identify their customers by headers, so each value counts as a secret. */
      headers: z.record(headerName, secret).default({}),
    })
    .optional(),
  overflowTargets: z.array(overflowTargets).max(100).default([]),
  accessLog: z.strictObject({ file: z.string().min(1), prompts: z.boolean().default(false) }).optional(),
  batches: z
    .strictObject({
      /** Maximum number of lines that run at a time, of all batches together. */
      concurrency: z.int().min(1).max(1000).default(8),
      /** Maximum number of bytes in a team's files, for input and answers together. */
      storage: size.prefault("1GiB"),
    })
    .prefault({}),
});

export type GatewayConfig = z.output<typeof gatewaySchema>;
export type TeamConfig = GatewayConfig["teams"][number];
export type PoolConfig = GatewayConfig["pools"][number];
export type ModelConfig = GatewayConfig["models"][number];
export type PriceConfig = NonNullable<ModelConfig["price"]>;
export type ReplicaConfig = PoolConfig["replicas"][number];
