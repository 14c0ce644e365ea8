/** Endpoints: what gateways and pages need to know about workloads of kind serve. */
import { count, instantMs, names } from "@headroom/spec";
import { overflowReading, overflowState } from "./overflow.ts";
import { z } from "zod";
import { operation } from "./operation.ts";
import { scaleCause, scaleGround } from "./attempt.ts";
import { rolloutOperations, rolloutReading, rolloutState } from "./rollout.ts";
import { workloadPhase } from "./workload.ts";
import { trialOperations } from "./endpoint-trial.ts";

/** Maximum number of endpoints in one answer. */
export const ENDPOINTS_LISTED_MAX = 1_000;

/** Maximum number of replicas in one report of load. */
const REPORTED_REPLICAS_MAX = 1_000;
/** Largest amount in a report, so that sums over gateways stay exact. */
const AMOUNT_MAX = 1e12;

const amount = z.number().min(0).max(AMOUNT_MAX);
const requestCount = z.int().min(0).max(AMOUNT_MAX);

export const latencies = z
  .object({
    p50Ms: amount,
    p95Ms: amount,
    p99Ms: amount,
    requests: requestCount.meta({ description: "Number of requests behind the figures." }),
  })
  .meta({ id: "Latencies", description: "Quantiles over the requests of the last minute." });

const tokenCounts = z
  .strictObject({
    prompt: requestCount.meta({
      description:
        "Prompt tokens of the requests that were sent to replicas since the start of the gateway, estimated from their bytes, without those that the router expects in a cache.",
    }),
    output: requestCount.meta({ description: "Output tokens of the requests that were completed since then." }),
    ended: requestCount.meta({ description: "Number of these requests." }),
    promptTokenMs: amount.nullable().meta({
      description:
        "Time to the first token for each prompt token that was in no cache, which a tenth of the last minute's requests did not exceed; null: fewer than 20 requests.",
    }),
  })
  .meta({ id: "TokenCounts", description: "Tokens of an endpoint's requests, as a gateway counts them." });

const replicaTimes = z
  .strictObject({
    tokenMs: amount.meta({ description: "Time per output token of a request alone." }),
    promptMs: amount.meta({ description: "Time of the prompt of a request alone." }),
    workMs: amount.meta({ description: "Accelerator time of a request in a usual batch." }),
  })
  .meta({ id: "ReplicaTimes", description: "Times of a replica for requests of mean lengths." });

/**
 * The load of an endpoint as one gateway sees it. `requests` counts from the start of the gateway, so that a lost report
 * loses nothing.
 */
export const loadReport = z
  .strictObject({
    version: z.literal(1),
    gateway: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/)
      .meta({ description: "Id of the gateway. Each gateway has a reading of its own." }),
    startedAtMs: instantMs.meta({ description: "Start of the gateway, from which `requests` counts." }),
    requests: requestCount.meta({
      description: "Requests that were sent to replicas since the start of the gateway, retries included.",
    }),
    running: requestCount.meta({ description: "Requests that replicas have." }),
    held: requestCount.meta({ description: "Requests that wait for a first replica." }),
    idleMs: amount.meta({ description: "Time since the last request began or ended." }),
    queued: requestCount.nullable().meta({ description: "Requests that wait in replicas; null: they do not say." }),
    kvUsage: z.number().min(0).max(1).nullable().meta({ description: "Highest used share of a KV cache." }),
    ttft: latencies.nullable().meta({ description: "Time to the first token; null: no request." }),
    tpot: latencies.nullable().meta({ description: "Time per output token after the first; null: no request." }),
    tokens: tokenCounts
      .optional()
      .meta({ description: "Tokens of the requests; absent: the gateway is of an earlier release." }),
    replicas: z
      .array(
        z.strictObject({
          address: z.string().max(300),
          requests: requestCount.meta({ description: "Requests in progress." }),
          times: replicaTimes.optional().meta({
            description: "As its requests measured; absent: too few were, or the gateway is of an earlier release.",
          }),
        }),
      )
      .max(REPORTED_REPLICAS_MAX),
    rollout: rolloutReading
      .optional()
      .meta({ description: "Both revisions during a rollout; absent: none was listed." }),
    overflow: overflowReading
      .optional()
      .meta({ description: "Requests that left by the overflow; absent: the endpoint has none." }),
  })
  .meta({ id: "LoadReport" });

