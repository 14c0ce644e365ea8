import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { expect, it } from "vitest";
import { measureLevel, type LevelResult } from "./measure-endpoint.ts";
import { isOver, levelsFor, proposedTargets } from "./propose-targets.ts";

const level = (concurrency: number, tokensPerSecond: number, ttftP95Ms: number, more: object = {}): LevelResult => ({
  concurrency,
  requests: 100,
  failed: 0,
  left: 0,
  requestsPerSecond: 1,
  tokensPerSecond,
  ttftP95Ms,
  tpotP95Ms: 10,
  ...more,
});
const none = { ttftMs: null, tpotMs: null };

it("proposes the knee, or the highest level within the objectives, with a reserve", () => {
  const levels = [level(2, 100, 50), level(4, 190, 60), level(8, 300, 90), level(16, 310, 400), level(32, 310, 900)];
  expect(proposedTargets(levels, 2, none)).toMatchObject({ concurrency: 3, ground: "knee", level: { concurrency: 8 } });
  expect(proposedTargets(levels, 2, { ttftMs: 70, tpotMs: null })).toMatchObject({
    concurrency: 1,
    ground: "objectives",
  });
  expect(proposedTargets(levels, 2, { ttftMs: 500, tpotMs: null })).toMatchObject({ concurrency: 6 });
  expect(proposedTargets(levels, 2, { ttftMs: 10, tpotMs: null })).toBeNull();
  expect(proposedTargets([level(1, 10, 5, { failed: 50 })], 1, none)).toBeNull();
});

it("calls a level a knee only if higher ones were measured and gave hardly more", () => {
  const rising = [level(1, 100, 5), level(2, 190, 5), level(4, 370, 5)];
  expect(proposedTargets(rising, 1, none)).toMatchObject({ concurrency: 3, ground: "last" });
  expect(proposedTargets([level(1, 100, 5)], 1, none)).toMatchObject({ ground: "last" });
  expect(proposedTargets([...rising, level(8, 372, 9)], 1, none)).toMatchObject({ concurrency: 3, ground: "knee" });
  for (const more of [{ failed: 50 }, { left: 50 }])
    expect(proposedTargets([...rising, level(8, 500, 9, more)], 1, none)).toMatchObject({ ground: "refused" });
  expect(proposedTargets(rising, 1, { ttftMs: 10, tpotMs: null })).toMatchObject({ ground: "last" });
});

it("stops at full replicas, missed objectives, failures and an overflow", () => {
  expect(levelsFor(3, 8)).toEqual([3, 6, 12, 24]);
  expect(isOver([level(1, 100, 5), level(2, 180, 5)], none)).toBe(false);
  expect(isOver([level(1, 100, 5), level(2, 103, 5)], none)).toBe(true);
  expect(isOver([level(1, 100, 50)], { ttftMs: 20, tpotMs: null })).toBe(true);
  expect(isOver([level(1, 100, 5, { left: 10 })], none)).toBe(true);
  expect(isOver([level(1, 100, 5, { failed: 10 })], none)).toBe(true);
});

it("measures streams, and counts refusals and answers of an overflow apart", async () => {
  let count = 0;
  const server = createServer((request, response) => {
    request.resume();
    count++;
    if (count % 4 === 0) return void response.writeHead(503).end("{}");
    if (count % 4 === 1) response.setHeader("x-headroom-overflow", "concurrency");
    for (const text of ["a", "b"]) response.write(`data: {"choices":[{"delta":{"content":"${text}"}}]}\n\n`);
    response.end("data: [DONE]\n\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const target = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: "", model: "m" };
  const shape = { promptWords: 4, outputTokens: 2, seconds: 1 };
  const result = await measureLevel(target, { concurrency: 2, shape, signal: new AbortController().signal });
  server.close();
  expect(result.requests).toBeGreaterThan(3);
  expect(result.failed).toBeGreaterThan(0);
  expect(result.left).toBeGreaterThan(0);
  expect(result.ttftP95Ms).toBeGreaterThan(0);
});
