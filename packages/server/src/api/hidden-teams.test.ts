/** A reader of one team finds no byte of another: the names there are like no other text, and are looked for in every answer. */
import { writeFileSync } from "node:fs";
import { operationNames, operations } from "@headroom/protocol";
import type { TeamName } from "@headroom/model";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AccessTokens } from "../auth/access-tokens.ts";
import { grantOf } from "../auth/authorize.ts";
import type { DriverLog } from "../driver/driver-log.ts";
import { createToken } from "./tokens.ts";
import { removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";
import type { LiveControlPlane } from "./testing/live-control-plane.ts";

/** Part of every name of the other teams. */
const MARK = "zq";
const json = { "content-type": "application/json" };
let live: LiveControlPlane;
let own: string;
let hidden: string;
const secrets: string[] = [];

async function post(path: string, body: unknown, user = "alice"): Promise<Record<string, string>> {
  const headers = { ...json, "headroom-user": user };
  const answer = await live.request(path, { method: "POST", body: JSON.stringify(body), headers });
  const value = (await answer.json()) as Record<string, string>;
  if (!answer.ok) throw new Error(JSON.stringify(value));
  return value;
}

beforeAll(async () => {
  const home = temporaryHome();
  const atMs = Math.floor(Date.now() / 300_000) * 300_000;
  const held = { [`${MARK}-other`]: 2, "lab/nlp": 1 };
  const sample = { atMs, total: 4, held: 3, queued: 0, unavailable: 0, teams: held };
  writeFileSync(`${home}/capacity-history.json`, JSON.stringify({ everyMs: 300_000, samples: [sample] }));
  live = await startLive(home);
  const teams = ["lab", "lab/nlp", `lab/${MARK}-vision`, `${MARK}-other`].map((name) => ({
    name,
    parent: name.includes("/") ? "lab" : null,
  }));
  const times = { minutes: [0], hours: [3], daysOfMonth: [1], months: [1], daysOfWeek: [0] };
  const gang = { accelerators: 2 };
  const others = { kind: "train", team: `${MARK}-other`, run: "sleep 240", gang, walltimeMs: 3_600_000 } as const;
  const schedules = [
    { name: `${MARK}-nightly`, times, concurrency: "forbid", spec: { ...others, name: `${MARK}-run` } },
  ];
  const startMs = Date.now() + 86_400_000;
  const reservation = {
    kind: "reservation",
    name: `${MARK}-kept`,
    team: `${MARK}-other`,
    accelerators: 1,
    startMs,
    endMs: startMs + 3_600_000,
  };
  await post("/v1/apply", { teams, schedules, calendar: [reservation] }, `${MARK}-mallory`);
  const first = { ...others, name: `${MARK}-holds`, env: { NOTE: `${MARK}-env` } };
  hidden = (await post("/v1/workloads", first, `${MARK}-mallory`))["workloadId"] ?? "";
  await post("/v1/workloads", { ...others, name: `${MARK}-waits`, team: `lab/${MARK}-vision` }, `${MARK}-mallory`);
  const mine = { kind: "train", name: "mine", team: "lab/nlp", run: "true", gang, walltimeMs: 60_000 };
  own = (await post("/v1/workloads", mine))["workloadId"] ?? "";
  for (const role of ["viewer", "member", "operator", "admin"] as const)
    secrets.push((await live.client.createToken({ name: role, user: "alice", team: "lab/nlp", role })).secret);
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

async function textAs(secret: string, path: string, init: Omit<RequestInit, "headers"> = {}): Promise<string> {
  const headers = { ...json, authorization: `Bearer ${secret}` };
  return (await fetch(live.url + path, { ...init, headers })).text();
}

/** The first frames of a stream that does not end. */
async function firstOf(secret: string, path: string): Promise<string> {
  const stop = AbortSignal.timeout(300);
  let text = "";
  try {
    const headers = { authorization: `Bearer ${secret}` };
    const response = await fetch(live.url + path, { headers, signal: stop });
    for await (const piece of response.body ?? []) text += Buffer.from(piece).toString();
  } catch {
    // The stream was left.
  }
  return text;
}

describe("a reader of one team", () => {
  it("finds no name of another team in any answer about its own work", async () => {
    for (const secret of secrets)
      for (const name of operationNames) {
        const { method, path, stream } = operations[name];
        if (method !== "GET" || stream) continue;
        const url = path.replace(/\{\w+\}/, own);
        expect({ name, text: await textAs(secret, url) }).toEqual({
          name,
          text: expect.not.stringContaining(MARK) as string,
        });
      }
    const why = await textAs(secrets[0] ?? "", `/v1/workloads/${own}/verdict`);
    expect(JSON.parse(why)).toMatchObject({ kind: "blocked" });
  });

  it("sees its own work, team and events", async () => {
    const [viewer = ""] = secrets;
    const list = JSON.parse(await textAs(viewer, "/v1/workloads")) as { items: { id: string }[] };
    expect(list.items.map(({ id }) => id)).toEqual([own]);
    const queue = JSON.parse(await textAs(viewer, "/v1/queue")) as { items: { workload: { id: string } }[] };
    expect(queue.items.map(({ workload }) => workload.id)).toEqual([own]);
    const teams = JSON.parse(await textAs(viewer, "/v1/teams")) as { items: { name: string }[] };
    expect(teams.items.map(({ name }) => name)).toEqual(["lab/nlp"]);
    const nodes = await textAs(viewer, "/v1/nodes");
    expect(nodes).toContain('"workloadId":"hidden"');
    const events = await firstOf(viewer, "/v1/events");
    expect(events).toContain(`"workloadId":"${own}"`);
    const sequences = events
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { sequence: number }).sequence);
    expect(sequences).toEqual(sequences.map((_, at) => at + 1));
    expect(events).toContain('"kind":"eventHidden"');
    expect(events).not.toContain(MARK);
    expect(events).not.toContain(`"${hidden}"`);
  });

  it("cannot find out what exists elsewhere by asking for it", async () => {
    const [, member = ""] = secrets;
    const after = (workload: string) => ({
      method: "POST",
      body: JSON.stringify({
        kind: "train",
        name: "probe",
        team: "lab/nlp",
        run: "true",
        after: [{ workload, on: "ok" }],
      }),
    });
    const told = async (path: string, init?: Omit<RequestInit, "headers">): Promise<string> =>
      textAs(member, path, init);
    const pairs = [
      [await told("/v1/workloads", after(hidden)), await told("/v1/workloads", after("w99"))],
      [await told(`/v1/workloads/${hidden}`), await told("/v1/workloads/w99")],
      [await told(`/v1/queue?cursor=${hidden}`), await told("/v1/queue?cursor=w99")],
      [await told(`/v1/workloads/${hidden}/logs`), await told("/v1/workloads/w99/logs")],
      [await told(`/v1/waste?workload=${hidden}`), await told("/v1/waste?workload=w99")],
      [await told(`/v1/workloads?team=${MARK}-other`), await told("/v1/workloads?team=none")],
    ] as const;
    for (const [exists, absent] of pairs) expect(exists.replaceAll(hidden, "w99")).toBe(absent);
  });

  it("gets no metrics of other teams, and no samples of what they held", async () => {
    const [viewer = ""] = secrets;
    const metrics = JSON.parse(await textAs(viewer, "/metrics")) as object;
    expect(metrics).toMatchObject({ code: "permissionDenied" });
    const everybody = await (await live.request("/v1/fleet/history")).text();
    expect(everybody).toContain(MARK);
    expect(JSON.parse(await textAs(viewer, "/v1/fleet/history"))).toMatchObject({
      samples: [{ held: 3, teams: { "lab/nlp": 1 } }],
    });
  });

  it("does not see from its own words which names other teams have", async () => {
    const [, member = "", , admin = ""] = secrets;
    const probe = { kind: "train", team: "lab/nlp", run: "true", gang: { accelerators: 1 } };
    const workloads = [`${MARK}-holds`, `${MARK}-none`].map((name) => ({ ...probe, name }));
    const planned = await textAs(member, "/v1/apply?dryRun=true", {
      method: "POST",
      body: JSON.stringify({ workloads }),
    });
    const { changes } = JSON.parse(planned) as { changes: { name: string }[] };
    expect(changes.map(({ name }) => name)).toEqual([`${MARK}-holds`, `${MARK}-none`]);
    const fresh = { name: `${MARK}-waits`, user: `${MARK}-mallory`, team: "lab/nlp", role: "viewer" };
    await textAs(admin, "/v1/tokens", { method: "POST", body: JSON.stringify(fresh) });
    const tokens = JSON.parse(await textAs(admin, "/v1/tokens")) as { items: object[] };
    expect(tokens.items[0]).toMatchObject({ name: fresh.name, user: fresh.user });
  });
});

describe("an administrator of one team", () => {
  const apply = async (secret: string, documents: object): Promise<unknown> =>
    JSON.parse(await textAs(secret, "/v1/apply", { method: "POST", body: JSON.stringify(documents) })) as unknown;
  const held = { kind: "train", run: "true", gang: { accelerators: 1 }, hold: true };

  it("declares teams with their work in one request, below its own team only", async () => {
    const admin = secrets[3] ?? "";
    const deep = { name: "lab/nlp/deep", parent: "lab/nlp", limit: {} };
    const deeper = { name: "lab/nlp/deep/er", parent: "lab/nlp/deep", limit: {} };
    const work = { ...held, name: "first", team: "lab/nlp/deep/er" };
    expect(await apply(admin, { teams: [deeper, deep], workloads: [work] })).toMatchObject({
      changes: [{ action: "created" }, { action: "created" }, { action: "created" }],
    });
    const outside = { name: "outside", parent: null, limit: {} };
    const below = { name: "outside/deep", parent: "outside", limit: {} };
    for (const teams of [[outside], [outside, below], [below], [{ ...below, parent: "lab" }], [{ name: "rootless" }]])
      expect(await apply(admin, { teams })).not.toHaveProperty("changes");
    const moved = { name: "lab", parent: "lab/nlp", limit: {} };
    expect(await apply(admin, { teams: [moved] })).toMatchObject({ code: "permissionDenied" });
  });

  it("takes no capacity from other teams by what it declares for teams below", async () => {
    const admin = secrets[3] ?? "";
    const below = { name: "lab/nlp/greedy", parent: "lab/nlp", limit: {} };
    const greedy = [
      { guarantee: { accelerators: 1_000 } },
      { reservedTopology: [{ within: "node", accelerators: 2, count: 1 }] },
      { preemption: { within: "never", reclaim: "any", whileBorrowing: { priorityMax: 100 } } },
    ];
    for (const part of greedy)
      expect(await apply(admin, { teams: [{ ...below, ...part }] })).toMatchObject({ code: "permissionDenied" });
    const own = { name: "lab/nlp", parent: "lab", limit: {}, guarantee: { accelerators: 4 } };
    await post("/v1/apply", { teams: [own] });
    const half = [1, 2].map((at) => ({ ...below, name: `lab/nlp/half-${at}`, guarantee: { accelerators: 2 } }));
    expect(await apply(admin, { teams: half })).toHaveProperty("changes");
    const more = { ...below, guarantee: { accelerators: 1 } };
    expect(await apply(admin, { teams: [more] })).toMatchObject({ code: "permissionDenied" });
  });

  it("loses its tokens with the team, and does not get them back with another team of this name", async () => {
    const short = { name: "short", parent: null };
    await post("/v1/apply", { teams: [short] });
    const request = { name: "short-lived", user: "carol", team: "short", role: "admin" } as const;
    const { secret } = await live.client.createToken(request);
    expect((await live.client.removeTeam("short")).team).toBe("short");
    await post("/v1/apply", { teams: [short] });
    expect(JSON.parse(await textAs(secret, "/v1/identity"))).toMatchObject({ code: "unauthorized" });
  });

  it("creates a bounded number of tokens, so that some are left for other teams", async () => {
    const home = temporaryHome();
    const common = { user: "bob", team: "lab", role: "viewer", createdBy: "bob", expiresAtMs: null };
    const times = { createdAtMs: 1, revokedAtMs: null, lastUsedAtMs: null, sha256: "0".repeat(64) };
    const many = Array.from({ length: 1_000 }, (_, at) => ({ ...common, ...times, id: String(at), name: `t${at}` }));
    writeFileSync(`${home}/tokens.json`, JSON.stringify({ version: 1, tokens: many }));
    const tokens = new AccessTokens({ home, nowMs: () => 2 });
    const parts = { driver: live.driver, tokens, log: { info: () => undefined } as unknown as DriverLog };
    const create = (team: string | null): Promise<unknown> => {
      const principal = { actor: "alice", grants: [grantOf(team as TeamName | null, "admin")], tokenId: null };
      return createToken(parts, {
        body: { name: `by-${team ?? "all"}`, user: "alice", team: "lab", role: "viewer" },
        actor: "alice",
        principal,
      });
    };
    await expect(create("lab")).rejects.toMatchObject({ code: "tooManyTokens" });
    await expect(create(null)).resolves.toMatchObject({ token: { name: "by-all" } });
    tokens.close();
    removeHome(home);
  });

  it("gets an answer when the control plane reads no more", async () => {
    await live.driver.close();
    const answer = await textAs(secrets[0] ?? "", "/v1/workloads?limit=x");
    expect(JSON.parse(answer)).toHaveProperty("code");
  });
});
