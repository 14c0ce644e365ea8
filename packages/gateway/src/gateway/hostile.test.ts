/**
 * Messages that no correct client or replica sends: each is answered, or its connection is closed. Other requests are
 * not affected.
 */
import { hash } from "node:crypto";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { MockUpstream } from "../testing/mock-upstream.ts";
import { chat, testGateway, type TestGateway } from "../testing/test-gateway.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function start(yaml: string): Promise<TestGateway> {
  const gateway = await testGateway(yaml);
  cleanups.push(() => gateway.stop());
  return gateway;
}

/** A replica that answers every POST with these bytes and then closes the connection. */
async function replicaWith(bytes: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      const isProbe = chunk.toString("latin1", 0, 3) === "GET";
      socket.end(isProbe ? "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n" : bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => new Promise((resolve) => server.close(() => resolve())));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function open(url: string, engine: string): string {
  return `access: open\npools: [{ name: p, engine: ${engine}, attempts: 1, breaker: { failures: 1000 }, replicas: ["${url}"] }]\nmodels: [{ name: m, pools: [p] }]\n`;
}

function post(gateway: TestGateway, path: string, body: string): Promise<Response> {
  return fetch(gateway.url + path, { method: "POST", body, headers: { "content-type": "application/json" } });
}

function socketTo(gateway: TestGateway): Socket {
  const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
  socket.on("error", () => undefined);
  cleanups.push(async () => void socket.destroy());
  return socket;
}

const depth = 200_000;
const deep = `${"[".repeat(depth)}${"]".repeat(depth)}`;

describe("bodies of other protocols", () => {
  it.each([
    ["/v1/responses", '{"model":"m","input":"hi","text":{"format":null}}'],
    ["/v1/responses", '{"model":"m","input":"hi","text":{"format":{"type":"json_schema","schema":null}}}'],
    [
      "/v1/responses",
      '{"model":"m","input":[{"role":"user","content":[{"type":"input_text"}]},{"type":"function_call"}],"tools":[{}]}',
    ],
    ["/v1/responses", `{"model":"m","input":[{"type":"function_call_output","output":${deep}}]}`],
    ["/v1/responses", `{"model":"m","input":"hi","tools":[{"type":"function","parameters":${deep}}]}`],
    ["/v1/messages", `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","input":${deep}}]}]}`],
    [
      "/v1/messages",
      '{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":null},{"type":"text"}]}],"tools":[{}],"tool_choice":null,"system":{}}',
    ],
    ["/v1/messages", '{"model":"m","messages":{"role":1}}'],
  ])("%s %.90s", async (path, body) => {
    const mock = new MockUpstream();
    await mock.start();
    cleanups.push(() => mock.kill());
    const gateway = await start(open(mock.url, "headroom"));
    const response = await post(gateway, path, body);
    expect([200, 400, 502]).toContain(response.status);
    await response.text();
    expect((await chat(gateway.url, {})).status).toBe(200);
  });
});

const json = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
const events = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

/** A valid request of each protocol that is translated. */
const translated = [
  ["/v1/messages", { model: "m", max_tokens: 5, messages: [] }],
  ["/v1/responses", { model: "m", max_output_tokens: 5, input: "x" }],
] as const;

describe("replicas whose answers cannot be translated", () => {
  it.each([
    `${json}<html>`,
    `${json}null`,
    `${json}{"choices":5}`,
    `${json}{"choices":[{"message":{"tool_calls":[null]}}]}`,
    `${json}`,
  ])("%j", async (answer) => {
    const gateway = await start(open(await replicaWith(answer), "headroom"));
    for (const [path, body] of translated) {
      const response = await post(gateway, path, JSON.stringify(body));
      expect(response.status).toBe(502);
      const isAnthropic = path === "/v1/messages";
      expect(await response.json()).toMatchObject(
        isAnthropic ? { type: "error", error: { type: "api_error" } } : { error: { type: "server_error" } },
      );
    }
  });

  it.each([
    `${events}data: <html>\n\n`,
    `${events}data: null\n\n`,
    `${events}data: {"choices":5}\n\ndata: [DONE]\n\n`,
    `${events}data: {"choices":[{"delta":{"tool_calls":[null]}}]}\n\n`,
  ])("%j", async (answer) => {
    const gateway = await start(open(await replicaWith(answer), "headroom"));
    for (const [path, body] of translated) {
      const text = await (await post(gateway, path, JSON.stringify({ ...body, stream: true }))).text();
      expect(text).toContain("event: error\n");
      expect(text).not.toContain("message_stop");
      expect(text).not.toContain("response.completed");
    }
  });
});

describe("streams", () => {
  it("that end inside their first event are still HTTP", async () => {
    const gateway = await start(
      open(
        await replicaWith(`${events}data: {"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":2}}`),
        "vllm",
      ),
    );
    const response = await chat(gateway.url, { stream: true, stream_options: { include_usage: true } });
    expect([response.status, await response.text()]).toEqual([
      200,
      'data: {"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":2}}',
    ]);
  });

  it("that break before anything can be continued end with an error", async () => {
    const bytes = "data: null\n\ndata: {}\n\n";
    const chunked = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${bytes.length.toString(16)}\r\n${bytes}\r\n`;
    const urls = [await replicaWith(chunked), await replicaWith(chunked)];
    const gateway = await start(
      `access: open\npools: [{ name: p, engine: vllm, replicas: ["${urls[0]}", "${urls[1]}"] }]\nmodels: [{ name: m, pools: [p] }]\n`,
    );
    expect(await (await chat(gateway.url, { stream: true })).text()).toContain('data: {"error"');
  });
});

describe("heads that are refused", () => {
  const forms = [
    ["/v1/messages", { type: "error", error: { type: "invalid_request_error" } }],
    ["/v1/messages?beta=true", { type: "error", error: { type: "invalid_request_error" } }],
    ["/v2/models/m/infer", { error: expect.any(String) as string }],
    ["/v1/chat/completions", { error: { type: "invalid_request_error", param: null } }],
  ] as const;
  const headOf = (target: string): string => `POST ${target} HTTP/1.1\r\nhost: a\r\n`;
  const answerTo = (gateway: TestGateway, text: string): Promise<string> =>
    new Promise((resolve) => {
      let got = "";
      const socket = socketTo(gateway);
      socket.on("data", (data) => (got += data.toString()));
      socket.once("end", () => resolve(got));
      socket.write(text);
    });
  const bodyOf = (answer: string): unknown => JSON.parse(answer.split("\r\n\r\n")[1]!);

  it.each(forms)("get the error form of the protocol of %s", async (target, form) => {
    const gateway = await start(open("http://127.0.0.1:9", "openai"));
    for (const [status, text] of [
      [431, headOf(target) + "a: b\r\n".repeat(5500)],
      [431, `${headOf(target)}${"a: b\r\n".repeat(200)}\r\n`],
      [400, `${headOf(target)}broken\r\n\r\n`],
    ] as const) {
      const answer = await answerTo(gateway, text);
      expect(answer).toContain(`HTTP/1.1 ${status} `);
      expect(bodyOf(answer)).toMatchObject(form);
    }
  });

  it("get it also if they never end", async () => {
    const gateway = await start(
      `${open("http://127.0.0.1:9", "openai")}bounds: { headTimeout: 2s, shutdownTimeout: 1s }\n`,
    );
    const answers = await Promise.all(forms.map(([target]) => answerTo(gateway, headOf(target))));
    for (const [at, [, form]] of forms.entries()) {
      expect(answers[at]).toContain("HTTP/1.1 408 ");
      expect(bodyOf(answers[at]!)).toMatchObject(form);
    }
  });
});

describe("clients", () => {
  it("that pipeline and never read are not answered without end", async () => {
    const gateway = await start(open("http://127.0.0.1:9", "openai"));
    const socket = socketTo(gateway);
    socket.pause();
    const block = Buffer.from("GET /health HTTP/1.1\r\nhost: a\r\n\r\n".repeat(30_000));
    let sent = 0;
    // The client stops when the gateway stops reading. By then, the kernel's buffers hold a few megabytes.
    const isStuck = async (): Promise<boolean> =>
      new Promise((resolve) => {
        const timer = setTimeout(() => resolve(true), 500);
        socket.write(block, () => {
          clearTimeout(timer);
          resolve(false);
        });
      });
    while (sent < 100 && !(await isStuck())) sent++;
    expect(sent).toBeLessThan(100);
    const requests = 30_000 * (sent + 1);
    // Now the client reads, and every request that it sent is answered.
    let answered = 0;
    let rest = "";
    socket.on("data", (chunk: Buffer) => {
      const text = rest + chunk.toString("latin1");
      answered += text.split("HTTP/1.1 200 OK").length - 1;
      rest = text.slice(-14);
      if (rest.includes("HTTP/1.1 200 OK")) rest = "";
    });
    socket.resume();
    await expect.poll(() => answered).toBe(requests);
  }, 60_000);

  it.each(["content-length: 104857600", "transfer-encoding: chunked"])(
    "that read only after they have sent 100 MB get the refusal: %s",
    async (framing) => {
      const gateway = await start(open("http://127.0.0.1:9", "openai"));
      const socket = socketTo(gateway);
      socket.pause();
      let answer = "";
      socket.on("data", (data: Buffer) => (answer += data.toString("latin1")));
      socket.write(`POST /v1/messages HTTP/1.1\r\nhost: a\r\n${framing}\r\n\r\n`);
      const isChunked = framing.endsWith("chunked");
      const block = Buffer.alloc(1024 * 1024, 32);
      const sent = isChunked ? Buffer.concat([Buffer.from("100000\r\n"), block, Buffer.from("\r\n")]) : block;
      for (let count = 0; count < 100; count++) {
        const error = await new Promise<unknown>((resolve) => socket.write(sent, resolve));
        expect(error ?? undefined).toBeUndefined();
      }
      socket.resume();
      await expect.poll(() => answer).toContain("HTTP/1.1 413 ");
      expect(answer).toContain('{"type":"error"');
    },
  );

  it("whose key is revoked while their body arrives are refused", async () => {
    const mock = new MockUpstream();
    await mock.start();
    cleanups.push(() => mock.kill());
    const yaml = (key: string): string =>
      `teams: [{ name: t, keys: [{ sha256: ${hash("sha256", key)} }] }]\npools: [{ name: p, engine: vllm, replicas: [${mock.url}] }]\nmodels: [{ name: m, pools: [p] }]\n`;
    const gateway = await start(yaml("old"));
    const body = '{"model":"m","messages":[]}';
    const socket = socketTo(gateway);
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer old\r\ncontent-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`,
    );
    const read = (): Promise<string> =>
      new Promise((resolve) => socket.once("data", (data) => resolve(data.toString())));
    expect(await read()).toContain("100 Continue");
    await gateway.reload(yaml("new"));
    socket.write(body);
    expect(await read()).toContain("401 Unauthorized");
    expect(mock.requestCount).toBe(0);
  });
});

