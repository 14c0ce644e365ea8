import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome, type LiveControlPlane } from "../api/testing/live-control-plane.ts";
import { PlanService } from "./plan-service.ts";

const plan = {
  kind: "plan",
  name: "lab",
  start: "2027-01",
  months: 6,
  demand: { train: { p50: { "2027-01": 16, "2027-06": 32 } } },
  options: [
    { name: "h100", kind: "own", pool: "train", upfrontUsd: 24_000, monthlyUsd: 300, leadTime: "60d", lifeMonths: 48 },
    { name: "cloud", kind: "onDemand", pool: "train", usdPerHour: 4 },
  ],
  existing: [{ name: "old", pool: "train", accelerators: 24, monthlyUsd: 100 }],
};
const never = new AbortController().signal;
const options = (home: string, complaints: string[] = []) => ({
  home,
  log: { warn: (message: string) => void complaints.push(message) },
  nowMs: () => 0,
});

describe("the stored plan", () => {
  let live: LiveControlPlane;
  beforeAll(async () => {
    live = await startLive(temporaryHome());
  });
  afterAll(async () => {
    await live.close();
    removeHome(live.home);
  });

  it("is solved when it is stored, and is there after a restart; a dry run stores nothing", async () => {
    expect(await live.client.plan()).toEqual({ storedAtMs: null, actor: null, documents: null, solved: null });
    const tried = await live.client.storePlan({ plan }, { dryRun: true });
    expect(tried).toMatchObject({
      dryRun: true,
      solved: { name: "lab", breaches: [], first: { axis: "accelerators" } },
    });
    expect((await live.client.plan()).storedAtMs).toBeNull();
    expect(await live.client.storePlan({ plan })).toEqual({ ...tried, dryRun: false });
    const kept = await live.client.plan();
    expect(kept).toMatchObject({ documents: { plan, ceilings: null }, solved: { variants: [{}, {}, {}, {}] } });
    await live.close();
    live = await startLive(live.home);
    expect(await live.client.plan()).toEqual(kept);
  });

  it("is refused with the place of each problem in its documents", async () => {
    await expect(
      live.client.storePlan({ plan: { ...plan, months: 0 }, ceilings: { kind: "ceilings" } }),
    ).rejects.toMatchObject({
      code: "invalidRequest",
      problem: { errors: expect.arrayContaining([expect.objectContaining({ pointer: "/plan/months" })]) },
    });
  });
});

describe("the plan service", () => {
  const home = temporaryHome();
  afterAll(() => removeHome(home));

  it("bounds waiting plans and the time of each, and stops when it closes", async () => {
    const service = new PlanService({ ...options(home), answerMsMax: 1 });
    const store = () => service.store({ plan, ceilings: null }, { actor: "ann", dryRun: false, gone: never });
    const codes = await Promise.all(
      Array.from({ length: 4 }, () => store().catch((error: unknown) => (error as { readonly code: string }).code)),
    );
    expect(codes).toEqual(["tookTooLong", "tookTooLong", "tookTooLong", "overloaded"]);
    expect(service.stored.storedAtMs).toBeNull();
    await service.close();
    await expect(store()).rejects.toMatchObject({ code: "closing" });
  });

  it("reports a stored plan that it cannot read, and starts without one", () => {
    writeFileSync(path.join(home, "plan.json"), '{"storedAtMs": 1}');
    const complaints: string[] = [];
    expect(new PlanService(options(home, complaints)).stored.solved).toBeNull();
    expect(complaints).toEqual([expect.stringContaining("Store it again: headroom plan store FILE")]);
  });
});
