/** Lines of batches whose streams stop: they begin again where they cannot go on, and no answer is cut, mixed or billed twice. */
import { hash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { answersOf, batchOfLines, shownBatch } from "../testing/batch-lines.ts";
import { MockUpstream, type MockOptions } from "../testing/mock-upstream.ts";
import { chat, testGateway, type TestGateway } from "../testing/test-gateway.ts";
import type { UsageRecord } from "../usage/record.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function upstream(options: MockOptions): Promise<MockUpstream> {
  const mock = new MockUpstream(options);
  await mock.start();
  cleanups.push(() => mock.kill().catch(() => undefined));
  return mock;
}

/** A gateway with the teams `much` and `little`. `more`: other pools and bounds. */
async function start(
  own: readonly MockUpstream[],
  fair: string,
  more: Partial<Record<string, string>> = {},
): Promise<TestGateway> {
  const { pool = "", pools = "", routes = "", bounds = "" } = more;
  const teams = ["much", "little"].map(
    (name) => `  - { name: ${name}, keys: [{ sha256: ${hash("sha256", name)} }] }\n`,
  );
  const urls = own.map(({ url }) => `"${url}"`).join(", ");
  const gateway = await testGateway(
    `bounds: { shutdownTimeout: 2s${bounds} }\nteams:\n${teams.join("")}pools:\n` +
      `  - { name: home, engine: vllm, replicas: [${urls}], fair: { ${fair} }${pool} }\n${pools}` +
      `models: [{ name: m, outputTokensReserved: 100, pools: [home${routes}] }]\n`,
  );
  cleanups.push(() => gateway.stop());
  return gateway;
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 10));
}

const ended = (gateway: TestGateway, id: string): Promise<void> =>
  until(async () => (await shownBatch(gateway, "little", id)).status === "completed");

/** Records of what team `little` used, without those of nothing. */
function billed({ state }: TestGateway): readonly UsageRecord[] {
  const folder = path.join(state, "gateway", "usage");
  return readdirSync(folder)
    .flatMap((name) => readFileSync(path.join(folder, name), "utf8").split("\n"))
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as UsageRecord)
    .filter(({ team, completionTokens }) => team === "little" && completionTokens > 0);
}

const textOf = (count: number): string => Array.from({ length: count }, (_, at) => `t${at} `).join("");

