/** Builds the data about a request from which the router decides. */
import { hashText, type RoutingRequest } from "@headroom/routing";
import type { PoolRoute } from "./model-route.ts";
import type { ExchangeRequest, Runtime } from "./runtime.ts";

export function routingRequestOf(
  request: ExchangeRequest,
  route: PoolRoute,
  excluded: readonly string[],
  runtime: Runtime,
): RoutingRequest {
  const { model, peek, head, caller, bodyBytes, endpoint } = request;
  // A count leaves nothing in a replica's cache that the router should remember.
  const isCached = endpoint.operation !== "count_tokens" && request.body.length > 0;
  const session = head.session === "" ? peek.session : head.session;
  const zone = head.own?.get("x-headroom-zone") ?? caller.zone;
  const region = head.own?.get("x-headroom-region") ?? caller.region;
  return {
    promptTokens: model.estimatedPromptTokens(bodyBytes),
    expectedOutputTokens: undefined,
    excluded: excluded.length === 0 ? undefined : excluded,
    only: request.holder?.replicaId,
    allowedRegions: caller.allowedRegions,
    prefix: route.pool.usesPrefixes && isCached ? runtime.prefixOf(request) : undefined,
    sessionHash: session === "" ? undefined : hashText(session),
    zone: zone === "" ? undefined : zone,
    region: region === "" ? undefined : region,
    adapter: route.isAdapter ? route.upstreamModel : undefined,
    slo: head.own === undefined ? undefined : runtime.sloOf(head.own),
  };
}
