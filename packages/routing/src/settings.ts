import type { RouterOptions, RoundTrips, RoutingPolicy } from "./contract.ts";

/** Options with their defaults. */
export interface Settings {
  readonly policy: RoutingPolicy;
  readonly draw: () => number;
  readonly loadBound: number;
  readonly localityBound: number;
  readonly roundTripMs: RoundTrips;
  readonly adapterLoadMs: number;
  readonly maxPrefixEntries: number;
  readonly maxReplicas: number;
}

export function settled(options: RouterOptions): Settings {
  const { maxReplicas = 256, maxPrefixEntries = 262_144 } = options;
  if (!(maxReplicas >= 1 && maxReplicas <= 65_535)) throw new RangeError("maxReplicas must be 1 to 65,535.");
  if (!(maxPrefixEntries >= 256)) throw new RangeError("maxPrefixEntries must be 256 or more.");
  return {
    policy: options.policy,
    draw: options.draw,
    // Sessions keep state on their replica, so by default they leave it only when the replica leaves.
    loadBound: options.loadBound ?? (options.policy === "session" ? Infinity : 1.25),
    localityBound: options.localityBound ?? 1.5,
    roundTripMs: options.roundTripMs ?? { sameZone: 0.5, sameRegion: 2, otherRegion: 80 },
    adapterLoadMs: options.adapterLoadMs ?? 500,
    maxPrefixEntries,
    maxReplicas,
  };
}
