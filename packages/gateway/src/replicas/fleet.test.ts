import { expect, it } from "vitest";
import { loadConfig } from "../config/load.ts";
import { upstreamUrl } from "../config/quantities.ts";
import type { GatewayConfig } from "../config/schema.ts";
import { Fleet } from "./fleet.ts";

function configured(pool: string): GatewayConfig {
  const outcome = loadConfig(
    `access: open\ncontrolPlane: { url: "http://127.0.0.1:9", token: { env: TOKEN } }\npools: [{ name: p, ${pool} }]\nmodels: [{ name: m, pools: [p] }]\n`,
  );
  if ("config" in outcome) return outcome.config;
  throw new Error(outcome.problems.map(({ message }) => message).join("\n"));
}

it("keeps the replicas of an endpoint only while the pool follows that endpoint", () => {
  const configuredReplica = `replicas: ["http://127.0.0.1:8"]`;
  const fleet = new Fleet(configured(`${configuredReplica}, endpoint: a/chat`), 1);
  const ids = (): readonly string[] => [...(fleet.pools.get("p")?.replicas.keys() ?? [])];
  fleet.setDiscovered("p", [upstreamUrl.parse("http://127.0.0.1:9")], 0);
  expect(ids()).toHaveLength(2);
  fleet.apply(configured(`${configuredReplica}, endpoint: a/chat, concurrencyMax: 7`), 0);
  expect(ids()).toHaveLength(2);
  fleet.apply(configured(configuredReplica), 0);
  expect(ids()).toEqual([expect.stringContaining("127.0.0.1:8")]);
});
