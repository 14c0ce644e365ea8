import { describe, expect, it } from "vitest";
import { readDemandDocument, sizeDemand, type DemandAnswer, type WorkSizer } from "./demand-document.ts";

const sizer: WorkSizer = {
  trainingHours: (model, tokens) => (model === "small" ? tokens / 1e6 : `no plan fits ${model}`),
  servingAccelerators: (_, { requestsPerS }) => Math.ceil(requestsPerS / 2),
  embeddingTokensPerS: (model) => (model === "reader" ? 1000 : `no figures for ${model}`),
  trainingStorage: () => ({ capacityTb: 3, readGbPerS: 2, writeGbPerS: 5, clients: 16 }),
  servingStorage: () => ({ capacityTb: 0.1, readGbPerS: 1, writeGbPerS: 0, clients: 1 }),
  kwPerAccelerator: 1.25,
};

function sized(entries: readonly object[]): DemandAnswer {
  const reading = readDemandDocument({
    kind: "demand",
    name: "d",
    pool: "fleet",
    accelerator: "H100",
    start: "2027-01",
    months: 13,
    usefulPct: 50,
    entries,
  });
  if (reading.kind !== "read") throw new Error(JSON.stringify(reading.problems));
  return sizeDemand(reading.document, sizer);
}

describe("demand of people", () => {
  it("has storage on three axes, ports and power, weighted with the probability of each entry", () => {
    const answer = sized([
      { kind: "team", name: "lab", owner: "ann", accelerators: 100, spreadPct: 0 },
      { kind: "dataset", name: "crawl", owner: "di", capacityTb: 40, growthPct: 100, readGbPerS: 3, clients: 8 },
      { kind: "project", name: "p", owner: "bo", model: "small", tokens: 1e9, runsPerYear: 0, probabilityPct: 50 },
    ]);
    if (answer.kind !== "sized") throw new Error(answer.reason);
    const { axes } = answer.demand;
    expect([axes.powerKw[0], axes.fabricPorts[0]]).toEqual([125, 100]);
    expect([axes.storageTb[0], axes.storageTb[12]]).toEqual([41.5, 81.5]);
    expect([axes.readGbPerS[0], axes.writeGbPerS[0], axes.storageClients[0]]).toEqual([4, 2.5, 16]);
  });

  it("sizes retrieval, images and embeddings", () => {
    const traffic = { owner: "cy", model: "small", users: 86_400, requestsPerUserDay: 1, peak: 4, spreadPct: 0 };
    const answer = sized([
      { kind: "embedding", name: "e", owner: "cy", model: "reader", tokensPerDay: 8.64e7, peak: 2, spreadPct: 0 },
      {
        ...traffic,
        kind: "rag",
        name: "r",
        promptTokens: 100,
        outputTokens: 10,
        documents: 1e8,
        embeddingModel: "reader",
        refreshesPerYear: 0,
      },
      { ...traffic, kind: "multimodal", name: "m", promptTokens: 100, outputTokens: 10, imagesPerRequest: 2 },
    ]);
    if (answer.kind !== "sized") throw new Error(answer.reason);
    const [reading, retrieval, images] = answer.demand.entries;
    expect(reading!.accelerators[0]).toBeCloseTo(2, 9);
    // Two accelerators answer; 400 tokens of questions a second take 0.4 of an accelerator.
    expect(retrieval!.accelerators[0]).toBeCloseTo(2.4, 9);
    // 195,312,500 vectors of 1,024 dimensions with their graph, and 100 billion tokens of text.
    expect(retrieval!.storage.capacityTb).toBeCloseTo(0.1 + 1.2 + 0.4, 6);
    // 172,800 images of 500 kB a day, kept for 30 days.
    expect(images!.storage.capacityTb).toBeCloseTo(0.1 + 2.592, 6);
    // A billion tokens 31.536 times a year are 1,000 a second.
    const corpus = { documents: 1e6, tokensPerDocument: 1_000, refreshesPerYear: 31.536 };
    const kept = sized([{ kind: "embedding", name: "k", owner: "cy", model: "reader", peak: 9, ...corpus }]);
    if (kept.kind !== "sized") throw new Error(kept.reason);
    expect(kept.demand.entries[0]?.accelerators[0]).toBeCloseTo(1, 9);
    const unknown = sized([{ kind: "embedding", name: "x", owner: "cy", model: "odd", tokensPerDay: 5 }]);
    expect(unknown).toMatchObject({ kind: "impossible", reason: "no figures for odd" });
  });

  it("sums teams, projects and endpoints, from their months on", () => {
    const answer = sized([
      { kind: "team", name: "lab", owner: "ann", accelerators: 100, growthPct: 50, spreadPct: 0 },
      // 8,766 hours a run, once a year, at half useful time: two accelerators.
      {
        kind: "project",
        name: "p",
        owner: "bo",
        model: "small",
        tokens: 8.766e9,
        runsPerYear: 1,
        from: "2027-07",
        spreadPct: 0,
      },
      {
        kind: "endpoint",
        name: "e",
        owner: "cy",
        model: "small",
        users: 86_400,
        requestsPerUserDay: 1,
        peak: 4,
        promptTokens: 100,
        outputTokens: 10,
        from: "2027-03",
        to: "2027-04",
        spreadPct: 0,
      },
    ]);
    if (answer.kind !== "sized") throw new Error(answer.reason);
    const { p10, p50, p95 } = answer.demand;
    expect([p50[0], p50[2], p50[12]]).toEqual([100, 109, 152]);
    expect([p10, p95]).toEqual([p50, p50]);
    expect(answer.demand.entries.map(({ owner }) => owner)).toEqual(["ann", "bo", "cy"]);
  });

  it("has a project that is unlikely above the median only", () => {
    const answer = sized([
      { kind: "team", name: "lab", owner: "ann", accelerators: 10, spreadPct: 0 },
      { kind: "team", name: "maybe", owner: "bo", accelerators: 90, probabilityPct: 20, spreadPct: 0 },
    ]);
    expect(answer).toMatchObject({ kind: "sized", demand: { p50: Array(13).fill(10), p95: Array(13).fill(100) } });
  });

  it("names the entry that cannot be sized, and refuses entries without an owner", () => {
    const project = { kind: "project", name: "p", owner: "bo", model: "huge", tokens: 1e9, runsPerYear: 1 };
    expect(sized([project])).toEqual({ kind: "impossible", entry: "p", reason: "no plan fits huge" });
    expect(() => sized([{ ...project, owner: undefined }])).toThrow("owner");
  });
});
