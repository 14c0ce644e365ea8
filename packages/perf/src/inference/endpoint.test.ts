import { describe, expect, it } from "vitest";

import { fittedInference as k } from "../constants-inference.ts";
import { coldStart } from "./cold-start.ts";
import { cheapestDisaggregated, planDisaggregated } from "./disaggregated-endpoint.ts";
import type { DisaggregatedPlan } from "./disaggregated-endpoint.ts";
import { planEndpoint } from "./endpoint.ts";
import type { EndpointQuestion } from "./endpoint.ts";
import { obstacles } from "./feasibility.ts";
import { latencyQuantile } from "./queueing.ts";
import { servingFormats } from "./quantization.ts";
import { currentEngine } from "./replica.ts";
import { serve } from "./serve.ts";
import { accelerator, layout, model, replicaOf } from "./testing/replicas.ts";

const question: EndpointQuestion = {
  model: model("llama-3-70b"),
  accelerator: accelerator("H100"),
  formats: servingFormats("fp8"),
  engine: currentEngine,
  request: { promptTokens: 2000, outputTokens: 400, prefixHitShare: 0.3 },
  requestsPerS: 20,
  objective: { ttftMs: 1500, tpotMs: 40, share: 0.95 },
  pricePerAcceleratorHour: 2.5,
};

const relaxed = { ttftMs: 5000, tpotMs: 40, share: 0.95 };

describe("an endpoint", () => {
  const answer = planEndpoint(question, k);

  it("has plans that keep the objective at its rate, cheapest first", () => {
    if (answer.kind !== "plans") throw new Error(answer.kind);
    expect(answer.plans.length).toBeGreaterThan(1);
    for (const plan of answer.plans) {
      const load = { requestsPerS: question.requestsPerS / plan.replicaCount, share: question.objective.share };
      const latency = latencyQuantile(plan.replica, question.request, load, k);
      expect(latency?.ttftMs).toBeLessThanOrEqual(question.objective.ttftMs);
      expect(latency?.tpotMs).toBeLessThanOrEqual(question.objective.tpotMs);
    }
    const costs = answer.plans.map((plan) => plan.costPerHour);
    expect(costs).toEqual(costs.toSorted((a, b) => a - b));
  });

  it("costs what its accelerators cost, over the tokens that it gives", () => {
    if (answer.kind !== "plans") throw new Error(answer.kind);
    const [plan] = answer.plans;
    if (plan === undefined) throw new Error("no plan");
    expect(plan.costPerHour).toBeCloseTo(plan.acceleratorCount * 2.5, 9);
    expect(plan.costPerMillionOutputTokens).toBeCloseTo(plan.costPerHour / ((20 * 400 * 3600) / 1e6), 9);
  });

  it("needs one replica fewer at most when it has one request a second less", () => {
    const counts = [5, 10, 20, 40, 80].map((requestsPerS) => {
      const at = planEndpoint({ ...question, requestsPerS, layouts: [layout(4)] }, k);
      return at.kind === "plans" ? (at.plans[0]?.replicaCount ?? 0) : 0;
    });
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(counts.at(-1)).toBeGreaterThan(counts[0] ?? 0);
  });

  it("that nothing can keep tells what an idle replica would reach", () => {
    const wish = { ...question, formats: servingFormats("bf16"), objective: { ttftMs: 1500, tpotMs: 1, share: 0.95 } };
    const impossible = planEndpoint(wish, k);
    expect(impossible.kind).toBe("impossible");
    if (impossible.kind !== "impossible") return;
    const reasons = impossible.rejected.map(({ reason }) => reason).join("\n");
    expect(reasons).toMatch(/an idle replica reaches \d+ ms and \d+\.\d ms/);
    expect(reasons).toMatch(/weights take .* GiB per accelerator and leave no room for a cache/);
  });
});

describe("an endpoint with prompts and answers apart", () => {
  const layouts = { prefill: layout(2), decode: layout(4) };
  const plan = (change: Partial<EndpointQuestion> = {}): DisaggregatedPlan => {
    const answer = planDisaggregated({ ...question, ...change }, layouts, k);
    if (answer.kind !== "plan") throw new Error(answer.reason);
    return answer;
  };

  it("keeps the objective, and one worker fewer of either kind would not", () => {
    const found = plan({ requestsPerS: 100 });
    expect(found.latency.ttftMs).toBeLessThanOrEqual(question.objective.ttftMs);
    expect(found.latency.tpotMs).toBeLessThanOrEqual(question.objective.tpotMs);
    expect(found.acceleratorCount).toBe(found.prefillCount * 2 + found.decodeCount * 4);
    expect(found.costPerHour).toBeCloseTo(found.acceleratorCount * 2.5, 9);
    // With this higher rate, each of the two stages needs at least one worker more.
    const more = plan({ requestsPerS: 100 * (1 + 1 / found.decodeCount + 1 / found.prefillCount) });
    expect(more.prefillCount).toBeGreaterThan(found.prefillCount);
    expect(more.decodeCount).toBeGreaterThan(found.decodeCount);
  });

  it("takes the layout of fewest accelerators for each stage, whichever the others are", () => {
    const all = [1, 2, 4, 8].map((tensor) => layout(tensor));
    const best = cheapestDisaggregated({ ...question, requestsPerS: 100, layouts: all }, k);
    const counts = all.flatMap((prefill) =>
      all.flatMap((decode) => {
        const each = planDisaggregated({ ...question, requestsPerS: 100 }, { prefill, decode }, k);
        return each.kind === "plan" ? [each.acceleratorCount] : [];
      }),
    );
    expect(best).toMatchObject({ kind: "plan", acceleratorCount: Math.min(...counts) });
  });

  it("needs prefill for long prompts and decode for long answers", () => {
    const plain = plan();
    const prompts = plan({ request: { ...question.request, promptTokens: 12_000 }, objective: relaxed });
    const answers = plan({ request: { ...question.request, outputTokens: 4000 } });
    expect(prompts.prefillCount).toBeGreaterThan(2 * plain.prefillCount);
    expect(answers.decodeCount).toBeGreaterThan(2 * plain.decodeCount);
    expect(answers.prefillCount).toBe(plain.prefillCount);
  });

  it("says what an idle worker takes where the objective is out of reach", () => {
    const answer = planDisaggregated({ ...question, objective: { ...relaxed, tpotMs: 1 } }, layouts, k);
    expect(answer.kind === "impossible" && answer.reason).toMatch(/an idle decode worker takes \d+\.\d ms per token/);
  });
});

