import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { followedTokens, trialRequest } from "@headroom/protocol";
import type { Trial } from "@headroom/protocol";
import { AccessTokens } from "../auth/access-tokens.ts";
import { EndpointTrials } from "./endpoint-trials.ts";
import { GatewayReader } from "./gateway-reader.ts";

const ends: (() => unknown)[] = [];
afterEach(() => {
  for (const end of ends.splice(0).toReversed()) end();
});

type Answers = (request: IncomingMessage, response: ServerResponse, body: string) => void;

async function served(answers: Answers): Promise<string> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => answers(request, response, body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ends.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A gateway whose pool follows `lab/chat`, and which answers requests as `answers` does. */
async function trialsAt(answers: Answers): Promise<{ trials: EndpointTrials; tokens: AccessTokens }> {
  const url = await served(answers);
  const pool = { name: "p", engine: "vllm", endpoint: "lab/chat", models: ["c"], requests: 0, replicaCount: 0 };
  const counts = { inProgress: 0, held: 0, connections: 0, minutes: [], refused: [], teamCount: 0, teams: [] };
  const overview = { id: "g", url, startedAtMs: 1, nowMs: 2, notReady: [], ...counts, poolCount: 1, errors: [] };
  const admin = await served((_request, response) =>
    response.end(JSON.stringify({ ...overview, pools: [{ ...pool, readyCount: 0, replicas: [] }] })),
  );
  const home = mkdtempSync(path.join(tmpdir(), "headroom-trials-"));
  ends.push(() => rmSync(home, { recursive: true }));
  writeFileSync(path.join(home, "admin-token"), "admin\n");
  const tokens = new AccessTokens({ home, nowMs: () => Date.now() });
  ends.push(() => tokens.close());
  const reader = new GatewayReader({ admin, tokenFile: path.join(home, "admin-token") });
  return { trials: new EndpointTrials(reader, tokens), tokens };
}

const stream = (...events: readonly object[]): string =>
  [...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), "data: [DONE]\n\n"].join("");

const run = (trials: EndpointTrials, fields: object = {}, user = "alice"): Promise<Trial> =>
  trials.run(
    user,
    { name: "chat", team: "lab" },
    {
      request: trialRequest.parse({ prompt: "hello", ...fields }),
      gone: new AbortController().signal,
    },
  );

describe("a trial of an endpoint", () => {
  it("waits until the gateway knows its token, and answers with text, tokens and times", async () => {
    let refusals = 0;
    let asked: unknown = null;
    const { trials, tokens } = await trialsAt((request, response, body) => {
      if (refusals++ < 2) {
        response.statusCode = 401;
        response.end("{}");
        return;
      }
      asked = { url: request.url, body: JSON.parse(body) as unknown, key: request.headers.authorization };
      response.setHeader("x-request-id", "g-1");
      response.end(
        stream(
          { choices: [{ delta: { content: "good " } }] },
          { choices: [{ delta: { content: "day" }, finish_reason: "stop" }] },
          { choices: [], usage: { prompt_tokens: 4, completion_tokens: 2 } },
        ),
      );
    });
    const trial = await run(trials, { maxTokens: 5 });
    expect(trial).toMatchObject({ model: "c", requestId: "g-1", text: "good day", finish: "stop" });
    expect(trial).toMatchObject({ inputTokens: 4, outputTokens: 2 });
    expect(trial.totalMs).toBeGreaterThanOrEqual(trial.firstTokenMs ?? Infinity);
    const messages = [{ role: "user", content: "hello" }];
    expect(asked).toMatchObject({ url: "/v1/chat/completions", body: { model: "c", messages, max_tokens: 5 } });
    const followed = tokens.followed().items ?? [];
    expect(followed).toMatchObject([{ name: "console-alice", team: "lab" }]);
    expect(tokens.find((asked as { key: string }).key.slice(7))).toBeNull();
    tokens.issue("alice@example.org", "lab");
    expect(followedTokens.parse(tokens.followed()).items?.at(-1)?.name).toBe("console-alice_example.org");
  });

  it("says why the gateway refuses, and does not take a cut answer for a whole one", async () => {
    let answer = (response: ServerResponse): void => {
      response.statusCode = 429;
      response.end(JSON.stringify({ error: { message: "The team lab has used up its tokens." } }));
    };
    const { trials } = await trialsAt((_request, response) => answer(response));
    await expect(run(trials)).rejects.toMatchObject({
      code: "gatewayUnavailable",
      message: expect.stringContaining("answered 429: The team lab has used up its tokens.") as unknown,
    });
    answer = (response) => void response.end(`data: {"choices":[{"text":"half"}]}\n\n`);
    await expect(run(trials, { form: "completion" })).rejects.toMatchObject({ code: "gatewayUnavailable" });
    answer = (response) => void response.end("data: no JSON\n\n");
    await expect(run(trials)).rejects.toMatchObject({ code: "gatewayUnavailable" });
    await expect(
      trials.run(
        "alice",
        { name: "other", team: "lab" },
        {
          request: trialRequest.parse({ prompt: "x" }),
          gone: new AbortController().signal,
        },
      ),
    ).rejects.toMatchObject({ code: "noGateway", message: expect.stringContaining("lab/other") as unknown });
  });

  it("reads a refusal without end no further than a message", async () => {
    const { trials } = await trialsAt((_request, response) => {
      response.statusCode = 500;
      const more = (): void => {
        if (response.destroyed) return;
        response.write("x".repeat(65_536));
        setImmediate(more);
      };
      more();
    });
    await expect(run(trials)).rejects.toMatchObject({
      code: "gatewayUnavailable",
      message: expect.stringContaining("answered 500") as unknown,
    });
  });

  it("runs two at a time for each user, and ends when its reader leaves", async () => {
    const { trials } = await trialsAt(() => undefined);
    const leave = new AbortController();
    const waiting = [1, 2].map(() =>
      trials.run(
        "alice",
        { name: "chat", team: "lab" },
        {
          request: trialRequest.parse({ prompt: "x" }),
          gone: leave.signal,
        },
      ),
    );
    const ended = Promise.allSettled(waiting);
    await expect(run(trials)).rejects.toMatchObject({ code: "tooManyTrials" });
    leave.abort();
    expect((await ended).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });
});
