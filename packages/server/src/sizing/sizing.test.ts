import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome, type LiveControlPlane } from "../api/testing/live-control-plane.ts";
import { SizingService } from "./sizing-service.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive(temporaryHome());
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

describe("POST /v1/sizing", () => {
  it("counts a fabric, with every default of the command line", async () => {
    expect(await live.client.size({ kind: "network", network: { nodeCount: 512 } })).toMatchObject({
      kind: "network",
      levels: [{ switchCount: 128 }, { switchCount: 128 }, { switchCount: 64 }],
    });
  });

  it("says why something cannot be and what could", async () => {
    expect(await live.client.size({ kind: "network", network: { nodeCount: 100_000 } })).toMatchObject({
      kind: "impossible",
      nearest: expect.stringContaining("8192 nodes"),
    });
  });

  it("judges storage and failures", async () => {
    const storage = await live.client.size({
      kind: "storage",
      storage: { checkpoints: [{ bytes: 5.68e12, writerCount: 16_384 }] },
      tiers: [{ name: "mine", writeGbPerS: 100 }],
    });
    expect(storage).toMatchObject({ verdicts: [{ verdict: { isEnough: false, breaksFirst: { axis: "write" } } }] });
    const failures = await live.client.size({ kind: "failures", failures: { nodeCount: 2048 } });
    expect(failures).toMatchObject({ kind: "failures", mttfSeconds: expect.closeTo(11_131, 0) });
  });

  it("plans training runs and endpoints", async () => {
    const training = { model: "llama-3-8b", accelerator: "H100", acceleratorCount: 64, sequenceLength: 8192 };
    const train = await live.client.size({
      kind: "training",
      training: { ...training, globalBatch: 128, tokens: 1e12 },
    });
    expect(train).toMatchObject({ kind: "training", nodeCount: 8, run: { days: expect.any(Number) } });
    const serving = {
      model: "llama-3-8b",
      accelerator: "H100",
      promptTokens: 1000,
      outputTokens: 200,
      requestsPerS: 50,
    };
    const serve = await live.client.size({ kind: "serving", serving });
    expect(serve).toMatchObject({
      kind: "serving",
      plans: expect.arrayContaining([expect.anything()]),
      chosen: expect.arrayContaining([expect.any(String)]),
      evidence: { isNear: true },
    });
    const tpu = await live.client.size({ kind: "serving", serving: { ...serving, accelerator: "TPU v5p" } });
    expect(tpu).toMatchObject({ kind: "unknown", reasons: [expect.stringContaining("TPU")] });
  });

  it("leaves the journal as it was", async () => {
    const before = (await live.client.status()).sequence;
    await live.client.size({ kind: "network", network: { nodeCount: 8 } });
    expect((await live.client.status()).sequence).toBe(before);
  });

  it.each([
    [{ kind: "weather" }, "/kind"],
    [{ kind: "network", network: { nodeCount: 0 } }, "/network/nodeCount"],
    [{ kind: "failures", failures: { nodeCount: 1, spareCoverage: 1 } }, "/failures/spareCoverage"],
  ])("refuses %j", async (question, pointer) => {
    await expect(live.client.size(question as never)).rejects.toMatchObject({
      code: "invalidRequest",
      problem: { errors: [{ pointer }] },
    });
  });
});

describe("the desk", () => {
  it("takes so many questions at once, answers those, and none after it has closed", async () => {
    const service = new SizingService();
    const network = { kind: "network", network: { ...fabric, nodeCount: 64 } } as const;
    const asked = Array.from({ length: 20 }, () => service.answer(network));
    const outcomes = await Promise.allSettled(asked);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(16);
    expect(outcomes.at(-1)).toMatchObject({ reason: { code: "overloaded" } });
    // A question asked just before closing is answered, or is refused because the service has closed.
    const cut = service.answer(network).catch((error: unknown) => error);
    await service.close();
    await expect(service.answer(network)).rejects.toMatchObject({ code: "closing" });
    const outcome = (await cut) as { readonly kind?: string; readonly code?: string };
    expect(outcome.kind ?? outcome.code).toMatch(/^(network|closing)$/);
  });
});

const fabric = {
  kind: "rail-optimised",
  portsPerNode: 8,
  switchPorts: 64,
  portGbps: 400,
  leafOversubscription: 1,
  spineOversubscription: 1,
  planes: 1,
} as const;
