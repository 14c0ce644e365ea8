import { createHash } from "node:crypto";
import { afterAll, beforeAll } from "vitest";
import { testGateway, type TestGateway } from "../../src/testing/test-gateway.ts";
import { ScriptedEngine } from "./scripted-engine.ts";

export const key = "sk-test-0123456789";
export const limitedKey = "sk-limited-0123456789";

export interface Setting {
  readonly engine: ScriptedEngine;
  readonly gateway: TestGateway;
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** A gateway with keys in front of a scripted engine, for the tests of one file. */
export function gatewayForSuite(engineName: string): Setting {
  const engine = new ScriptedEngine(engineName === "headroom");
  const setting = { engine } as { engine: ScriptedEngine; gateway: TestGateway };
  beforeAll(async () => {
    await engine.start();
    setting.gateway = await testGateway(`access: keys
teams:
  - { name: team, keys: [{ sha256: ${sha256(key)} }] }
  - { name: limited, keys: [{ sha256: ${sha256(limitedKey)} }], requestsPerMinute: 1 }
pools: [{ name: p, engine: ${engineName}, replicas: ["${engine.url}"], attempts: 1, breaker: { failures: 1000 } }]
models: [{ name: m, pools: [p] }]
`);
  });
  afterAll(async () => {
    await setting.gateway.stop();
    await engine.stop();
  });
  return setting;
}
