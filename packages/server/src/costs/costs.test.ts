import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";
import { usedSharesOf } from "./step-shares.ts";

let live: LiveControlPlane;
const home = temporaryHome();
const price = (text: string): void => {
  mkdirSync(path.join(home, "prices"), { recursive: true });
  writeFileSync(path.join(home, "prices/local.yaml"), text);
};

const HOUR_MS = 3_600_000;
const startedAtMs = Date.now();
/** Answers are kept for a while, so each question has a range of its own. */
const since = (hours: number): { readonly fromMs: number } => ({ fromMs: startedAtMs - hours * HOUR_MS });

const LEASED = `kind: price
name: lease
pool: local
provider: Lessor
region: here
source: onDemand
from: 2020-01-01
prices: [{ from: 2020-01-01, perHour: 3600 }]
`;

beforeAll(async () => {
  price(LEASED);
  live = await startLive(home, { local: { nodeName: "n1", slotCount: 2, accelerators: "declared" } });
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

describe("GET /v1/costs", () => {
  it("charges a team for what it held, at the price of the document", async () => {
    const { workloadId } = await live.client.submitWorkload({
      kind: "train",
      name: "priced",
      run: "sleep 2",
      gang: { workers: 1, accelerators: 2 },
    });
    await expect
      .poll(async () => (await live.client.getWorkload(workloadId)).phase, { timeout: 20_000 })
      .toBe("succeeded");
    const costs = await live.client.costs({ group: ["team", "workload"], by: "all", ...since(1) });
    const [line] = costs.items.filter(({ group }) => group[1] === "priced");
    expect(line?.group).toEqual(["default", "priced"]);
    // At 3,600 dollars an hour for each accelerator, two of them cost two dollars a second. They are held for longer
    // than the two seconds that the command takes; "used" counts from the report of its start, which may come late.
    expect(line?.microUsd).toBeGreaterThan(3_999_000);
    expect(line?.usedMicroUsd).toBeGreaterThan(0);
    expect(line?.microUsd).toBe(Math.round((line?.acceleratorHours ?? 0) * 3_600_000_000));
    expect(costs.problems).toEqual([]);
    expect(costs.total.microUsd).toBe(costs.items.reduce((sum, { microUsd }) => sum + microUsd, 0));
  });

  it("names price documents that cannot be read, and the pools without a price", async () => {
    price(LEASED.replace("perHour: 3600", "perHour: cheap"));
    const costs = await live.client.costs({ by: "all", ...since(2) });
    expect(costs.problems).toEqual([expect.stringMatching(/^prices\/local.yaml: document 1: prices\.0\.perHour: /)]);
    expect(costs.unpricedPools).toEqual(["local"]);
    expect(costs.total.microUsd).toBe(0);
    price(LEASED);
  });

  it("shows a member the costs of the own team alone, and no capacity that nobody held", async () => {
    await live.client.apply({ teams: [{ name: "other" }] });
    const { secret } = await live.client.createToken({ name: "other", user: "bo", role: "member", team: "other" });
    const answer = await live.request("/v1/costs?by=all", { headers: { authorization: `Bearer ${secret}` } });
    expect(await answer.json()).toMatchObject({
      items: [],
      total: { microUsd: 0, idleMicroUsd: 0 },
      unpricedPools: [],
    });
  });

  it("has the tokens of gateways: bought ones at the provider's price, and those of the own fleet beside them", async () => {
    const usage = path.join(home, "gateway/one/usage");
    mkdirSync(usage, { recursive: true });
    const line = (seq: number, own: object): string =>
      `${JSON.stringify({ seq, id: `g-${seq}`, atMs: startedAtMs, team: "default", key: "k", model: "chat", pool: "cloud", operation: "chat", outcome: "completed", status: 200, promptTokens: 1_000, completionTokens: 500, cachedTokens: 0, isPromptEstimated: false, nanoUsd: 2_000, ...own })}\n`;
    const records = line(1, {}) + line(2, { pool: "local" }) + line(3, { outcome: "open" }) + "no record\n";
    writeFileSync(path.join(usage, "usage-0000000000000001-00000001.jsonl"), records);
    symlinkSync("one", path.join(home, "gateway/same"));
    mkdirSync(path.join(home, "gateway/two"));
    writeFileSync(path.join(home, "gateway/two/usage"), "");
    mkdirSync(path.join(usage, "usage-0000000000000009-00000001.jsonl"));
    const tokens =
      "---\nkind: price\nname: bought\nsource: tokens\nprovider: Cloud\nmodel: chat\npool: cloud\nfrom: 2020-01-01\nperMillionInput: 2\nperMillionOutput: 10\n";
    price(`${LEASED}${tokens}`);
    const costs = await live.client.costs({ group: ["source", "workload"], by: "all", ...since(3) });
    expect(costs.items.find(({ group }) => group[0] === "tokens")).toMatchObject({
      group: ["tokens", "chat"],
      microUsd: 7_000,
    });
    expect(costs.metered.map((each) => [each.place, each.quantity, each.price, each.chargedMicroUsd])).toEqual([
      ["cloud", 1_500, "bought", 2],
      ["local", 1_500, "", 2],
    ]);
    expect(costs.problems).toEqual([
      expect.stringMatching(/^gateway\/one\/usage\/usage-.*: 1 lines are no usage records$/),
      expect.stringMatching(/^gateway\/one\/usage\/usage-.*9-00000001\.jsonl: cannot be read: EISDIR$/),
    ]);
    price(LEASED);
  });

  it("refuses ranges and fields that it cannot answer", async () => {
    await expect(live.client.costs({ fromMs: 10, toMs: 5 })).rejects.toMatchObject({ code: "invalidRequest" });
    await expect(live.client.costs({ fromMs: 0 })).rejects.toMatchObject({ code: "invalidRequest" });
    await expect(live.client.costs({ group: "planet" as "pool" })).rejects.toMatchObject({ code: "invalidRequest" });
  });
});

describe("GET /v1/health/hours", () => {
  it("adds up to the allocated time exactly, and shows a member the own team alone", async () => {
    const answer = await live.client.causeHours({ group: "team", ...since(1) });
    const milli = (text: string): bigint => BigInt(Math.round(Number(text) * 1_000));
    const [line] = answer.items;
    expect(line?.group).toBe("default");
    const sum = line?.causes.reduce((all, { acceleratorMs }) => all + milli(acceleratorMs), 0n);
    expect(sum).toBe(milli(line?.allocated.acceleratorMs ?? "0"));
    expect(line?.allocated.hours).toBeGreaterThan(4 / 3_600);
    expect(answer.total.allocated).toEqual(line?.allocated);
    expect(answer.unallocated.map(({ reason }) => reason)).toContain("free");
    expect(answer).toMatchObject({ attempts: 1, measuredAttempts: 0, problems: [] });
    const { secret } = await live.client.createToken({ name: "other2", user: "bo", role: "member", team: "other" });
    const other = await live.request("/v1/health/hours", { headers: { authorization: `Bearer ${secret}` } });
    expect(await other.json()).toMatchObject({ items: [], unallocated: [], total: { allocated: { hours: 0 } } });
    await expect(live.client.causeHours({ fromMs: 10, toMs: 5 })).rejects.toMatchObject({ code: "invalidRequest" });
  });
});

describe("shares of used time", () => {
  const points = (metrics: Record<string, number>) =>
    Array.from({ length: 12 }, (_, index) => ({ atMs: index * 10_000, step: index * 10, reports: 1, metrics }));

  it("are the reported parts over the measured step, or the part without busy accelerators", () => {
    const progress = points({ computeSeconds: 0.6, networkSeconds: 0.3, loss: 2 });
    const busy = { atMs: 0, reports: 3, busyMilli: 750, busyAccelerators: 8, peakMemoryMib: null };
    const idle = { ...busy, busyMilli: 0, busyAccelerators: 0 };
    expect(usedSharesOf({ progress, utilization: [busy] })).toEqual({ compute: 0.6, communication: 0.3, io: 0 });
    expect(usedSharesOf({ progress: points({ loss: 2 }), utilization: [busy, idle] })).toEqual({ idle: 0.25 });
    expect(usedSharesOf({ progress: points({ loss: 2 }), utilization: [idle] })).toBeNull();
  });
});
