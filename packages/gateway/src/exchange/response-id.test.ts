/** A stored response is continued at the replica that holds it, through any gateway with the same configuration. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { hash } from "node:crypto";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { settleUsage, usageStart } from "../usage/reader.ts";
import { testGateway, type TestGateway } from "../testing/test-gateway.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

interface Body {
  readonly previous_response_id?: string;
  readonly stream?: boolean;
}

/** A replica that stores its responses and knows only these. */
class StoringReplica {
  readonly #stored = new Map<string, object>();
  readonly #name: string;
  url = "";
  isHealthy = true;
  requestCount = 0;
  misses = 0;
  /** Whether it serves requests for stored responses. */
  canRead = true;
  readonly reads: string[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  #read({ method = "", url = "" }: IncomingMessage, response: ServerResponse): void {
    this.reads.push(`${method} ${url}`);
    const id = /^\/v1\/responses\/([^/?]+)/.exec(url)![1]!;
    const send = (status: number, body: object): void =>
      void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const found = this.#stored.get(id);
    if (!this.canRead) send(405, { detail: "Method Not Allowed" });
    else if (found === undefined) send(404, { error: { message: "no such response", type: "mine" } });
    else if (method !== "DELETE") send(200, found);
    else {
      this.#stored.delete(id);
      send(200, { id, object: "response.deleted", deleted: true });
    }
  }

