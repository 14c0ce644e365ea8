/** The inference gateway as its page shows it: the form of `GET /v1/overview` at a gateway's admin address. */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";

const amount = z.number().nonnegative();
const timeMs = amount.nullable();

const outcomes = {
  completed: count,
  failed: count,
  aborted: count.meta({ description: "Requests whose client left." }),
  limited: count.meta({ description: "Requests that a limit or budget refused." }),
};

export const gatewayMinute = z
  .object({
    atMs: instantMs,
    ...outcomes,
    firstByteP50Ms: timeMs,
    firstByteP95Ms: timeMs,
    durationP50Ms: timeMs,
    durationP95Ms: timeMs,
  })
  .meta({ id: "GatewayMinute" });

export const gatewayLimit = z
  .object({
    kind: z.enum(["requests", "tokens", "money"]),
    period: z.string().meta({ description: "`minute`; for money `day` or `month`." }),
    limit: amount.meta({ description: "In requests, tokens or USD." }),
    used: amount,
    remaining: amount,
  })
  .meta({ id: "GatewayLimit" });

export const gatewayKey = z
  .object({
    name: z.string(),
    state: z.enum(["active", "rotated", "expired"]),
    expiresAtMs: instantMs.nullable(),
    requests: count,
    costUsd: amount,
  })
  .meta({ id: "GatewayKey" });

export const gatewayTeam = z
  .object({
    name: z.string(),
    ...outcomes,
    inputTokens: count,
    cachedTokens: count.meta({ description: "Part of `inputTokens`." }),
    outputTokens: count,
    costUsd: amount,
    limits: z.array(gatewayLimit),
    keyCount: count,
    keys: z.array(gatewayKey).meta({ description: "At most 20, those with most requests first." }),
  })
  .meta({ id: "GatewayTeam" });

export const gatewayReplica = z
  .object({
    id: z.string(),
    state: z.string().meta({ description: "`ready`, or why it takes no requests." }),
    requests: count.meta({ description: "Requests in progress." }),
    queued: amount.nullable().meta({ description: "Requests that wait in the engine; null: not reported." }),
    running: amount.nullable(),
    kvUsage: amount.nullable().meta({ description: "Used share of the KV cache, 0 to 1." }),
  })
  .meta({ id: "GatewayReplica" });

export const gatewayPool = z
  .object({
    name: z.string(),
    engine: z.string(),
    endpoint: z
      .string()
      .nullable()
      .default(null)
      .meta({ description: "Endpoint of the control plane that it follows, as `TEAM/NAME`; null: none." }),
    models: z.array(z.string()).default([]).meta({ description: "Models whose first pool it is, at most 20." }),
    requests: count,
    waiting: z
      .object({ low: count, normal: count, high: count })
      .nullable()
      .default(null)
      .meta({ description: "Requests that wait for their turn, by priority; null: the pool has no queue (`fair`)." }),
    replicaCount: count,
    readyCount: count,
    replicas: z.array(gatewayReplica),
  })
  .meta({ id: "GatewayPool" });

export const gatewayError = z
  .object({
    id: z.string(),
    atMs: instantMs,
    team: z.string(),
    key: z.string(),
    model: z.string(),
    pool: z.string(),
    status: count,
    message: z.string(),
  })
  .meta({ id: "GatewayError" });

export const gatewayOverview = z
  .object({
    id: z.string(),
    url: z
      .string()
      .nullable()
      .default(null)
      .meta({ description: "Where it takes requests, as seen from its machine." }),
    startedAtMs: instantMs,
    nowMs: instantMs,
    notReady: z.array(z.string()).meta({ description: "Why the gateway cannot serve requests now; empty: it can." }),
    inProgress: count,
    held: count.meta({ description: "Requests that wait for a model to start." }),
    connections: count,
    minutes: z.array(gatewayMinute).meta({ description: "The last hour, the oldest minute first." }),
    refused: z
      .array(z.object({ reason: z.string(), count }))
      .meta({ description: "Requests without a valid key, body or model, by reason, since the start." }),
    teamCount: count,
    teams: z.array(gatewayTeam).meta({ description: "At most 100; figures since the start of the gateway." }),
    poolCount: count,
    pools: z.array(gatewayPool),
    errors: z.array(gatewayError).meta({ description: "The newest failed requests, at most 20." }),
  })
  .meta({ id: "GatewayOverview" });

export type GatewayMinute = z.output<typeof gatewayMinute>;
export type GatewayLimit = z.output<typeof gatewayLimit>;
export type GatewayTeam = z.output<typeof gatewayTeam>;
export type GatewayReplica = z.output<typeof gatewayReplica>;
export type GatewayPool = z.output<typeof gatewayPool>;
export type GatewayError = z.output<typeof gatewayError>;
export type GatewayOverview = z.output<typeof gatewayOverview>;
