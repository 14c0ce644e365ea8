/** A stored response is continued at the replica that holds it, through any gateway with the same configuration. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
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
  readonly #stored = new Set<string>();
  readonly #name: string;
  url = "";
  isHealthy = true;
  requestCount = 0;
  misses = 0;

  constructor(name: string) {
    this.#name = name;
  }

  async start(): Promise<void> {
    const server = createServer((request, response) => {
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
        this.#stored.add(id);
        const whole = { id, object: "response", previous_response_id: previous ?? null, output: [], from: this.#name };
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