export const loadReported = z
  .object({
    workloadId: z.string(),
    wanted: count.meta({ description: "Number of replicas that it should have now." }),
  })
  .meta({ id: "LoadReported" });

const endpointLoad = z
  .object({
    reportedAtMs: instantMs.meta({ description: "Time of the oldest of the newest reports of its gateways." }),
    gateways: count.meta({ description: "Gateways that reported lately." }),
    silentGateways: count.meta({ description: "Gateways that reported and are silent." }),
    running: count,
    held: count,
    queued: count.nullable(),
    requestsPerSecond: z.number(),
    kvUsage: z.number().nullable(),
    ttft: latencies.nullable(),
    tpot: latencies.nullable(),
  })
  .meta({ id: "EndpointLoad", description: "Load over all gateways, as last reported." });

const scalingMetric = z
  .object({
    name: z.string(),
    source: z.string().nullable().meta({ description: "null: the only source that has the value." }),
    kind: z.enum(["perReplica", "level"]),
    target: z.number(),
    value: z.number().nullable().meta({ description: "null: it is not known now." }),
    gap: z.enum(["missing", "late", "unsound", "contradictory", "partial"]).nullable().meta({
      description:
        "Why the value is not known. `missing`: no source has it; `late`: three intervals of the source passed; `unsound`: it is below zero or no number; `contradictory`: several sources or series differ; `partial`: some replicas were not read.",
    }),
    atMs: instantMs
      .nullable()
      .optional()
      .meta({ description: "Time of the newest value, also of one that is late; null: no source has it." }),
  })
  .meta({ id: "ScalingMetric" });

const typeFigures = z
  .object({
    type: z.string(),
    microUsdPerHour: amount.meta({
      description: "Lowest declared price of one accelerator in its pools; 0: none has a price.",
    }),
    times: replicaTimes.nullable().meta({ description: "null: neither measured nor predicted." }),
    isPredicted: z.boolean().meta({ description: "True: its datasheet beside that of a measured type." }),
    isFailing: z.boolean().meta({
      description: "Whether it is turned away: a replica failed before it was ready, or was not ready in time.",
    }),
    isFast: z.boolean().nullable().meta({ description: "Whether a request alone is within the targets of latency." }),
    covers: z
      .boolean()
      .nullable()
      .meta({ description: "Whether the replicas to add would serve the missing load on this type." }),
  })
  .meta({ id: "TypeFigures" });

const scalingState = z
  .object({
    atMs: instantMs.meta({ description: "Time of the last look at the load." }),
    kept: z
      .enum(["enough", "silent", "unsound", "partial", "holding", "max", "metric", "budget", "refused"])
      .nullable()
      .meta({
        description:
          "Why the number stays, or is smaller than the load needs. `silent`: no gateway reports; `unsound`: its figures contradict each other; `partial`: one of several gateways is silent; `holding`: it falls only after fewer were enough for a while, and seldom changes its direction; `max`: the bounds of the endpoint; `metric`: a value of a metric source is not known now; `budget`: the budget of the endpoint is spent; null: it changes.",
      }),
    cause: scaleCause.nullable(),
    neededMilli: count.nullable().meta({ description: "Replicas that the load needs, in thousandths." }),
    metrics: z
      .array(scalingMetric)
      .optional()
      .meta({ description: "Values of metric sources that it follows; absent: none." }),
    types: z
      .array(typeFigures)
      .optional()
      .meta({ description: "Accelerator types at the last start of replicas, first choice first; absent: no choice." }),
    coldStartMs: count.meta({ description: "Time that its own starts took, from placement to readiness." }),
    sentence: z.string(),
  })
  .meta({ id: "ScalingState" });