  async start(): Promise<void> {
    const server = createServer((request, response) => {
      if (request.url?.startsWith("/v1/responses/") === true) {
        this.#read(request, response);
        return;
      }
      if (request.method === "GET") {
        response.writeHead(this.isHealthy ? 200 : 503).end();
        return;
      }
      const chunks: Buffer[] = [];
      request.on("data", (part: Buffer) => chunks.push(part));
      request.on("end", () => {
        const { previous_response_id: previous, stream } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Body;
        this.requestCount++;
        if (previous !== undefined && !this.#stored.has(previous)) {
          this.misses++;
          response.writeHead(404).end('{"error":{"message":"not found"}}');
          return;
        }
        const id = `resp_${this.#name}_${this.#stored.size}`;
        const whole = { id, object: "response", previous_response_id: previous ?? null, output: [], from: this.#name };
        this.#stored.set(id, { ...whole, usage: { input_tokens: 5, output_tokens: 5 } });
        if (stream !== true) {
          response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(whole));
          return;
        }
        response.writeHead(200, { "content-type": "text/event-stream" });
        for (const type of ["response.created", "response.in_progress", "response.completed"]) {
          response.write(`event: ${type}\ndata: ${JSON.stringify({ type, response: whole })}\n\n`);
        }
        response.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    cleanups.push(async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    });
  }
}

async function replicas(count: number): Promise<StoringReplica[]> {
  const all = Array.from({ length: count }, (_, index) => new StoringReplica(`r${index}`));
  for (const each of all) await each.start();
  return all;
}

async function start(all: readonly StoringReplica[]): Promise<TestGateway> {
  const gateway = await testGateway(
    `access: open\npools: [{ name: p, engine: vllm, routing: round-robin, probe: { interval: 100ms }, replicas: [${all.map(({ url }) => url).join(", ")}] }]\n` +
      "models: [{ name: m, pools: [p] }]\n",
  );
  cleanups.push(() => gateway.stop());
  return gateway;
}

interface Answer {
  readonly id: string;
  readonly from: string;
  readonly previous_response_id: string | null;
}

const post = (gateway: TestGateway, body: object): Promise<Response> =>
  fetch(`${gateway.url}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", input: "hi", ...body }),
  });

async function ask(gateway: TestGateway, previous?: string): Promise<Answer> {
  const response = await post(gateway, { previous_response_id: previous });
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
}

describe("previous_response_id", () => {
  it("reaches the replica that holds the response, for twenty conversations through two gateways in turn", async () => {
    const all = await replicas(2);
    const gateways = [await start(all), await start(all)];
    const begun = await Promise.all(Array.from({ length: 20 }, (_, turn) => ask(gateways[turn % 2]!)));
    expect(new Set(begun.map(({ from }) => from))).toEqual(new Set(["r0", "r1"]));
    for (const [index, { id, from }] of begun.entries()) {
      let previous = id;
      for (let turn = 0; turn < 3; turn++) {
        const answer = await ask(gateways[(index + turn) % 2]!, previous);
        expect([answer.from, answer.previous_response_id]).toEqual([from, previous]);
        previous = answer.id;
      }
    }
    expect(all.map(({ misses }) => misses)).toEqual([0, 0]);
  });

  it("works with the ids in the events of streams", async () => {
    const gateway = await start(await replicas(3));
    const text = await (await post(gateway, { stream: true })).text();
    const ids = [...text.matchAll(/"id":"(resp_[^"]+)"/g)].map(([, id]) => id!);
    expect(ids.length).toBe(3);
    expect(new Set(ids).size).toBe(1);
    const from = /"from":"(r\d)"/.exec(text)?.[1];
    for (let turn = 0; turn < 4; turn++) expect((await ask(gateway, ids[0])).from).toBe(from);
  });

  it("is refused with 503 while its replica is out of service, and never sent to another", async () => {
    const all = await replicas(2);
    const gateway = await start(all);
    const { id, from } = await ask(gateway);
    const holder = all[Number(from.slice(1))]!;
    const other = all.find((each) => each !== holder)!;
    holder.isHealthy = false;
    await expect.poll(async () => (await post(gateway, { previous_response_id: id })).status).toBe(503);
    expect(await (await post(gateway, { previous_response_id: id })).text()).toContain(
      "replica that holds the previous",
    );
    expect(other.misses).toBe(0);
  });

  it("is refused with 400 if its replica has left, or if it was made elsewhere", async () => {
    const all = await replicas(2);
    const gateway = await start(all);
    const { id, from } = await ask(gateway);
    const left = await start([all.find((each) => each !== all[Number(from.slice(1))])!]);
    const refused = [
      await post(left, { previous_response_id: id }),
      await post(gateway, { previous_response_id: "resp_elsewhere" }),
    ];
    for (const response of refused) {
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        error: { param: "previous_response_id", code: "previous_response_not_found" },
      });
    }
    expect(all.map(({ misses }) => misses)).toEqual([0, 0]);
  });

  it("made elsewhere goes to the only replica, which decides", async () => {
    const [only] = await replicas(1);
    const gateway = await start([only!]);
    expect((await post(gateway, { previous_response_id: "resp_elsewhere" })).status).toBe(404);
    expect(only!.misses).toBe(1);
  });
});

describe("a stored response", () => {
  const at = (gateway: TestGateway, id: string, method = "GET"): Promise<Response> =>
    fetch(`${gateway.url}/v1/responses/${id}`, { method });

  it("is read, cancelled and deleted at its replica, through any gateway, and costs nothing", async () => {
    const all = await replicas(3);
    const gateways = [await start(all), await start(all)];
    for (let turn = 0; turn < 6; turn++) {
      const first = await ask(gateways[turn % 2]!);
      const { id, from } = await ask(gateways[turn % 2]!, first.id);
      const other = gateways[(turn + 1) % 2]!;
      const read = await at(other, `${id}?include=a`);
      expect([read.status, await read.json()]).toMatchObject([200, { id, previous_response_id: first.id, from }]);
      for (const [suffix, method] of [
        ["/cancel", "POST"],
        ["/input_items?limit=3", "GET"],
      ] as const)
        expect((await at(other, id + suffix, method)).status).toBe(200);
      expect(await (await at(other, id, "DELETE")).json()).toEqual({ id, object: "response.deleted", deleted: true });
      const gone = await at(other, id);
      expect([gone.status, await gone.json()]).toEqual([404, { error: { message: "no such response", type: "mine" } }]);
      const own = /^resp_hr[0-9a-f]+_(.+)$/.exec(id)![1]!;
      expect(all[Number(from.slice(1))]!.reads.slice(-5)).toEqual([
        `GET /v1/responses/${own}?include=a`,
        `POST /v1/responses/${own}/cancel`,
        `GET /v1/responses/${own}/input_items?limit=3`,
        `DELETE /v1/responses/${own}`,
        `GET /v1/responses/${own}`,
      ]);
    }
    const records = gateways.flatMap(
      ({ state }) => settleUsage(path.join(state, "gateway", "usage"), usageStart).records,
    );
    const reads = records.filter(({ operation }) => operation === "stored_response");
    expect(reads).toHaveLength(30);
    for (const each of reads)
      expect(each).toMatchObject({ promptTokens: 0, completionTokens: 0, nanoUsd: 0, isPromptEstimated: false });
  });

  it("of an engine without it is answered in OpenAI's form", async () => {
    const [only] = await replicas(1);
    const gateway = await start([only!]);
    const { id } = await ask(gateway);
    only!.canRead = false;
    const answer = await at(gateway, id, "DELETE");
    expect([answer.status, await answer.json()]).toMatchObject([405, { error: { type: "invalid_request_error" } }]);
  });

  it("is not searched elsewhere if its replica is unknown or out of service", async () => {
    const all = await replicas(2);
    const gateway = await start(all);
    const { id, from } = await ask(gateway);
    for (const unknown of ["resp_elsewhere", id.replace(/hr[0-9a-f]{12}/, "hr000000000000"), `${id.slice(0, 20)}..`]) {
      const answer = await at(gateway, unknown);
      expect([answer.status, await answer.json()]).toMatchObject([404, { error: { type: "invalid_request_error" } }]);
    }
    all[Number(from.slice(1))]!.isHealthy = false;
    await expect.poll(async () => (await at(gateway, id)).status).toBe(503);
    expect(all.flatMap(({ reads }) => reads).filter((each) => each.includes(".."))).toEqual([]);
    const put = await at(gateway, id, "PUT");
    expect([put.status, await put.json()]).toMatchObject([
      405,
      { error: { message: expect.stringContaining("GET or DELETE") as string } },
    ]);
  });

  it("is not for keys that may not use its model, nor does a path lead out of the responses", async () => {
    const all = await replicas(1);
    const gateway = await testGateway(
      `teams: [{ name: a, keys: [{ sha256: ${hash("sha256", "a")} }] }, { name: b, models: [n], keys: [{ sha256: ${hash("sha256", "b")} }] }]\n` +
        `pools: [{ name: p, engine: vllm, replicas: [${all[0]!.url}] }, { name: q, engine: vllm, replicas: ["http://127.0.0.1:9"] }]\n` +
        "models: [{ name: m, pools: [p] }, { name: n, pools: [q] }]\n",
    );
    cleanups.push(() => gateway.stop());
    const made = await fetch(`${gateway.url}/v1/responses`, {
      method: "POST",
      headers: { authorization: "Bearer a" },
      body: JSON.stringify({ model: "m", input: "hi" }),
    });
    const { id } = (await made.json()) as Answer;
    const as = (key: string): Promise<Response> =>
      fetch(`${gateway.url}/v1/responses/${id}`, { headers: { authorization: `Bearer ${key}` } });
    expect([(await as("a")).status, (await as("b")).status, (await as("c")).status]).toEqual([200, 404, 401]);
    for (const target of ["..", "resp_hr000000000000_..", `${id.slice(0, 20)}..`, "a/../../v1/models", "%2e%2e"]) {
      const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
      const answer = new Promise<Buffer>((resolve) => socket.once("data", resolve));
      socket.write(`GET /v1/responses/${target} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer a\r\n\r\n`);
      expect((await answer).toString("latin1"), target).toMatch(/^HTTP\/1.1 404 /);
      socket.destroy();
    }
    expect(all[0]!.reads).toHaveLength(1);
  });
});

describe("a stored response of another team", () => {
  const key = (name: string): string => `{ name: ${name}, keys: [{ sha256: ${hash("sha256", name)} }] }`;

  it("is neither read, continued nor deleted", async () => {
    const [only] = await replicas(1);
    const gateway = await testGateway(
      `teams: [${key("a")}, ${key("b")}]\npools: [{ name: p, engine: vllm, replicas: ["${only!.url}"] }]\nmodels: [{ name: m, pools: [p] }]\n`,
    );
    cleanups.push(() => gateway.stop());
    const send = (team: string, method: string, target: string, body?: object): Promise<Response> =>
      fetch(gateway.url + target, {
        method,
        headers: { authorization: `Bearer ${team}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify({ model: "m", input: "hi", ...body }) }),
      });
    const { id } = (await (await send("a", "POST", "/v1/responses", {})).json()) as Answer;
    const bare = id.slice(id.indexOf("_", 8) + 1);
    const forged = id.replace(/(?<=^resp_hr.{12}).{16}/, "0".repeat(16));
    for (const [team, name] of [
      ["b", id],
      ["b", bare],
      ["a", bare],
      ["b", forged],
      ["a", forged],
      ["b", `${id}x`],
    ] as const) {
      for (const method of ["GET", "DELETE"])
        expect((await send(team, method, `/v1/responses/${name}`)).status, `${team} ${method} ${name}`).toBe(404);
      expect((await send(team, "POST", `/v1/responses/${name}/cancel`)).status).toBe(404);
      expect((await send(team, "POST", "/v1/responses", { previous_response_id: name })).status).toBe(400);
    }
    expect(only!.reads).toEqual([]);
    expect((await send("a", "POST", "/v1/responses", { previous_response_id: id })).status).toBe(200);
    expect((await send("a", "GET", `/v1/responses/${id}`)).status).toBe(200);
    expect((await send("a", "DELETE", `/v1/responses/${id}`)).status).toBe(200);
  });
});
