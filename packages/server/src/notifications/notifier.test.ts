import { createHmac } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { poolName, siteName } from "@headroom/model";
import { createHttpClient } from "@headroom/protocol";
import { afterEach, beforeEach, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";
import type { NotificationMessage } from "./message.ts";
import { notificationRules } from "./rules.ts";

let home: string;
let live: LiveControlPlane | null = null;
let receiver: Server;
let url: string;
/** Bodies that the receiver accepted, and the statuses with which it answers the first requests. */
let received: { readonly message: NotificationMessage; readonly signature: string | undefined }[];
let answers: number[];

beforeEach(async () => {
  home = temporaryHome();
  received = [];
  answers = [];
  receiver = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += String(piece)));
    request.on("end", () => {
      const status = answers.shift() ?? 200;
      const signature = request.headers["x-headroom-signature"];
      if (status === 200)
        received.push({ message: JSON.parse(body) as NotificationMessage, signature: String(signature) });
      response.writeHead(status).end(body.length.toString());
    });
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
});
afterEach(async () => {
  await live?.close();
  live = null;
  receiver.closeAllConnections();
  receiver.close();
  removeHome(home);
});

const start = async (...notify: readonly object[]): Promise<LiveControlPlane> =>
  (live = await startLive(home, {
    notifications: notificationRules.parse({ notify }).notify,
    notificationPausesMs: [1, 1],
  }));
const work = (name: string, run: string) =>
  ({ kind: "train", name, run, gang: { coresMilli: 0 }, retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 } }) as const;
const names = (): (string | undefined)[] => received.map(({ message }) => message.workload?.name);

it("posts what failed, signed, again after a refusal, and nothing else", async () => {
  const secret = "0123456789abcdef";
  const { client } = await start({ on: ["failed"], webhook: url, secret });
  answers = [500, 429];
  await client.submitWorkload(work("well", "true"));
  const { workloadId } = await client.submitWorkload(work("badly", "exit 3"));
  await expect.poll(names).toEqual(["badly"]);
  const { message, signature } = received[0]!;
  expect(message).toMatchObject({
    kinds: ["ended", "failed"],
    team: "default",
    workload: { id: workloadId, phase: "failed" },
    sentence: `Workload badly (${workloadId}) ended. It failed: worker 0 exited with code 3.`,
  });
  const expected = createHmac("sha256", secret).update(JSON.stringify(message)).digest("hex");
  expect(signature).toBe(`sha256=${expected}`);
});

it("runs a command with the message on its input, and gives up on one that fails without losing the next", async () => {
  const { client, complaints } = await start(
    { on: ["ended"], command: `cat > ${home}/told.json` },
    { on: ["ended"], command: "exit 7" },
    { on: ["ended"], team: "others", webhook: url },
  );
  await client.submitWorkload(work("one", "true"));
  await expect.poll(() => complaints).toEqual([expect.stringContaining("code 7")]);
  expect(JSON.parse(readFileSync(path.join(home, "told.json"), "utf8"))).toMatchObject({ workload: { name: "one" } });
  expect(received).toEqual([]);
});

it("tells of work that is preempted and of a budget that is used up", async () => {
  const { client } = await start({ on: ["preempted", "budget"], webhook: url });
  const pool = { name: poolName("local"), site: siteName("local"), executor: "local", acceleratorType: "slot" };
  const microUsdPerHour = 1_000_000_000_000;
  const budget = { microUsd: 1_000_000, period: "total", over: "warn" } as const;
  await client.apply({
    pools: [{ ...pool, priceMicroUsdPerHour: microUsdPerHour }],
    teams: [{ name: "spends", parent: null, budget }],
  });
  const gang = { accelerators: 2, coresMilli: 0 };
  const low = { ...work("low", "sleep 600"), gang, team: "spends", priority: -100, preemptible: true };
  const { workloadId } = await client.submitWorkload(low);
  await expect.poll(async () => (await client.getWorkload(workloadId)).phase).toBe("running");
  await expect.poll(() => received.map(({ message }) => message.kinds[0])).toContain("budget");
  expect(received[0]?.message).toMatchObject({ kinds: ["budget"], team: "spends", workload: null });
  await client.submitWorkload({ ...work("high", "true"), gang, team: "spends", priority: 100 });
  await expect
    .poll(() => received.map(({ message }) => [message.kinds[0], message.workload?.name]))
    .toContainEqual(["preempted", "low"]);
  await client.stopWorkload(workloadId);
});

it("sends to a user's rule what that user submitted", async () => {
  const { url: baseUrl, token } = await start({ on: ["ended"], user: "alice", webhook: url });
  const clientOf = (user: string) =>
    createHttpClient({
      baseUrl,
      user,
      fetch: async (target, request) => fetch(target, request as RequestInit),
      ...(token === null ? {} : { token }),
    });
  const ends = clientOf("bob");
  await ends.submitWorkload(work("bobs", "true"));
  await expect.poll(async () => (await ends.listWorkloads({ phase: "succeeded" })).items.length).toBe(1);
  await clientOf("alice").submitWorkload(work("alices", "true"));
  await expect.poll(names).toEqual(["alices"]);
});

it("sends after a restart what was not delivered before it, and nothing twice that was", async () => {
  const rule = { on: ["ended"], webhook: url };
  const first = await start(rule);
  await first.client.submitWorkload(work("one", "true"));
  await expect.poll(names).toEqual(["one"]);
  answers = [503, 503, 503, 503, 503, 503, 503, 503];
  receiver.closeAllConnections();
  receiver.removeAllListeners("request");
  await first.client.submitWorkload(work("two", "true"));
  await expect.poll(async () => (await first.client.listWorkloads({ phase: "succeeded" })).items.length).toBe(2);
  await first.close();
  receiver.on("request", (request, response) => {
    let body = "";
    request.on("data", (piece) => (body += String(piece)));
    request.on("end", () => {
      received.push({ message: JSON.parse(body) as NotificationMessage, signature: undefined });
      response.end();
    });
  });
  await start(rule);
  await expect.poll(names).toEqual(["one", "two"]);
});
