/** The replicas of pools that follow endpoints of a control plane. */
import path from "node:path";
import type { GatewayConfig } from "../config/schema.ts";
import { EndpointFollower } from "../replicas/endpoint-follower.ts";
import type { Fleet } from "../replicas/fleet.ts";

interface FollowedParts {
  readonly fleet: Fleet;
  readonly stateDirectory: string;
  /** The configuration that was applied last. */
  active(): GatewayConfig;
  now(): number;
  log(line: string): void;
}

/** `undefined`: the gateway has no control plane. */
export function followerOf({ controlPlane }: GatewayConfig, parts: FollowedParts): EndpointFollower | undefined {
  if (controlPlane === undefined) return undefined;
  const { fleet, stateDirectory, active, now, log } = parts;
  return new EndpointFollower({
    url: controlPlane.url,
    token: controlPlane.token,
    intervalMs: controlPlane.interval,
    file: path.join(stateDirectory, "endpoints.json"),
    pools: () => active().pools,
    take: (pool, urls) => {
      const refusedCount = fleet.setDiscovered(pool, urls, now());
      if (refusedCount > 0) log(`pool ${pool}: there is no room for ${refusedCount} replicas of its endpoint`);
    },
    log,
  });
}