describe("what cannot run says why, and what would", () => {
  const request = { promptTokens: 1000, outputTokens: 100, prefixHitShare: 0 };
  const at = (name: string, on: string, shape: ReturnType<typeof layout>): ReturnType<typeof obstacles> =>
    obstacles(replicaOf(name, on, shape), request);

  it.each([
    ["llama-3-70b", layout(3), "tensor 3 does not divide the 64 attention heads; 2 does", { tensor: 2 }],
    ["llama-3-70b", layout(0), "tensor is 0: it must be a whole number from 1", { tensor: 1 }],
    ["llama-3-8b", layout(1, { pipeline: 40 }), "pipeline 40 is more than the 32 layers", { pipeline: 32 }],
    ["llama-3-8b", layout(2, { expert: 2 }), "llama-3-8b has no experts to divide over 2 accelerators", { expert: 1 }],
    ["deepseek-v3", layout(8, { expert: 16 }), "expert 16 is more than the 8 accelerators of a stage", { expert: 8 }],
  ])("%s with %j", (name, shape, message, nearest) => {
    expect(at(name, "H100", shape)).toEqual([expect.objectContaining({ message, nearest })]);
  });

  it("a model that does not fit names the width at which it does", () => {
    const [obstacle] = at("llama-3-70b", "H100", layout(1));
    expect(obstacle?.kind).toBe("weights");
    expect(obstacle?.nearest).toEqual({ tensor: 2 });
    expect(at("llama-3-70b", "H100", layout(2))).toEqual([]);
    expect(at("glm-5", "RTX-4090", layout(1))[0]?.message).toMatch(/no tensor width up to 64 fits/);
  });

  it("a request longer than the model's positions is refused", () => {
    const long = { promptTokens: 200_000, outputTokens: 1, prefixHitShare: 0 };
    expect(obstacles(replicaOf("llama-3-8b", "H200", layout(1)), long)[0]?.kind).toBe("length");
  });

  it("an accelerator of which nothing is known is not guessed at", () => {
    const answer = serve(replicaOf("llama-3-8b", "TPU v5p", layout(1)), request, { kind: "concurrency", requests: 4 });
    expect(answer.kind).toBe("unknown");
    if (answer.kind === "unknown") expect(answer.reasons[0]?.message).toMatch(/no serving run of TPU-v5p/);
  });

  it("a batch that does not fit, and a load that is none", () => {
    const replica = replicaOf("llama-3-70b", "H100", layout(4));
    const batch = serve(replica, request, { kind: "batch", sequences: 5000 });
    expect(batch.kind === "impossible" && batch.obstacles[0]?.message).toMatch(/5000 sequences do not fit together/);
    expect(serve(replica, request, { kind: "rate", requestsPerS: 0 }).kind).toBe("impossible");
    expect(serve(replica, request, { kind: "rate", requestsPerS: 1e5 }).kind).toBe("overloaded");
    expect(serve(replica, request, { kind: "rate", requestsPerS: 1 }).kind).toBe("prediction");
  });
});

describe("a cold start", () => {
  const path = {
    provisioningS: 60,
    imageGb: 12,
    imageGbPerS: 0.5,
    weightsGbPerS: 5,
    simultaneousReplicas: 1,
    storageGbPerS: 100,
    hostLinkGbPerS: 25,
    acceleratorsPerNode: 8,
    isCompiledBefore: false,
  };
  const replica = replicaOf("llama-3-70b", "H100", layout(4));

  it("is the sum of its parts", () => {
    const start = coldStart(replica, path);
    const { totalS, ...parts } = start;
    expect(Object.values(parts).reduce((sum, value) => sum + value, 0)).toBeCloseTo(totalS, 9);
    // The weights have 141 GB, and one node reads 5 GB/s.
    expect(start.weightsS).toBeCloseTo(141.1 / 5, 0);
    expect(start.imageS).toBe(24);
  });

  it("takes as long as the narrowest way, and longer when many start from the same storage", () => {
    const local = coldStart(replica, { ...path, weightsGbPerS: 1000 });
    expect(local.weightsS).toBeCloseTo(141.1 / 4 / 25, 1);
    const storm = coldStart(replica, { ...path, simultaneousReplicas: 40 });
    expect(storm.weightsS).toBeCloseTo((141.1 * 40) / 100, 0);
  });
});
