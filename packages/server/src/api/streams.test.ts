import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import type { EventEnvelope, LogChunk } from "@headroom/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { STREAMS_MAX } from "./stream-reply.ts";
import { exchange, removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";
import type { LiveControlPlane } from "./testing/live-control-plane.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive(temporaryHome());
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

/** Reads events until one matches, and includes it. */
async function eventsUntil(
  from: number | "next",
  isLast: (event: EventEnvelope["event"]) => boolean,
): Promise<EventEnvelope[]> {
  const seen: EventEnvelope[] = [];
  for await (const envelope of live.client.events({ from })) {
    seen.push(envelope);
    if (isLast(envelope.event)) return seen;
  }
  throw new Error("the stream ended");
}

async function logsOf(id: string, query: Parameters<LiveControlPlane["client"]["logs"]>[1]): Promise<LogChunk[]> {
  const chunks: LogChunk[] = [];
  for await (const chunk of live.client.logs(id, query)) chunks.push(chunk);
  return chunks;
}

const textOf = (chunks: readonly LogChunk[]): string => chunks.map(({ text }) => text).join("");

/** Sends a raw request, so that reading can be paused. */
async function openRaw(target: string, headers: object = {}): Promise<IncomingMessage> {
  const outgoing = request(live.url + target, {
    headers: { authorization: `Bearer ${live.token}`, ...headers },
    agent: false,
  });
  outgoing.end();
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
  return incoming;
}

async function noStreamsOpen(): Promise<void> {
  const openCount = async (): Promise<string> => {
    const text = await (await live.request("/v1/metrics")).text();
    return /^headroom_http_streams_open (\d+)$/m.exec(text)?.[1] ?? "";
  };
  await expect.poll(openCount).toBe("0");
}

describe("the event stream", () => {
  it("tells everything from a sequence on, without a gap, and can be taken up again anywhere", async () => {
    const { workloadId } = await live.client.submitWorkload({ kind: "train", name: "quick", run: "true" });
    const isEnd = (event: EventEnvelope["event"]): boolean =>
      event.kind === "workloadEnded" && event.workloadId === workloadId;
    const all = await eventsUntil(1, isEnd);
    expect(all.map(({ sequence }) => sequence)).toEqual(all.map((_, index) => index + 1));
    expect(all.map(({ event }) => event.kind)).toContain("workloadSubmitted");
    const from = Math.floor(all.length / 2);
    expect(await eventsUntil(from, isEnd)).toEqual(all.slice(from - 1));
  });

  it("goes on live", async () => {
    const incoming = await openRaw("/v1/events?from=next");
    const { sequence } = await live.client.status();
    await live.client.apply({ teams: [{ name: "live" }] });
    const [piece] = (await once(incoming, "data")) as [Buffer];
    expect(JSON.parse(piece.toString().split("\n", 1)[0] ?? "")).toMatchObject({
      sequence: sequence + 1,
      event: { kind: "teamDefined", team: { name: "live" } },
    });
    incoming.destroy();
  });

  it("comes as server-sent events where only those are accepted, resumable by the last id", async () => {
    const incoming = await openRaw("/v1/events", { accept: "text/event-stream", "last-event-id": "1" });
    expect(incoming.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
    const [piece] = (await once(incoming, "data")) as [Buffer];
    expect(piece.toString()).toMatch(/^id: 2\ndata: \{"sequence":2,"event":\{.*\}\}\n\n/);
    incoming.destroy();
    expect((await live.request("/v1/events", { headers: { accept: "text/html" } })).status).toBe(406);
  });

  it("waits for a reader that does not read, and goes on when it does", async () => {
    const incoming = await openRaw("/v1/events?from=1");
    incoming.pause();
    const run = `# ${"x".repeat(60_000)}`;
    for (let index = 0; index < 200; index++) {
      await live.client.submitWorkload({ kind: "train", name: `large-${index}`, run, gang: { accelerators: 99 } });
    }
    const { sequence } = await live.client.status();
    let pending = "";
    let expected = 1;
    for await (const piece of incoming.setEncoding("utf8")) {
      const lines = (pending + String(piece)).split("\n");
      pending = lines.pop() ?? "";
      for (const line of lines) if (line !== "") expect(JSON.parse(line)).toHaveProperty("sequence", expected++);
      if (expected > sequence) break;
    }
    expect(expected).toBeGreaterThan(sequence);
  });

  it("is bounded in number, and a place is free again when a reader leaves", async () => {
    await noStreamsOpen();
    const open: IncomingMessage[] = [];
    for (let index = 0; index < STREAMS_MAX; index++) open.push(await openRaw("/v1/events?from=next"));
    expect(open.every(({ statusCode }) => statusCode === 200)).toBe(true);
    const refused = await live.request("/v1/events");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    await refused.text();
    for (const incoming of open) incoming.destroy();
    await noStreamsOpen();
  });
});

describe("logs", () => {
  it("show all workers, one of them, or one stream", async () => {
    const run = "echo out $RANK; echo err $RANK >&2";
    const { workloadId } = await live.client.submitWorkload({ kind: "train", name: "two", run, gang: { workers: 2 } });
    const all = await logsOf(workloadId, { follow: true });
    expect(all.map(({ worker, stream, text }) => `${worker} ${stream} ${text}`).toSorted()).toEqual([
      "0 stderr err 0\n",
      "0 stdout out 0\n",
      "1 stderr err 1\n",
      "1 stdout out 1\n",
    ]);
    expect(textOf(await logsOf(workloadId, { worker: 1, stream: "stdout" }))).toBe("out 1\n");
    expect(textOf(await logsOf(workloadId, { worker: 0, stream: "stderr", tailLines: 1 }))).toBe("err 0\n");
  });

  it("follow a workload over its retries to its end", async () => {
    const run =
      'echo "try $HEADROOM_ATTEMPT_ID"; test -e "$HEADROOM_CHECKPOINT_DIR/tried" || { mkdir -p "$HEADROOM_CHECKPOINT_DIR"; touch "$HEADROOM_CHECKPOINT_DIR/tried"; exit 3; }';
    const retries = { max: 1, backoffMs: 50 };
    const { workloadId } = await live.client.submitWorkload({ kind: "train", name: "second-try", run, retries });
    const chunks = await logsOf(workloadId, { follow: true });
    const { attempts, phase } = await live.client.getWorkload(workloadId);
    expect(phase).toBe("succeeded");
    expect(attempts).toHaveLength(2);
    expect(textOf(chunks)).toBe(attempts.map(({ id }) => `try ${id}\n`).join(""));
    const [first] = attempts;
    expect(textOf(await logsOf(workloadId, { attempt: first?.id }))).toBe(`try ${first?.id}\n`);
  });

  it("wait for work that waits, and end when it is stopped", async () => {
    const gang = { accelerators: 99 };
    const { workloadId } = await live.client.submitWorkload({ kind: "train", name: "never", run: "true", gang });
    expect(await logsOf(workloadId, {})).toEqual([]);
    const following = logsOf(workloadId, { follow: true });
    await live.client.stopWorkload(workloadId);
    expect(await following).toEqual([]);
    await expect(live.client.stopWorkload(workloadId)).rejects.toMatchObject({ code: "workloadEnded" });
  });

  it("are refused for what does not exist, with a status", async () => {
    expect((await live.request("/v1/workloads/w999999/logs")).status).toBe(404);
    await expect(logsOf("w1", { attempt: "w2.1" })).rejects.toMatchObject({ code: "unknownAttempt" });
  });

  it("end when their reader leaves, while the work goes on", async () => {
    const run = "echo ready; exec sleep 600";
    const { workloadId } = await live.client.submitWorkload({ kind: "train", name: "long", run });
    const abort = new AbortController();
    const read = async (): Promise<void> => {
      for await (const { text } of live.client.logs(workloadId, { follow: true, signal: abort.signal })) {
        if (text.includes("ready")) abort.abort();
      }
    };
    await expect(read()).rejects.toThrow(/abort/i);
    // A client may read the output before the journal records the attempt's start.
    await eventsUntil(1, (event) => event.kind === "attemptStarted" && event.attemptId.startsWith(`${workloadId}.`));
    const usage = await live.client.usage(workloadId);
    expect(usage.attempts[0]?.workers.map(({ worker }) => worker)).toEqual([0]);
    expect((await live.client.getWorkload(workloadId)).phase).toBe("running");
    await live.client.stopWorkload(workloadId);
    await logsOf(workloadId, { follow: true });
    expect((await live.client.getWorkload(workloadId)).endSentence).toBe("It was stopped on request.");
  });
});

describe("events of another journal", () => {
  it("are not waited for", async () => {
    const { sequence } = await live.client.status();
    await expect(eventsUntil(sequence + 2, () => true)).rejects.toMatchObject({ code: "invalidRequest" });
    const next = eventsUntil(sequence + 1, () => true);
    await live.client.submitWorkload({ kind: "train", name: "next", run: "true", gang: { accelerators: 99 } });
    expect((await next).map((each) => each.sequence)).toEqual([sequence + 1]);
  });
});

describe("closing", () => {
  it("tells open streams that it ends, keeps what was acknowledged, and a new start answers a retry the same", async () => {
    const home = temporaryHome();
    const first = await startLive(home);
    const reading = (async (): Promise<number> => {
      let count = 0;
      try {
        for await (const _ of first.client.events({ from: 1 })) count++;
      } catch (error) {
        expect(error).toMatchObject({ code: "closing" });
        return count;
      }
      throw new Error("it ended as if there were nothing more to tell");
    })();
    // The rejection gets its handler here, because the stream fails while `close` is awaited.
    reading.catch(() => {});
    const spec = { kind: "train", name: "kept", run: "true", gang: { accelerators: 99 } } as const;
    const accepted = await first.client.submitWorkload(spec, { idempotencyKey: "kept" });
    await first.close();
    expect(await reading).toBeGreaterThan(0);
    const second = await startLive(home);
    expect(second.token).toBe(first.token);
    expect(await second.client.submitWorkload(spec, { idempotencyKey: "kept" })).toEqual(accepted);
    expect((await second.client.listWorkloads()).items.map(({ name }) => name)).toEqual(["kept"]);
    await second.close();
    removeHome(home);
  });

  it("answers what it accepted, and does not wait for a client that never finishes its request", async () => {
    const home = temporaryHome();
    const first = await startLive(home);
    const head = `POST /v1/workloads HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${first.token}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{`;
    const stuck = exchange(first.url, head);
    const submissions = Array.from({ length: 50 }, (_, index) =>
      first.client.submitWorkload({
        kind: "train",
        name: `in-flight-${index}`,
        run: "true",
        gang: { accelerators: 99 },
      }),
    );
    await submissions[0];
    const settled = Promise.allSettled(submissions);
    await first.close();
    await stuck;
    const accepted = (await settled).filter(({ status }) => status === "fulfilled").length;
    const second = await startLive(home);
    expect((await second.client.status()).workloads.submitted).toBeGreaterThanOrEqual(accepted);
    expect(accepted).toBeGreaterThan(0);
    await second.close();
    removeHome(home);
  });
});
