import { EventEmitter } from "node:events";
import { estimateStarts, forecastPresentOf, usualEstimateOptions, whatIf } from "@headroom/sim";
import { whatIfChange, whatIfView } from "@headroom/views";
import * as catalogue from "@headroom/perf/accelerator-types";
import { whatIfQuestion } from "@headroom/protocol";
import type { FastifyReply } from "fastify";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ByteReplies } from "./bytes-reply.ts";
import { removeHome, startLive, temporaryHome, type LiveControlPlane } from "./testing/live-control-plane.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive(temporaryHome());
  const gang = { accelerators: 2, coresMilli: 0 };
  for (const name of ["holds", "waits"])
    await live.client.submitWorkload({ kind: "train", name, run: "sleep 600", gang });
  for await (const { event } of live.client.events()) if (event.kind === "attemptStarted") break;
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

describe("the state as bytes", () => {
  it("is that of one event, and gives the answers that the control plane gives", async () => {
    const { items } = await live.client.listNodes();
    const asked = { horizonMs: 3_600_000, addNodes: [{ like: items[0]?.id ?? "", count: 1 }] };
    const answer = await live.client.whatIf(asked);
    const taken = await live.client.snapshot();
    expect(taken.sequence).toBe((await live.client.status()).sequence);
    expect(taken.nowMs).toBeGreaterThanOrEqual(answer.fromMs);
    expect(answer).toMatchObject({ earlierCount: 1, sequence: taken.sequence });
    const present = forecastPresentOf(taken.bytes, answer.fromMs);
    const { engine, nowMs } = present;
    const starts = estimateStarts(engine, { ...usualEstimateOptions, nowMs, calibration: null });
    const question = whatIfQuestion.parse(asked);
    const { horizonMs, arrivals } = question;
    const change = whatIfChange(present.engine, question, catalogue);
    const again = whatIfView(present, { change, horizonMs, arrivals }, whatIf, starts);
    expect(again).toEqual(answer);
  });

  it("is given to those who may read, and not where it is larger than they can take", async () => {
    const refused = await live.request("/v1/snapshot", { headers: { authorization: "" } });
    expect(refused.status).toBe(401);
    const sent = await live.request("/v1/snapshot");
    expect(sent.headers.get("content-type")).toBe("application/octet-stream");
    expect(sent.headers.get("cache-control")).toBe("no-store");
    const { byteLength } = await sent.arrayBuffer();
    await expect(live.client.snapshot({ maxBytes: 10 })).rejects.toMatchObject({
      code: "snapshotTooLarge",
      problem: { facts: { bytes: byteLength, maxBytes: 10 } },
    });
    expect((await live.client.snapshot({ maxBytes: byteLength })).bytes).toHaveLength(byteLength);
  });

  it("is held for so many clients at a time, and for others as soon as one has it", async () => {
    const replies = new ByteReplies();
    const sent: EventEmitter[] = [];
    const taken = { bytes: new Uint8Array(1), sequence: 1, nowMs: 1 };
    const take = (): Promise<void> => {
      const raw = Object.assign(new EventEmitter(), { closed: false });
      const reply = { raw, headers: () => reply, send: () => sent.push(raw) };
      return replies.send(reply as unknown as FastifyReply, () => Promise.resolve(taken));
    };
    for (let count = 0; count < 4; count++) await take();
    await expect(take()).rejects.toMatchObject({ code: "overloaded" });
    sent[0]?.emit("close");
    await take();
    expect(sent).toHaveLength(5);
  });
});
