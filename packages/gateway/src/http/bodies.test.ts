/**
 * Request bodies share memory: all reads use one buffer, and large bodies use slabs that are used again. The upstream
 * in this test reads slowly, answers early or disconnects, and it must never get a byte of one request with another
 * request.
 */
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { testGateway, type TestGateway } from "../testing/test-gateway.ts";
import { BodyCollector } from "./body-collector.ts";
import { BodySlabs } from "./body-slabs.ts";

let gateway: TestGateway | undefined;
let upstream: Server | undefined;
const mixed: string[] = [];
let checkedCount = 0;

afterEach(async () => {
  await gateway?.stop();
  upstream?.close();
  gateway = upstream = undefined;
});

type Manner = "prompt" | "early" | "slow" | "broken";
const manners: readonly Manner[] = ["prompt", "early", "slow", "broken", "prompt", "slow"];

/** Answers with the number and length of each body. The request's number selects how it reads and answers. */
function serve(socket: Socket): void {
  let pending: Buffer = Buffer.alloc(0);
  let answered = false;
  let current: { readonly id: number; readonly length: number; readonly start: number } | undefined;
  const check = (): void => {
    if (current === undefined) return;
    const body = pending.subarray(current.start, current.start + current.length);
    const expected = Buffer.from(bodyOf(current.id, sizeOf(current.id)));
    if (!expected.subarray(0, body.length).equals(body)) mixed.push(`request ${current.id}`);
    checkedCount++;
    current = undefined;
  };
  socket.on("error", () => undefined);
  socket.on("close", check);
  socket.on("data", (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    for (;;) {
      const end = pending.indexOf("\r\n\r\n");
      if (end < 0) return;
      const head = pending.toString("latin1", 0, end);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      const id = Number(/x-number: (\d+)/i.exec(head)?.[1] ?? 0);
      const manner = manners[id % manners.length]!;
      current = { id, length, start: end + 4 };
      const body = pending.subarray(end + 4, end + 4 + length);
      if (!answered && manner === "early") answer(socket, `${id}:early`);
      if (!answered && manner === "slow") {
        socket.pause();
        setTimeout(() => socket.resume(), 5);
      }
      answered = true;
      if (manner === "broken" && pending.length > 40_000) {
        socket.destroy();
        return;
      }
      if (body.length < length) return;
      check();
      if (manner !== "early") answer(socket, `${id}:${body.length}`);
      answered = false;
      pending = pending.subarray(end + 4 + length);
    }
  });
}

function answer(socket: Socket, text: string): void {
  socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${text.length}\r\n\r\n${text}`);
}

function sizeOf(id: number): number {
  return [300, 9000, 20_000, 90_000, 400_000, 33_000, 1_200_000][id % 7]!;
}

function bodyOf(id: number, bytes: number): string {
  return `{"model":"m","messages":[{"role":"user","content":"${`#${id}#`.repeat(Math.ceil(bytes / 6))}"}]}`;
}

/** Writes the requests of one connection in pieces, and sometimes two at a time. Returns the answers. */
async function client(url: string, from: number, count: number): Promise<readonly string[]> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  let text = "";
  let next = from;
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  while (next < from + count) {
    const pair = next % 3 === 0 && next + 1 < from + count ? [next, next + 1] : [next];
    let bytes = "";
    for (const id of pair) {
      const body = bodyOf(id, sizeOf(id));
      bytes += `POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\nx-number: ${id}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    }
    const before = text.split("HTTP/1.1 ").length;
    const cut = Math.floor(bytes.length / 3) + (next % 100);
    for (const piece of [bytes.slice(0, cut), bytes.slice(cut, 2 * cut), bytes.slice(2 * cut)]) {
      socket.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await expect
      .poll(() => text.split("HTTP/1.1 ").length, { timeout: 20_000, interval: 2 })
      .toBe(before + pair.length);
    next += pair.length;
  }
  socket.destroy();
  return text.split("HTTP/1.1 ").slice(1);
}

describe("bodies of requests", () => {
  it("reach the upstream unmixed, whatever it does", async () => {
    upstream = createServer(serve);
    await new Promise<void>((resolve) => upstream!.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    gateway = await testGateway(
      `access: open\npools: [{ name: p, engine: openai, attempts: 2, replicas: [{ id: a, url: "${url}" }, { id: b, url: "${url}" }], breaker: { failures: 1000 } }]\nmodels: [{ name: m, pools: [p] }]\n`,
    );
    const perClient = 21;
    const clients = Array.from({ length: 12 }, (_, index) => client(gateway!.url, index * perClient, perClient));
    const answers = (await Promise.all(clients)).flat();
    expect(mixed).toEqual([]);
    expect(checkedCount).toBeGreaterThanOrEqual(answers.length);
    for (const [id, text] of answers.entries()) {
      const manner = manners[id % manners.length]!;
      if (manner === "broken") continue;
      expect(text).toMatch(/^200 /);
      const sent = bodyOf(id, sizeOf(id)).length;
      expect(text.slice(text.indexOf("\r\n\r\n") + 4)).toBe(manner === "early" ? `${id}:early` : `${id}:${sent}`);
    }
  });

  it("grow from slab to slab, and past the largest", () => {
    const slabs = new BodySlabs();
    const collector = new BodyCollector(slabs, true);
    const shared = Buffer.alloc(30_000);
    let expected = Buffer.alloc(0);
    for (let part = 0; part < 60; part++) {
      shared.fill(part);
      collector.add(shared);
      expected = Buffer.concat([expected, shared]);
      if (part !== 5 && part !== 59) continue;
      const isSlabbed = part === 5;
      const { bytes, slab } = collector.take();
      expect(bytes.equals(expected)).toBe(true);
      expect(slab?.length).toBe(isSlabbed ? 262_144 : undefined);
      if (slab !== undefined) slabs.give(slab);
      expected = Buffer.alloc(0);
    }
    // The slabs of 65,536 and 262,144 bytes were given back. The largest slab was forwarded as a part of its body.
    expect(slabs.freeBytes).toBe(65_536 + 262_144);
  });
});
