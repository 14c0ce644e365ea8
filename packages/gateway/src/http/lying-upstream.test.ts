/**
 * Replicas that violate HTTP. The client gets a whole answer or an error in its protocol, and the next request is not
 * affected.
 */
import { createServer, type AddressInfo, type Server } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { chat, testGateway } from "../testing/test-gateway.ts";

const good = '{"choices":[{"message":{"content":"ok"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}';
const goodReply = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${good.length}\r\n\r\n${good}`;
const json = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** A replica that answers the first request on any connection with `bytes`, and later requests correctly. */
async function liar(bytes: string | Buffer, closes: boolean): Promise<Server> {
  let count = 0;
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      if (chunk.toString("latin1", 0, 3) === "GET") {
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        return;
      }
      count++;
      if (count > 1) {
        socket.write(goodReply);
        return;
      }
      socket.write(bytes);
      if (closes) socket.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => new Promise((resolve) => server.close(() => resolve())));
  return server;
}

const lies: Readonly<Record<string, readonly [bytes: string, closes: boolean, status: number]>> = {
  "a body shorter than its length": [`${json}content-length: 500\r\n\r\n${good}`, true, 502],
  "a body longer than its length": [
    `${json}content-length: ${good.length}\r\n\r\n${good}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil`,
    false,
    200,
  ],
  "two lengths": [`${json}content-length: ${good.length}\r\ncontent-length: 3\r\n\r\n${good}`, false, 502],
  "length and chunks": [`${json}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`, false, 502],
  "a negative length": [`${json}content-length: -3\r\n\r\n${good}`, false, 502],
  "chunks that are none": [`${json}transfer-encoding: chunked\r\n\r\nzz\r\n${good}`, false, 502],
  "chunks without an end": [`${json}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n`, true, 502],
  "no HTTP at all": ["SSH-2.0-OpenSSH_9.2\r\n\r\n", false, 502],
  "a head without an end": [`HTTP/1.1 200 OK\r\nx: ${"a".repeat(100_000)}`, false, 502],
  "interim responses without end": ["HTTP/1.1 100 Continue\r\n\r\n".repeat(50), false, 502],
  // RFC 9110 §15: a status is from 100 to 599.
  "a status that is none": [`HTTP/1.1 600 Odd\r\ncontent-length: ${good.length}\r\n\r\n${good}`, false, 502],
  "an upgrade": ["HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n", false, 502],
  nothing: ["", true, 502],
  "a body that the end of the connection ends": [`${json}\r\n${good}`, true, 200],
  "an interim response, then the real one": [`HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${goodReply}`, false, 200],
};

describe("an upstream that lies", () => {
  it.each(Object.entries(lies))("%s", async (_, [bytes, closes, status]) => {
    const server = await liar(bytes, closes);
    const { port } = server.address() as AddressInfo;
    const gateway = await testGateway(
      `access: open\npools: [{ name: p, engine: vllm, attempts: 1, replicas: ["http://127.0.0.1:${port}"] }]\nmodels: [{ name: m, pools: [p] }]\n`,
    );
    cleanups.push(() => gateway.stop());
    const response = await chat(gateway.url, {});
    expect(response.status).toBe(status);
    const body = await response.text();
    if (status === 200) expect(body).toBe(good);
    else expect(JSON.parse(body)).toMatchObject({ error: { type: "server_error", code: "upstream_error" } });
    const second = await chat(gateway.url, {});
    expect([second.status, await second.text()]).toEqual([200, good]);
  });
});