describe("a line of a batch", () => {
  it("that cannot be continued stops at once for a request, and begins again", async () => {
    const own = await upstream({ tokens: 8, everyMs: 60, isReasoning: true });
    const gateway = await start([own], "concurrency: 1");
    const id = await batchOfLines(gateway, "little", [{}]);
    await until(() => own.sentTokens === 3);
    expect((await chat(gateway.url, { max_tokens: 1 }, "much")).status).toBe(200);
    expect(own.cancelledCount).toBe(1);
    await ended(gateway, id);
    const message = { role: "assistant", content: "", reasoning_content: textOf(8) };
    expect(await answersOf(gateway, "little", id)).toMatchObject([{ choices: [{ message }] }]);
    expect(own.lastBody?.continue_final_message).toBeUndefined();
    await until(() => billed(gateway).length > 0);
    expect(billed(gateway)).toMatchObject([{ outcome: "completed", promptTokens: 2, completionTokens: 8 }]);
  });

  it.each([{ return_token_ids: true }, { modalities: ["text"] }, { audio: {} }, { logprobs: true }])(
    "with %j is no stream, whose values would have to be joined",
    async (fields) => {
      const own = await upstream({ tokens: 2 });
      const gateway = await start([own], "concurrency: 1");
      await ended(gateway, await batchOfLines(gateway, "little", [fields]));
      expect(own.lastBody?.stream).toBe(false);
    },
  );

  it("goes on at another replica when its stream ends without a reason for its end", async () => {
    const own = [await upstream({ tokens: 9, endAfter: 3 }), await upstream({ tokens: 9, endAfter: 4 })];
    const gateway = await start(own, "concurrency: 4");
    const id = await batchOfLines(gateway, "little", [{}]);
    await ended(gateway, id);
    const choice = { message: { role: "assistant", content: textOf(9) }, finish_reason: "stop" };
    expect(await answersOf(gateway, "little", id)).toMatchObject([{ choices: [choice] }]);
    expect(own.reduce((sum, { sentTokens }) => sum + sentTokens, 0)).toBe(9);
    await until(() => billed(gateway).length > 0);
    expect(billed(gateway)).toMatchObject([{ outcome: "completed", promptTokens: 2, completionTokens: 9 }]);
  });

  it("begins again at another replica when its stream states an error", async () => {
    const own = [await upstream({}), await upstream({})];
    // Whichever is asked first fails.
    let options: MockOptions = { tokens: 9, errorAfter: 3 };
    const set = (next: MockOptions): void => void (options = next);
    for (const mock of own) Object.defineProperty(mock, "options", { get: () => options, set });
    const gateway = await start(own, "concurrency: 4");
    const id = await batchOfLines(gateway, "little", [{}]);
    await ended(gateway, id);
    expect(await answersOf(gateway, "little", id)).toMatchObject([{ choices: [{ message: { content: textOf(9) } }] }]);
    expect(own.map(({ requestCount }) => requestCount)).toEqual([1, 1]);
    await until(() => billed(gateway).length > 0);
    expect(billed(gateway)).toMatchObject([{ outcome: "completed", promptTokens: 2, completionTokens: 9 }]);
  });

  it("fails and is not billed when every stream of it ends without a reason for its end", async () => {
    const own = [await upstream({}), await upstream({}), await upstream({})];
    const set = (): void => undefined;
    for (const mock of own) Object.defineProperty(mock, "options", { get: () => ({ tokens: 9, endAfter: 1 }), set });
    const gateway = await start(own, "concurrency: 4");
    const id = await batchOfLines(gateway, "little", [{}]);
    await ended(gateway, id);
    const { request_counts: counts, output_file_id: output } = await shownBatch(gateway, "little", id);
    expect([counts, output]).toEqual([{ total: 1, completed: 0, failed: 1 }, null]);
    expect(billed(gateway)).toEqual([]);
    expect(own.reduce((sum, { requestCount }) => sum + requestCount, 0)).toBe(3);
  });

  it("waits and is tried again when the gateway has no memory for its answer", async () => {
    const own = await upstream({ tokens: 8, everyMs: 30 });
    // Room for the events of one answer, and not for those of two at the same time.
    const gateway = await start([own], "concurrency: 2", { bounds: ", answer: 2KiB, answers: 2KiB" });
    const id = await batchOfLines(gateway, "little", [{}, {}]);
    await ended(gateway, id);
    const { request_counts: counts } = await shownBatch(gateway, "little", id);
    expect([counts, own.requestCount > 2]).toEqual([{ total: 2, completed: 2, failed: 0 }, true]);
    const answers = await answersOf(gateway, "little", id);
    expect(answers).toMatchObject([1, 2].map(() => ({ choices: [{ message: { content: textOf(8) } }] })));
    await until(() => billed(gateway).length >= 2);
    expect(billed(gateway).map(({ completionTokens }) => completionTokens)).toEqual([8, 8]);
  });

  /** Stops a line after three tokens at `home` for a request that stays there, until the line ends elsewhere. */
  async function leavesHome(home: MockUpstream, gateway: TestGateway): Promise<readonly object[]> {
    const id = await batchOfLines(gateway, "little", [{}]);
    await until(() => home.sentTokens === 3);
    home.options = { delayMs: 60_000 };
    const leaving = new AbortController();
    const asked = chat(gateway.url, {}, "much", leaving.signal).catch(() => "left");
    await ended(gateway, id);
    leaving.abort();
    expect(await asked).toBe("left");
    await until(() => billed(gateway).length > 0);
    return answersOf(gateway, "little", id);
  }

  it.each([
    ["another pool of its model", "", "overloaded", {}],
    ["the overflow of its pool", ", overflow: { pool: away }", "overflow", { overflow: "home" }],
  ])("begins again in %s, which makes and is paid for all of its answer", async (_, pool, when, record) => {
    const [home, away] = [await upstream({ tokens: 8, everyMs: 60 }), await upstream({ tokens: 8 })];
    const gateway = await start([home], "concurrency: 1, waitMax: 200ms", {
      pool,
      pools: `  - { name: away, engine: vllm, replicas: ["${away.url}"], price: { output: 10 } }\n`,
      routes: `, { pool: away, model: big, when: [${when}] }`,
    });
    const answers = await leavesHome(home, gateway);
    expect(answers).toMatchObject([{ model: "big", choices: [{ message: { content: textOf(8) } }] }]);
    expect([away.sentTokens, away.lastBody?.continue_final_message]).toEqual([8, undefined]);
    const paid = { pool: "away", promptTokens: 2, completionTokens: 8, nanoUsd: 80_000, ...record };
    expect(billed(gateway)).toMatchObject([paid]);
  });
});
