/**
 * Builds the message of one attempt: the client's request, or the continuation of a broken stream, with the edits that
 * the replica needs.
 */
import type { RoutingRequest } from "@headroom/routing";
import type { Placement } from "../replicas/pool.ts";
import type { Replica } from "../replicas/replica.ts";
import { asksForUsage } from "./buffered-response.ts";
import type { PoolRoute } from "./model-route.ts";
import type { Continuation } from "./resume.ts";
import type { ExchangeRequest } from "./runtime.ts";
import { inferPathOf } from "../protocols/endpoints.ts";
import { addedMaximumOf } from "./settlement.ts";
import { bodyEdits, upstreamMessage, type AddedMaximum, type UpstreamMessage } from "./upstream-request.ts";

export const noBytes: Buffer = Buffer.alloc(0);

/** The replica chosen for an attempt, and the routing request for which it was chosen. */
export interface AttemptStart {
  readonly placement: Placement;
  readonly request: RoutingRequest;
  readonly nowMs: number;
}

interface AttemptTarget {
  readonly route: PoolRoute;
  readonly replica: Replica;
  readonly continuation: Continuation | undefined;
}

export function attemptMessage(
  request: ExchangeRequest,
  { route, replica, continuation }: AttemptTarget,
): UpstreamMessage {
  const { endpoint, peek, head, body, method, path, id, traceparent, tracestate, holder } = request;
  const usage =
    peek.isStream && !peek.isUsageAsked && route.pool.config.streamUsage && asksForUsage(endpoint.operation);
  return upstreamMessage(
    {
      method,
      path: endpoint.operation === "infer" ? inferPathOf(path, route.upstreamModel) : path,
      forwarded: head.forwarded,
      requestId: id,
      traceparent,
      tracestate,
      body: continuation?.body ?? body,
      edits:
        continuation === undefined
          ? bodyEdits(body, peek, {
              model: route.upstreamModel,
              usage,
              previousResponseId: holder?.responseId,
              outputTokens: addedMaximum(request, route),
            })
          : [],
    },
    route.pool,
    replica,
  );
}

/** The maximum that the gateway sets, in the field that the endpoint and the engine have for it. */
function addedMaximum(request: ExchangeRequest, route: PoolRoute): AddedMaximum | undefined {
  const { pool } = route;
  const tokens = addedMaximumOf(request, route);
  if (tokens === undefined) return undefined;
  const { operation } = request.endpoint;
  if (operation === "responses") return { field: "max_output_tokens", tokens };
  // OpenAI's reasoning models refuse `max_tokens`; other servers may not know the longer name.
  return {
    field: operation === "chat" && pool.config.engine === "openai" ? "max_completion_tokens" : "max_tokens",
    tokens,
  };
}
