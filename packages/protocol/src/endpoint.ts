/** Endpoints: what gateways and pages need to know about workloads of kind serve. */
import { count, instantMs } from "@headroom/spec";
import { z } from "zod";
import { operation } from "./operation.ts";
import { scaleGround } from "./attempt.ts";
import { workloadPhase } from "./workload.ts";

/** Maximum number of endpoints in one answer. */
export const ENDPOINTS_LISTED_MAX = 1_000;

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
  })
  .meta({ id: "EndpointReplica" });

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
    list: z.array(endpointReplica).meta({ description: "Replicas with an attempt, in the order of their placement." }),
  })
  .meta({ id: "Endpoint" });

export const endpointList = z
  .object({
    sequence: count.meta({ description: "Journal sequence of the answer." }),
    items: z.array(endpoint).meta({ description: `Endpoints that have not ended, at most ${ENDPOINTS_LISTED_MAX}.` }),
  })
  .meta({ id: "EndpointList" });

export type Endpoint = z.output<typeof endpoint>;
export type EndpointList = z.output<typeof endpointList>;

export const endpointOperations = {
  endpoints: operation("GET /v1/endpoints", "Endpoints with the addresses of their replicas", endpointList, {
    permission: "workloads.read",
    subject: "teams",
  }),
};
