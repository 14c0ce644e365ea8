import { readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { loadConfig } from "../config/load.ts";
import { settleUsage, usageStart } from "../usage/reader.ts";
import { MockUpstream, type MockOptions } from "../testing/mock-upstream.ts";
import { chat, testGateway, type TestGateway } from "../testing/test-gateway.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function upstream(options: MockOptions = {}): Promise<MockUpstream> {
  const mock = new MockUpstream(options);
  await mock.start();
  cleanups.push(() => mock.kill().catch(() => undefined));
  return mock;
}

async function start(yaml: string): Promise<TestGateway> {
  const gateway = await testGateway(yaml);
  cleanups.push(() => gateway.stop());
  return gateway;
}

const model = "models: [{ name: m, pools: [p] }]\n";
const openTo = (replicas: readonly MockUpstream[], more = ""): string =>
  `access: open\npools: [{ name: p, engine: vllm, probe: { interval: 100ms }, replicas: [${replicas.map(({ url }) => url).join(", ")}] ${more}}]\n${model}`;

describe("a pool at zero", () => {
  it("is woken by one command; held requests are all answered", async () => {
    const sleeping = await upstream();
    // A command that prints the replica's address after a while and counts how often it was run.
    const script = `require("fs").appendFileSync(process.argv[1],"x");setTimeout(()=>console.log(process.argv[2]),300)`;
    const runs = path.join("/tmp", `headroom-wake-${process.pid}`);
    const gateway = await start(
      `access: open\npools: [{ name: p, engine: vllm, probe: { interval: 100ms }, wake: { command: [${JSON.stringify(process.execPath)}, -e, ${JSON.stringify(script)}, ${runs}, "${sleeping.url}"] } }]\n${model}`,
    );
    const statuses = await Promise.all(Array.from({ length: 300 }, async () => (await chat(gateway.url, {})).status));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(readFileSync(runs, "utf8")).toBe("x");
    rmSync(runs);
  });

  it("refuses with Retry-After when its queue is full or the command fails", async () => {
    const gateway = await start(
      `access: open\npools: [{ name: p, engine: vllm, wake: { command: ["sh", "-c", "sleep 0.3; exit 3"], holdRequestsMax: 2 } }]\n${model}`,
    );
    const responses = await Promise.all([chat(gateway.url, {}), chat(gateway.url, {}), chat(gateway.url, {})]);
    expect(responses.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(responses.every((response) => Number(response.headers.get("retry-after")) > 0)).toBe(true);
    expect(gateway.logged.join("\n")).toContain("code 3");
  });

  it("lets another pool take requests meanwhile, where the model says so", async () => {
    const provider = await upstream();
    const gateway = await start(
      `access: open\npools: [{ name: p, engine: vllm, wake: { command: [sleep, "5"] } }, { name: q, replicas: [${provider.url}] }]\n` +
        "models: [{ name: m, pools: [p, { pool: q, model: other, when: [waking] }] }]\n",
    );
    expect((await chat(gateway.url, {})).status).toBe(200);
    expect(provider.lastBody?.model).toBe("other");
  });
});

describe("replicas that come and go", () => {
  it("are killed under load without a failed request", async () => {
    const replicas = [await upstream({ delayMs: 5 }), await upstream({ delayMs: 5 }), await upstream({ delayMs: 5 })];
    const gateway = await start(openTo(replicas));
    const statuses: number[] = [];
    const worker = async (): Promise<void> => {
      for (let count = 0; count < 40; count++) statuses.push((await chat(gateway.url, {})).status);
    };
    const load = Promise.all(Array.from({ length: 16 }, worker));
    await new Promise((resolve) => setTimeout(resolve, 60));
    await replicas[0]!.kill();
    await replicas[1]!.kill();
    await load;
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
  });

  it("are drained: streams go on, new requests go elsewhere", async () => {
    const [old, other] = [await upstream({ everyMs: 20, tokens: 20 }), await upstream()];
    const gateway = await start(openTo([old]));
    const stream = chat(gateway.url, { stream: true });
    await expect.poll(() => old.requestCount).toBe(1);
    await gateway.reload(openTo([other]));
    expect((await chat(gateway.url, {})).status).toBe(200);
    expect([old.requestCount, other.requestCount]).toEqual([1, 1]);
    expect(await (await stream).text()).toContain("t19 ");
    const { replicas } = (await (await gateway.admin("/replicas")).json()) as { replicas: { id: string }[] };
    await gateway.admin(`/drain?pool=p&replica=${replicas[0]!.id}`, {});
    expect((await chat(gateway.url, {})).status).toBe(503);
  });

  it("are left alone by the circuit breaker, and tried again later", async () => {
    const broken = await upstream({ status: 503 });
    const gateway = await start(openTo([broken], ", breaker: { failures: 3, openFor: 200ms }, attempts: 1"));
    for (let count = 0; count < 10; count++) await chat(gateway.url, {});
    expect(broken.requestCount).toBe(3);
    broken.options = {};
    await expect.poll(async () => (await chat(gateway.url, {})).status).toBe(200);
  });

  it("are hedged: a slow one loses to the second", async () => {
    const slow = await upstream({ delayMs: 10_000 });
    const gateway = await start(openTo([slow, await upstream()], ", routing: round-robin, hedgeAfter: 50ms"));
    const statuses = await Promise.all(Array.from({ length: 4 }, async () => (await chat(gateway.url, {})).status));
    expect(statuses).toEqual([200, 200, 200, 200]);
    await expect.poll(() => slow.cancelledCount).toBe(slow.requestCount);
  });
});

describe("attempts", () => {
  it.each([429, 500, 502, 503, 504])("after a status of %d go on at another replica", async (status) => {
    const [failing, good] = [await upstream({ status }), await upstream()];
    const more = ", routing: round-robin, breaker: { failures: 1000 }";
    const gateway = await start(openTo([failing, good], more));
    for (let turn = 0; turn < 4; turn++) expect((await chat(gateway.url, {})).status).toBe(200);
    expect((await chat(gateway.url, { stream: true })).status).toBe(200);
    expect(failing.requestCount).toBeGreaterThan(0);
  });

  it("after a 500 end where the replica may have stored a response, and after a status that would be the same again", async () => {
    const failing = await upstream({ status: 500 });
    const gateway = await start(
      `access: open\npools: [{ name: p, engine: vllm, protocols: [responses], replicas: [${failing.url}], breaker: { failures: 1000 } }, { name: q, engine: vllm, replicas: [${failing.url}], breaker: { failures: 1000 } }]\n` +
        "models: [{ name: m, pools: [p, q] }]\n",
    );
    const send = async (target: string): Promise<number> => {
      failing.requestCount = 0;
      const body = '{"model":"m","input":"a","messages":[]}'.replace(
        target === "responses" ? ',"messages":[]' : '"input":"a",',
        "",
      );
      const { status } = await fetch(`${gateway.url}/v1/${target}`, { method: "POST", body });
      expect(status).toBe(failing.options.status);
      return failing.requestCount;
    };
    expect(await send("responses")).toBe(1);
    expect(await send("chat/completions")).toBe(2);
    for (const status of [400, 404, 422, 501]) {
      failing.options = { status };
      expect(await send("chat/completions")).toBe(1);
    }
  });

  it("of a hedged request: a refusal does not beat an answer", async () => {
    const slow = await upstream({ delayMs: 300 });
    const refusing = await upstream({ status: 503 });
    const gateway = await start(
      openTo([slow, refusing], ", routing: round-robin, hedgeAfter: 50ms, breaker: { failures: 1000 }"),
    );
    const statuses = await Promise.all(Array.from({ length: 4 }, async () => (await chat(gateway.url, {})).status));
    expect(statuses).toEqual([200, 200, 200, 200]);
  });

  it("in one pool are bounded, also on the way to the next pool", async () => {
    const full = await Promise.all(Array.from({ length: 6 }, () => upstream({ status: 429 })));
    const provider = await upstream();
    const gateway = await start(
      `access: open\npools: [{ name: p, engine: vllm, attempts: 2, replicas: [${full.map(({ url }) => url).join(", ")}] }, { name: q, replicas: [${provider.url}] }]\n` +
        "models: [{ name: m, pools: [p, q] }]\n",
    );
    expect((await chat(gateway.url, {})).status).toBe(200);
    expect(full.reduce((sum, { requestCount }) => sum + requestCount, 0)).toBe(2);
  });

  it("go on in a pool that was reached for another reason", async () => {
    const [gone, good] = [await upstream(), await upstream()];
    const asleep = await upstream();
    const pools = (down: MockUpstream): string =>
      `access: open\npools: [{ name: p, engine: vllm, replicas: [${asleep.url}] }, { name: q, routing: round-robin, replicas: [${down.url}, ${good.url}] }]\n` +
      "models: [{ name: m, pools: [p, { pool: q, when: [unavailable] }] }]\n";
    const gateway = await start(pools(gone));
    const id = new URL(asleep.url).host;
    await gateway.admin(`/drain?pool=p&replica=${id}`, {});
    await gone.kill();
    for (let turn = 0; turn < 3; turn++) expect((await chat(gateway.url, {})).status).toBe(200);
  });

  it("at a provider that refuses the gateway's key tell the client nothing of it", async () => {
    process.env["HEADROOM_TEST_KEY"] = "sk-secret";
    const provider = await upstream({ status: 401 });
    const gateway = await start(
      `access: open\npools: [{ name: p, replicas: [${provider.url}], key: { env: HEADROOM_TEST_KEY } }]\n${model}`,
    );
    const response = await chat(gateway.url, {});
    expect(response.status).toBe(502);
    expect(await response.text()).not.toContain("mock");
    expect(provider.lastHeaders.authorization).toBe("Bearer sk-secret");
  });

  it("at a provider keep the operator's account from the client", async () => {
    const server = createServer((request, response) => {
      request.resume();
      response.setHeader("OpenAI-Organization", "org-1").setHeader("server", "edge");
      response.setHeader("x-ratelimit-remaining-requests", "9").setHeader("x-kept", "1").end("{}");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => new Promise((resolve) => server.close(() => resolve())));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const gateway = await start(`access: open\npools: [{ name: p, engine: openai, replicas: ["${url}"] }]\n${model}`);
    const { headers } = await chat(gateway.url, {});
    expect(headers.get("x-kept")).toBe("1");
    for (const name of ["openai-organization", "server", "x-ratelimit-remaining-requests"])
      expect(headers.has(name), name).toBe(false);
  });

  it("of an inference request name the model as the replica knows it", async () => {
    const paths: string[] = [];
    const server = createServer((request, response) => {
      paths.push(request.url ?? "");
      request.resume();
      response.end('{"outputs":[]}');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => new Promise((resolve) => server.close(() => resolve())));
    const { port } = server.address() as AddressInfo;
    const gateway = await start(
      `access: open\npools: [{ name: p, replicas: ["http://127.0.0.1:${port}"] }]\nmodels: [{ name: m, aliases: [n], pools: [{ pool: p, model: ranker/large }] }]\n`,
    );
    const statusAt = async (target: string): Promise<number> =>
      (await fetch(gateway.url + target, { method: "POST", body: "{}" })).status;
    expect(await statusAt("/v2/models/n/infer")).toBe(200);
    expect(await statusAt("/v2/models/m/versions/2/infer")).toBe(200);
    expect(await statusAt("/v2/models/m/versions/..%2f..%2fother/infer")).toBe(404);
    expect(paths).toEqual(["/v2/models/ranker%2Flarge/infer", "/v2/models/ranker%2Flarge/versions/2/infer"]);
  });
});

describe("a wake command", () => {
  const waking = (command: string, more = ""): string =>
    `access: open\npools: [{ name: p, engine: vllm, wake: { command: [sh, -c, ${JSON.stringify(command)}]${more} } }]\n${model}`;

  it("that fails does not run again for each request", async () => {
    const runs = path.join("/tmp", `headroom-wake-fails-${process.pid}`);
    const gateway = await start(waking(`echo x >> ${runs}; exit 3`));
    for (let turn = 0; turn < 8; turn++) {
      const response = await chat(gateway.url, {});
      expect(response.status).toBe(503);
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    const text = readFileSync(runs, "utf8");
    rmSync(runs);
    expect(text.split("\n").length - 1).toBe(1);
  });

  it("that does not exist is named to the operator only", async () => {
    const gateway = await start(
      `access: open\npools: [{ name: p, engine: vllm, wake: { command: [/srv/none/start] } }]\n${model}`,
    );
    expect(await (await chat(gateway.url, {})).text()).not.toMatch(/srv|ENOENT/);
    expect(gateway.logged.join("\n")).toContain("/srv/none/start");
  });

  it("that hangs is ended at its deadline", async () => {
    const pid = path.join("/tmp", `headroom-wake-hangs-${process.pid}`);
    const gateway = await start(waking(`echo $$ > ${pid}; exec sleep 600`, ", timeout: 200ms"));
    expect((await chat(gateway.url, {})).status).toBe(503);
    const child = Number(readFileSync(pid, "utf8"));
    rmSync(pid);
    const isAlive = (): boolean => {
      try {
        return process.kill(child, 0);
      } catch {
        return false;
      }
    };
    await expect.poll(isAlive).toBe(false);
  });
});

describe("a gateway that ends", () => {
  it("lets streams end and settles every request once", async () => {
    const mock = await upstream({ everyMs: 10, tokens: 20 });
    const gateway = await testGateway(openTo([mock]));
    const streams = Array.from({ length: 5 }, async () => (await chat(gateway.url, { stream: true })).text());
    await expect.poll(() => mock.requestCount).toBe(5);
    await gateway.close();
    for (const text of await Promise.all(streams)) expect(text).toContain("[DONE]");
    const { records } = settleUsage(path.join(gateway.state, "gateway", "usage"), usageStart);
    expect(records.map(({ completionTokens }) => completionTokens)).toEqual([20, 20, 20, 20, 20]);
  });
});

/** Sends bytes on a bare connection and returns everything that comes back until the connection ends. */
function raw(gateway: TestGateway, bytes: readonly (string | Buffer)[], isHalfClosed = false): Promise<string> {
  const { hostname, port } = new URL(gateway.url);
  return new Promise((resolve) => {
    let text = "";
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    socket.on("error", () => resolve(text));
    socket.on("close", () => resolve(text));
    socket.on("end", () => socket.end());
    for (const piece of bytes) socket.write(piece);
    if (isHalfClosed) socket.end();
  });
}

describe("bad input", () => {
  it("gets the protocol's error, within bounds", async () => {
    const mock = await upstream();
    const gateway = await start(
      `bounds: { body: 100KiB, headTimeout: 300ms, bodyTimeout: 300ms, shutdownTimeout: 1s }\n${openTo([mock])}`,
    );
    const head = (length: number): string =>
      `POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: ${length}\r\n\r\n`;
    const big = await raw(gateway, [head(100_000_000), Buffer.alloc(1 << 20)]);
    expect(big).toMatch(/^HTTP\/1\.1 413 [\s\S]*"code":"request_too_large"/);
    const flood = await raw(gateway, [`GET / HTTP/1.1\r\nhost: h\r\n${"a: b\r\n".repeat(10_000)}\r\n`]);
    expect(flood).toMatch(/^HTTP\/1\.1 431 /);
    const slowHead = await raw(gateway, ["POST /v1/messages HTTP/1.1\r\n"]);
    expect(slowHead).toMatch(/^HTTP\/1\.1 408 /);
    const slowBody = await raw(gateway, [head(500), "{"]);
    expect(slowBody).toMatch(/^HTTP\/1\.1 408 [\s\S]*"code":"request_timeout"/);
    expect(await raw(gateway, [head(500), "{"], true)).toBe("");
    const broken = await chat(gateway.url, { messages: undefined, model: 7 });
    expect([broken.status, await broken.json()]).toMatchObject([400, { error: { type: "invalid_request_error" } }]);
    const doubled = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      body: '{"model":"m","mod\\u0065l":"x"}',
    });
    expect(doubled.status).toBe(400);
    expect(mock.requestCount).toBe(0);
    const metrics = await (await fetch(`${gateway.adminUrl!}/metrics`)).text();
    expect(metrics).toContain("headroom_gateway_body_bytes 0\n");
  });
});

describe("a configuration", () => {
  it("is refused with the line and column of every problem", () => {
    const yaml = `pools:
  - name: a
    engine: vlm
    replicas: [ftp://x]
models:
  - name: m
    pools: [a, b]
    price: { inputs: 3 }
teams:
  - name: t
    tokensPerMinute: -4
`;
    const loaded = loadConfig(yaml);
    const lines =
      "problems" in loaded ? loaded.problems.map(({ line, column, message }) => `${line}:${column} ${message}`) : [];
    expect(lines).toEqual([
      "3:13 pools[0].engine must be one of openai, anthropic, vllm, sglang, llamacpp, trtllm, triton, headroom",
      "4:16 pools[0].replicas[0] must be an http or https URL without user, query or fragment",
      "8:14 models[0].price.inputs is not a field of gateway.yaml",
      "11:22 teams[0].tokensPerMinute must be at least 1",
    ]);
    const named = loadConfig(
      "access: open\npools: [{ name: a, replicas: [http://h] }]\nmodels: [{ name: m, pools: [b] }]\n",
    );
    expect("problems" in named && named.problems).toEqual([
      { line: 3, column: 29, message: "models[0].pools[0] names the pool b, which is not defined" },
    ]);
  });
});

describe("a configuration with fields that a running gateway does not take over", () => {
  it("is applied, and says once which fields need a restart", async () => {
    const mock = await upstream();
    const gateway = await start(openTo([mock]));
    const said = (): readonly string[] => gateway.logged.filter((line) => line.includes("started again"));
    await gateway.reload(openTo([mock], ", attempts: 2"));
    expect(said()).toEqual([]);
    const changed = `bounds: { shutdownTimeout: 3s, connections: 50 }\nadminHosts: [gateway.example]\n${openTo([mock])}`;
    await gateway.reload(changed);
    await gateway.reload(changed);
    expect(said()).toEqual([
      "takes effect when the gateway is started again: adminHosts, bounds.connections, bounds.shutdownTimeout",
    ]);
  });
});

describe("a configuration that cannot be applied whole", () => {
  it("changes nothing", async () => {
    const [old, other] = [await upstream(), await upstream()];
    const gateway = await start(openTo([old]));
    const broken = `access: open\npools: [{ name: p, engine: vllm, replicas: [${other.url}] }, { name: q, replicas: [${other.url}], key: { env: HEADROOM_NO_SUCH_KEY } }]\nmodels: [{ name: m, pools: [q] }]\n`;
    await expect(gateway.reload(broken)).rejects.toThrow("HEADROOM_NO_SUCH_KEY");
    expect((await chat(gateway.url, {})).status).toBe(200);
    expect([old.requestCount, other.requestCount]).toEqual([1, 0]);
  });

  it("is refused where a pool has a replica twice", () => {
    const loaded = loadConfig(
      `access: open\npools: [{ name: p, replicas: ["http://a:1", "http://a:1/v1"] }]\n${model}`,
    );
    expect(loaded).toMatchObject({ problems: [{ line: 2, message: expect.stringContaining("twice") as string }] });
    const byAlias = loadConfig(
      'access: open\nteams: [{ name: t, models: [n] }]\npools: [{ name: p, replicas: ["http://a:1"] }]\nmodels: [{ name: m, aliases: [n], pools: [p] }]\n',
    );
    expect(byAlias).toMatchObject({ problems: [{ line: 2, message: expect.stringContaining("an alias") as string }] });
  });
});

describe("a gateway that stops", () => {
  it("bills what it cuts off", async () => {
    const mock = await upstream({ delayMs: 60_000 });
    const gateway = await testGateway(`bounds: { shutdownTimeout: 1ms }\n${openTo([mock])}`);
    const request = chat(gateway.url, {}).catch(() => undefined);
    await expect.poll(() => mock.requestCount).toBe(1);
    await gateway.close();
    await request;
    const { records } = settleUsage(path.join(gateway.state, "gateway", "usage"), usageStart);
    expect(records).toMatchObject([{ outcome: "aborted", team: "", isPromptEstimated: true }]);
    rmSync(gateway.state, { recursive: true });
  });
});