describe("the admin address", () => {
  it("answers targets that are no path", async () => {
    const gateway = await start(open("http://127.0.0.1:9", "openai"));
    for (const target of ["//", "/\\", "http://[", "*"]) {
      const socket = connect(Number(new URL(gateway.adminUrl!).port), "127.0.0.1");
      const answer = await new Promise<string>((resolve) => {
        socket.once("data", (data) => resolve(data.toString()));
        socket.write(`GET ${target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
      });
      expect(answer).toMatch(/^HTTP\/1\.1 40[01]/);
      socket.destroy();
    }
  });

  it("answers only to its own names, as a page behind another name may have been sent here by its DNS", async () => {
    const gateway = await start(`adminHosts: [Metrics.internal]\n${open("http://127.0.0.1:9", "openai")}`);
    const status = (host: string): Promise<string> => {
      const socket = connect(Number(new URL(gateway.adminUrl!).port), "127.0.0.1");
      return new Promise((resolve) => {
        socket.once("data", (data) => {
          resolve(data.toString("latin1", 9, 12));
          socket.destroy();
        });
        socket.write(`GET /metrics HTTP/1.1\r\n${host}connection: close\r\n\r\n`);
      });
    };
    const known = [
      "localhost",
      "LOCALHOST:8081",
      "127.0.0.1:8081",
      "[::1]:8081",
      "metrics.internal",
      "metrics.INTERNAL:1",
    ];
    for (const name of known) expect(await status(`host: ${name}\r\n`), name).toBe("200");
    const unknown = [
      "evil.example",
      "localhost.evil.example",
      "127.0.0.1.evil.example:80",
      "10.0.0.1",
      "a@localhost",
      "",
    ];
    for (const name of unknown) expect(await status(`host: ${name}\r\n`), name).toBe("403");
    const change = await fetch(`${gateway.adminUrl!.replace("127.0.0.1", "localhost")}/drain?pool=p`, {
      method: "POST",
      headers: { "x-headroom-admin": "1", authorization: `Bearer ${gateway.adminToken}` },
    });
    expect(change.status).toBe(404);
    expect((await fetch(`${gateway.adminUrl!}/replicas`)).status).toBe(401);
  });
});