const endpointReplica = z
  .object({
    attemptId: z.string(),
    task: count.meta({ description: "Number of the replica in its endpoint." }),
    phase: z.enum(["launching", "running", "stopping"]),
    address: z
      .string()
      .nullable()
      .meta({ description: "Host and port of its HTTP server; null: it does not take requests." }),
    draining: z.boolean().meta({ description: "True: it finishes its requests and gets no new ones." }),
    readySinceMs: instantMs.nullable(),
    revision: count.meta({ description: "Number of the revision that it runs." }),
    requests: count.nullable().meta({ description: "Requests in progress, as gateways report; null: unknown." }),
  })
  .meta({ id: "EndpointReplica" });

const endpointBudgetState = z
  .object({
    microUsd: z.number().meta({ description: "Budget of each period." }),
    period: z.enum(["day", "month"]),
    over: z.enum(["warn", "minimum", "stop"]),
    spentMicroUsd: z.number().meta({ description: "Spent in this period, requests that left included." }),
    overflowMicroUsd: z.number().meta({ description: "The part for requests that left." }),
    renewsAtMs: instantMs,
    sentence: z.string(),
  })
  .meta({ id: "EndpointBudgetState" });

export const endpoint = z
  .object({
    workloadId: z.string(),
    name: z.string(),
    team: z.string(),
    model: z.string().meta({ description: "Name of the model in requests." }),
    phase: workloadPhase,
    replicas: z.object({
      min: count,
      max: count,
      wanted: count,
      running: count.meta({ description: "Replicas with an attempt that is not being stopped." }),
      ready: count.meta({ description: "Replicas that take new requests." }),
    }),
    lastChange: z.object({ from: count, atMs: instantMs, actor: z.string(), ground: scaleGround }),
    autoscaled: z.boolean().meta({ description: "Whether the number of replicas follows traffic (`scale`)." }),
    load: endpointLoad.nullable().meta({ description: "null: no gateway reported since the start." }),
    scaling: scalingState.nullable().meta({ description: "null: commands alone change the number of replicas." }),
    revision: count.meta({ description: "Number of the present revision." }),
    rollout: rolloutState.nullable().meta({ description: "null: no rollout is in progress." }),
    overflow: overflowState.nullable().meta({ description: "null: requests do not leave the endpoint." }),
    failure: z
      .object({ attemptId: z.string(), atMs: instantMs, sentence: z.string() })
      .nullable()
      .meta({ description: "The last end of a replica, if it failed and none is ready; null: otherwise." }),
    budget: endpointBudgetState.nullable().meta({ description: "null: the endpoint has no budget of its own." }),
    list: z.array(endpointReplica).meta({ description: "Replicas with an attempt, in the order of their placement." }),
  })
  .meta({ id: "Endpoint" });

export const endpointList = z
  .object({
    sequence: count.meta({ description: "Journal sequence of the answer." }),
    nowMs: instantMs.meta({ description: "Time of the answer, for the age of readings." }),
    items: z.array(endpoint).meta({ description: `Endpoints that have not ended, at most ${ENDPOINTS_LISTED_MAX}.` }),
  })
  .meta({ id: "EndpointList" });

export type Endpoint = z.output<typeof endpoint>;
export type LoadReport = z.output<typeof loadReport>;
export type LoadReported = z.output<typeof loadReported>;
export type EndpointLoad = z.output<typeof endpointLoad>;
export type ReplicaTimes = z.output<typeof replicaTimes>;
export type TypeFigures = z.output<typeof typeFigures>;
export type ScalingState = z.output<typeof scalingState>;
export type EndpointList = z.output<typeof endpointList>;

export const endpointOperations = {
  endpoints: operation("GET /v1/endpoints", "Endpoints with the addresses of their replicas", endpointList, {
    permission: "workloads.read",
    subject: "teams",
  }),
  reportLoad: operation("PUT /v1/endpoints/{id}/load", "Report the load of an endpoint, from a gateway", loadReported, {
    permission: "workloads.write",
    subject: "workload",
    params: z.strictObject({ id: names.opaqueId }),
    body: loadReport,
    problems: ["unknownWorkload"],
  }),
  ...rolloutOperations,
  ...trialOperations,
};
