/** The admin address explains requests, and states usage and limits of teams. */
import { hash } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { MockUpstream } from "../testing/mock-upstream.ts";
import { chat, testGateway, type TestGateway } from "../testing/test-gateway.ts";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function started(statuses: readonly (number | undefined)[]): Promise<TestGateway> {
  const urls: string[] = [];
  for (const status of statuses) {
    const mock = new MockUpstream(status === undefined ? {} : { status });
    urls.push(await mock.start());
    cleanups.push(() => mock.kill());
  }
  const gateway = await testGateway(
    `teams: [{ name: a, budget: 9 USD/day, requestsPerMinute: 3, keys: [{ name: k, sha256: ${hash("sha256", "secret")} }] }]\n` +
      `pools: [{ name: p, engine: vllm, routing: round-robin, price: { output: 2 }, replicas: [${urls.join(", ")}] }]\nmodels: [{ name: m, pools: [p] }]\n`,
  );
  cleanups.push(() => gateway.stop());
  return gateway;
}

describe("the explanation of a request", () => {
  it("has each attempt with its reason and outcome, the reservation and the usage", async () => {
    const gateway = await started([503, undefined]);
    const ids: string[] = [];
    for (let turn = 0; turn < 4; turn++) {
      const response = await chat(gateway.url, { max_tokens: 5 }, "secret");
      await response.text();
      ids.push(response.headers.get("x-request-id") ?? "");
    }
    const explained = await Promise.all(
      ids.map(async (id) => (await (await gateway.admin(`/v1/requests/${id}`)).json()) as { attempts: unknown[] }),
    );
    const retried = explained.find(({ attempts }) => attempts.length === 2);
    expect(retried).toMatchObject({
      source: "memory",
      reserved: [
        { kind: "requests", limit: 3, amount: 1 },
        { kind: "money", limit: 9e9 },
      ],
      attempts: [
        { kind: "first", pool: "p", status: 503, outcome: "failed", decision: { ground: "round robin", replicas: 2 } },
        { kind: "retry", pool: "p", status: 200, outcome: "completed" },
      ],
      usage: { team: "a", key: "k", outcome: "completed" },
    });
    expect(explained[3]).toMatchObject({ refusal: { kind: "rateLimited" }, attempts: [] });
    expect(JSON.stringify(explained)).not.toContain("one two three");
    const gone = await gateway.admin("/v1/requests/gateway-9-1");
    expect(gone.status).toBe(404);
    expect(await gone.text()).toMatch(/keeps its last 5000 requests in memory; now 4, back to \d{4}-/);
    expect((await fetch(`${gateway.adminUrl!}/v1/requests/${ids[0]!}`)).status).toBe(401);
    const { requests } = (await (await gateway.admin("/v1/requests?outcome=failed")).json()) as { requests: object[] };
    expect(requests).toMatchObject([{ usage: { id: ids[3] } }]);
  });

  it("is the usage record when the memory is gone, and strangers push nothing out", async () => {
    const gateway = await started([undefined]);
    const response = await chat(gateway.url, {}, "secret");
    await response.text();
    const id = response.headers.get("x-request-id")!;
    for (let turn = 0; turn < 20; turn++) await chat(gateway.url, {}, "wrong");
    expect(await (await gateway.admin(`/v1/requests/${id}`)).json()).toMatchObject({ source: "memory" });
    await gateway.close();
    const again = await testGateway(
      "access: open\npools: [{ name: p, replicas: ['http://127.0.0.1:9'] }]\nmodels: [{ name: m, pools: [p] }]\n",
      gateway.state,
    );
    cleanups.push(() => again.stop());
    expect(await (await again.admin(`/v1/requests/${id}`)).json()).toMatchObject({ source: "usage", usage: { id } });
  });
});

describe("metrics by team and key", () => {
  it("count requests, tokens and money, and state limits and what is left", async () => {
    const gateway = await started([undefined]);
    for (let turn = 0; turn < 4; turn++) await (await chat(gateway.url, { max_tokens: 5 }, "secret")).text();
    const text = await (await fetch(`${gateway.adminUrl!}/metrics`)).text();
    expect(text).toContain('headroom_gateway_team_requests_total{team="a",key="k",outcome="completed"} 3');
    expect(text).toContain('headroom_gateway_team_requests_total{team="a",key="k",outcome="limited"} 1');
    expect(text).toContain('headroom_gateway_team_tokens_total{team="a",key="k",type="output"} 15');
    expect(text).toMatch(/headroom_gateway_team_cost_usd_total\{team="a",key="k"\} 0\.00003\b|3e-5/);
    expect(text).toContain('headroom_gateway_team_limit{team="a",kind="requests"} 3');
    expect(text).toContain('headroom_gateway_team_limit_used{team="a",kind="requests"} 3');
    expect(text).toContain('headroom_gateway_team_budget_usd{team="a",period="day"} 9');
    expect(text).toMatch(/headroom_gateway_team_budget_remaining_usd\{team="a",period="day"\} 8\.99997/);
    const { limits } = (await (await gateway.admin("/v1/limits")).json()) as { limits: object[] };
    expect(limits).toContainEqual(expect.objectContaining({ team: "a", kind: "money", limit: 9, period: "day" }));
  });
});
