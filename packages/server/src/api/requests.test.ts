import { problem } from "@headroom/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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

const json = { "content-type": "application/json" };
const least = { kind: "train", name: "least", run: "true", gang: { accelerators: 1_000 } };
const post = (body: unknown, headers: Readonly<Record<string, string>> = json): Promise<Response> =>
  live.request("/v1/workloads", {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers,
  });

/** Checks that an answer is a problem document, and returns this document. */
async function problemIn(
  response: Response,
): Promise<{ status: number; code: string; detail: string; pointers: string[] }> {
  expect(response.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
  const parsed = problem.parse(await response.json());
  expect(parsed.status).toBe(response.status);
  const pointers = (parsed.errors ?? []).map(({ pointer }) => pointer);
  return { status: parsed.status, code: parsed.code, detail: parsed.detail, pointers };
}

async function changesNothing(act: () => Promise<unknown>): Promise<void> {
  const before = (await live.client.status()).sequence;
  await act();
  expect((await live.client.status()).sequence).toBe(before);
}

describe("bodies", () => {
  it.each([
    ["JSON that breaks off", '{"kind": "train",\n "name": }', 400, "invalidJson", "Line 2, column 10"],
    ["nothing", "", 422, "invalidRequest", "is missing"],
    ["something else than an object", "[1, 2]", 422, "invalidRequest", "must be an object"],
    ["no kind", "{}", 422, "invalidRequest", "/kind: must be one of train, batch"],
  ])("refuses %s", async (_what, body, status, code, words) => {
    await changesNothing(async () => {
      const answer = await problemIn(await post(body));
      expect(answer).toMatchObject({ status, code });
      expect(answer.detail).toContain(words);
    });
  });

  it("names every place at once, in RFC 6901 pointers", async () => {
    const body = { ...least, name: "a b", env: { "x/y": "1" }, gang: { workers: -1, "a~b": 1 }, retries: { max: 1e9 } };
    await changesNothing(async () => {
      expect((await problemIn(await post(body))).pointers).toEqual([
        "/name",
        "/env/x~1y",
        "/gang/workers",
        "/gang/a~0b",
        "/retries/max",
      ]);
    });
  });

  it.each([
    ["submits", "/v1/workloads", (spec: object) => spec, ""],
    ["asks about", "/v1/workloads/explain", (spec: object) => spec, ""],
    ["declares", "/v1/apply", (spec: object) => ({ workloads: [least, spec] }), "/workloads/1"],
  ])("refuses levels of the fabric that no site has, whoever %s the work", async (_who, path, bodyOf, pointer) => {
    const group = { name: "a", accelerators: 1, fabric: { within: "node", prefer: "rail" } };
    const spec = { ...least, name: "placed", fabric: { within: "nolevel" }, gang: { taskGroups: [group] } };
    await changesNothing(async () => {
      const init = { method: "POST", body: JSON.stringify(bodyOf(spec)), headers: json };
      const answer = await problemIn(await live.request(path, init));
      expect(answer).toMatchObject({ status: 422, code: "invalidRequest" });
      expect(answer.pointers).toEqual([`${pointer}/fabric/within`, `${pointer}/gang/taskGroups/0/fabric/prefer`]);
      expect(answer.detail).toContain("no site has the level nolevel");
    });
  });

  it("refuses a key that would change the object it is read into", async () => {
    const text = JSON.stringify(least).replace("{", '{"__proto__":{"kind":"batch"},');
    expect((await problemIn(await post(text))).pointers).toEqual(["/__proto__"]);
  });

  it("takes JSON only", async () => {
    const answer = await problemIn(await post("kind: train", { "content-type": "application/yaml" }));
    expect(answer).toMatchObject({ status: 415, code: "unsupportedMediaType" });
  });

  it("refuses nesting that no spec has, without stumbling over it", async () => {
    const deep = `${"[".repeat(400_000)}${"]".repeat(400_000)}`;
    expect(await problemIn(await post(`{"kind":"train","env":${deep}}`))).toMatchObject({ status: 422 });
  });

  it("refuses 50 MB before any of it has come", async () => {
    const head = `POST /v1/workloads HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${live.token}\r\ncontent-type: application/json\r\ncontent-length: 50000000\r\n\r\n`;
    expect(await exchange(live.url, head, (text) => text.includes("\r\n\r\n"))).toMatch(/^HTTP\/1\.1 413 /);
  });

  it("refuses 50 MB, and a client that sends all of it gets to read that", async () => {
    const answer = await problemIn(await post("x".repeat(50_000_000)));
    expect(answer).toMatchObject({ status: 413, code: "bodyTooLarge" });
    expect((await live.request("/v1/status")).status).toBe(200);
  });

  it("refuses a body without a length as soon as it is too long", async () => {
    const piece = `10000\r\n${"x".repeat(65_536)}\r\n`;
    const head = `POST /v1/workloads HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${live.token}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
    expect(await exchange(live.url, head + piece.repeat(20))).toMatch(/^HTTP\/1\.1 413 /);
  });

  it("refuses control characters in names wherever they are", async () => {
    const teams = [{ name: "a\u0007b" }];
    const response = await live.request("/v1/apply", {
      method: "POST",
      body: JSON.stringify({ teams }),
      headers: json,
    });
    expect((await problemIn(response)).pointers).toEqual(["/teams/0/name"]);
  });
});

describe("bodies as a whole", () => {
  it.each([
    ["", "The body is missing."],
    ["[]", "The body must be an object, not a list."],
    ["null", "The body must be an object, not null."],
    ["{}", "The body must say either goneAtMs or inMs."],
    ['{"inMs":1,"reason":5}', "The body is not valid. /reason: must be text, not a number."],
  ])("say what is wrong with %s in a sentence", async (body, detail) => {
    const [node] = (await live.client.listNodes()).items;
    const request = { method: "POST", body, headers: json };
    expect(await problemIn(await live.request(`/v1/nodes/${node?.id}/notice`, request))).toMatchObject({ detail });
  });
});

describe("addresses", () => {
  it("that do not exist are 404, those with another method 405 with what they take", async () => {
    expect(await problemIn(await live.request("/v1/nothing"))).toMatchObject({ status: 404, code: "notFound" });
    const wrong = await live.request("/v1/workloads", { method: "DELETE" });
    expect(wrong.headers.get("allow")).toBe("GET, HEAD, POST");
    expect(await problemIn(wrong)).toMatchObject({ status: 405, code: "methodNotAllowed" });
    expect(await problemIn(await live.request("/v1/events", { method: "POST" }))).toMatchObject({ status: 405 });
  });

  it.each([
    ["/v1/workloads?limit=0", "?limit"],
    ["/v1/workloads?limit=501", "?limit"],
    ["/v1/workloads?limit=1e2", "?limit"],
    ["/v1/workloads?limit=9999999999999999999999", "?limit"],
    ["/v1/workloads?phase=gone", "?phase"],
    ["/v1/workloads?color=red", "?color"],
    ["/v1/workloads?cursor=%00", "?cursor"],
    ["/v1/status?verbose=1", "?verbose"],
    ["/v1/events?from=0", "?from"],
    ["/v1/events?from=-1", "?from"],
    ["/v1/workloads?limit=1&limit=2", "?limit"],
    ["/v1/workloads?phase=running&phase=pending", "?phase"],
  ])("refuses %s and names the parameter", async (target, pointer) => {
    const answer = await problemIn(await live.request(target));
    expect(answer).toMatchObject({ status: 422, code: "invalidRequest", pointers: [pointer] });
  });

  it.each([
    "workloads?cursor=abc",
    "workloads?cursor=999999",
    "workloads?cursor=01",
    "nodes?cursor=7",
    "teams?cursor=.x",
    "teams?cursor=zzz",
    "teams?cursor=default",
    "teams?cursor=7",
    "queue?cursor=w0",
  ])("refuses %s, which no page gave", async (target) => {
    const answer = await problemIn(await live.request(`/v1/${target}`));
    expect(answer).toMatchObject({ status: 400, code: "invalidCursor", pointers: ["?cursor"] });
    expect(answer.detail).toContain("Leave it out to begin at the first page");
  });

  it("say what a sequence may be", async () => {
    const { detail } = await problemIn(await live.request("/v1/events?from=first"));
    expect(detail).toBe("The address is not valid. ?from: must be next or a whole number from 1 on.");
  });

  it("say in plain words what is wrong with a parameter", async () => {
    const detailOf = async (target: string): Promise<unknown> => (await problemIn(await live.request(target))).detail;
    expect(await detailOf("/v1/workloads?limit=1&limit=2")).toBe(
      "The address is not valid. ?limit: is given more than once.",
    );
    expect(await detailOf("/v1/workloads?search=")).toBe(
      "The address is not valid. ?search: must have at least 1 character.",
    );
    expect(await detailOf("/v1/workloads?order=odd")).toBe(
      "The address is not valid. ?order: must be one of newest, oldest.",
    );
  });

  it("with broken percent-encoding are refused", async () => {
    expect(await problemIn(await live.request("/v1/workloads/%zz"))).toMatchObject({ status: 422 });
  });

  it("that are too long are refused", async () => {
    expect((await live.request(`/v1/workloads/${"x".repeat(5_000)}`)).status).toBe(404);
    expect(await exchange(live.url, `GET /${"x".repeat(20_000)} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 /,
    );
  });

  it("answer HEAD like GET, without a body", async () => {
    const response = await live.request("/v1/status", { method: "HEAD" });
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });
});

describe("what is not HTTP", () => {
  it("is told so in the same form", async () => {
    const answer = await exchange(live.url, "hello\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    const body = problem.parse(JSON.parse(answer.slice(answer.indexOf("{"))));
    expect(body).toMatchObject({ status: 400, code: "invalidRequest" });
  });
});

describe("commands", () => {
  it("with one idempotency key are one command, also for whoever asks again later", async () => {
    const headers = { ...json, "idempotency-key": "once" };
    const first = await post({ ...least, name: "once" }, headers);
    expect(first.status).toBe(201);
    const answer = (await first.json()) as { workloadId: string };
    expect(first.headers.get("location")).toBe(`/v1/workloads/${answer.workloadId}`);
    expect(await (await post({ ...least, name: "once" }, headers)).json()).toEqual(answer);
    const other = await problemIn(await post({ ...least, name: "other" }, headers));
    expect(other).toMatchObject({ status: 409, code: "idempotencyKeyReused" });
    const bad = await problemIn(await post(least, { ...json, "idempotency-key": "a b" }));
    expect(bad).toMatchObject({ status: 422, pointers: ["Idempotency-Key"] });
  });

  it("that the engine refuses are problems with its code and its facts", async () => {
    const response = await post({ ...least, team: "nobody" });
    expect(problem.parse(await response.json())).toMatchObject({
      status: 422,
      code: "unknownTeam",
      detail: "There is no team nobody. Apply a team document first, or leave the team out.",
      facts: { team: "nobody" },
    });
  });

  it("apply everything or nothing, and say before what they would do", async () => {
    const documents = {
      teams: [{ name: "research/nlp", parent: "research" }, { name: "research" }],
      workloads: [{ ...least, kind: "train" as const, name: "applied", team: "research/nlp" }],
    };
    await changesNothing(async () => {
      expect(await live.client.apply(documents, { dryRun: true })).toEqual({
        dryRun: true,
        changes: [
          { kind: "team", name: "research", action: "created", workloadId: null },
          { kind: "team", name: "research/nlp", action: "created", workloadId: null },
          {
            kind: "workload",
            name: "applied",
            action: "created",
            workloadId: null,
            notices: [{ kind: "noCheckpoints", message: expect.stringContaining("declares no checkpoints") }],
          },
        ],
      });
    });
    const done = await live.client.apply(documents);
    expect(done.changes.map(({ action }) => action)).toEqual(["created", "created", "created"]);
    await changesNothing(async () => {
      const again = await live.client.apply(documents, { dryRun: true });
      expect(again.changes.map(({ action }) => action)).toEqual(["unchanged", "unchanged", "unchanged"]);
      expect(again.changes[2]?.workloadId).toBe(done.changes[2]?.workloadId);
      const broken = {
        ...documents,
        pools: [{ name: "p", site: "nowhere", executor: "local" as const, acceleratorType: "" }],
      };
      await expect(live.client.apply(broken)).rejects.toMatchObject({ code: "unknownSite" });
      await expect(live.client.apply(broken, { dryRun: true })).rejects.toMatchObject({ code: "unknownSite" });
    });
  });

  it("refuse teams that contain each other, within a request and with those there are", async () => {
    await changesNothing(async () => {
      const cycle = {
        teams: [
          { name: "x", parent: "y" },
          { name: "y", parent: "x" },
        ],
      };
      const error: unknown = await live.client.apply(cycle).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: "invalidRequest",
        problem: { errors: [{ pointer: "/teams/0/parent" }, { pointer: "/teams/1/parent" }] },
      });
      const closing = { teams: [{ name: "research", parent: "research/nlp" }] };
      await expect(live.client.apply(closing)).rejects.toMatchObject({ code: "teamCycle" });
    });
  });

  it.each(["slurm", "kubernetes", "simulated", "Local", "local2", "a.b"])(
    "are refused with a pool of an executor that does not exist: %s",
    async (executor) => {
      const { sequence } = await live.client.status();
      const request = {
        sites: [{ name: "far" }],
        pools: [
          { name: "near", site: "far", executor: "local", acceleratorType: "" },
          { name: "far", site: "far", executor, acceleratorType: "" },
        ],
      };
      await expect(live.client.apply(request)).rejects.toMatchObject({
        code: "invalidRequest",
        message: expect.stringContaining(`/pools/1/executor: names the executor ${executor} of pool far`),
      });
      await expect(live.client.apply(request, { dryRun: true })).rejects.toMatchObject({ code: "invalidRequest" });
      expect((await live.client.status()).sequence).toBe(sequence);
    },
  );

  it("remove teams by their path, and only unused ones", async () => {
    await live.client.apply({ teams: [{ name: "short/lived" }] });
    await expect(live.client.removeTeam("research")).rejects.toMatchObject({ code: "teamInUse" });
    await expect(live.client.removeTeam("default")).rejects.toMatchObject({
      code: "teamInUse",
      message: expect.stringContaining("cannot be removed"),
    });
    expect(await live.client.removeTeam("short/lived")).toEqual({ team: "short/lived" });
    await expect(live.client.removeTeam("short/lived")).rejects.toMatchObject({ code: "unknownTeamName" });
  });

  it("that declare or remove something leave events with the caller as actor", async () => {
    const from = (await live.client.status()).sequence + 1;
    await live.client.apply({
      teams: [{ name: "told" }],
      sites: [{ name: "told" }],
      pools: [{ name: "told", site: "told", executor: "local", acceleratorType: "" }],
    });
    await live.client.removeTeam("told");
    await live.client.setPolicy({ preset: "sjf" });
    await live.client.setPolicy({ preset: "default" });
    const actors = new Map<string, string | null | undefined>();
    for await (const { event } of live.client.events({ from, signal: AbortSignal.timeout(20_000) })) {
      if ("actor" in event) actors.set(event.kind, event.actor ?? undefined);
      if (event.kind === "policySet" && event.policy.name === "default") break;
    }
    const kinds = ["siteDefined", "poolDefined", "teamDefined", "teamRemoved", "policySet"];
    expect(actors).toEqual(new Map(kinds.map((kind) => [kind, "token"])));
  });

  it("set a preset or a policy of one's own", async () => {
    expect(await live.client.setPolicy({ preset: "fifo" })).toEqual({ name: "fifo" });
    await expect(live.client.setPolicy({ preset: "best" })).rejects.toMatchObject({ code: "unknownPreset" });
    const { items } = await live.client.presets();
    const own = { ...items[0], name: "mine", placement: "spread" } as (typeof items)[number];
    await live.client.setPolicy({ policy: own });
    expect(await live.client.policy()).toEqual(own);
    const twice = { ...own, order: ["priority", "priority"] as const };
    const body = JSON.stringify({ policy: twice });
    const response = await live.request("/v1/policy", { method: "PUT", body, headers: json });
    expect((await problemIn(response)).pointers).toEqual(["/policy/order"]);
    await live.client.setPolicy({ preset: "default" });
  });

  it("are told of guarantees that add up under a policy which lends them, and of none under others", async () => {
    await live.client.apply({
      teams: [
        { name: "org", guarantee: { cores: 8000 } },
        { name: "org/sub", parent: "org", guarantee: { cores: 4000 } },
      ],
    });
    const { warnings } = await live.client.setPolicy({ preset: "kueue-classic" });
    expect(warnings).toEqual([
      { team: "org", message: expect.stringContaining("these guarantees are added: 12 cores") },
    ]);
    expect(await live.client.setPolicy({ preset: "default" })).toEqual({ name: "default" });
    for (const name of ["org/sub", "org"]) await live.client.removeTeam(name);
  });
});

describe("windows that are over", () => {
  it("are unchanged where they were applied before, and refused where they are new", async () => {
    const startMs = Date.now();
    const { items } = await live.client.listNodes();
    const entry = { kind: "maintenance", name: "short", nodes: items.map(({ id }) => id), startMs } as const;
    const calendar = [{ ...entry, endMs: startMs + 300 }];
    const applied = async (options?: object) => (await live.client.apply({ calendar }, options)).changes[0]?.action;
    expect([await applied(), await applied()]).toEqual(["created", "unchanged"]);
    for await (const { event } of live.client.events({ signal: AbortSignal.timeout(20_000) }))
      if (event.kind === "windowEnded") break;
    expect((await live.client.calendar()).items).toEqual([]);
    expect([await applied(), await applied({ dryRun: true })]).toEqual(["unchanged", "unchanged"]);
    const other = { ...entry, endMs: startMs + 301 };
    const refused = { code: "windowOver", problem: { detail: expect.stringContaining("Give it future times") } };
    await expect(live.client.apply({ calendar: [other] })).rejects.toMatchObject(refused);
    await expect(live.client.apply({ calendar: [{ ...other, name: "new" }] })).rejects.toMatchObject(refused);
  });
});

describe("the control plane", () => {
  it("tells how it is to whoever asks, and its numbers in Prometheus' format", async () => {
    expect(await (await fetch(`${live.url}/healthz`)).json()).toEqual({ status: "ok" });
    const text = await (await live.request("/v1/metrics")).text();
    expect(text).toMatch(/^headroom_workloads_unfinished \d+$/m);
    expect(text).toMatch(/^headroom_http_requests_total\{operation="submitWorkload",status="4xx"\} \d+$/m);
    expect(text).toMatch(/^headroom_http_request_duration_seconds_bucket\{le="\+Inf",operation="status"\} \d+$/m);
    const { workloadId } = await live.client.submitWorkload({
      kind: "train",
      name: "counted",
      run: "true",
      gang: { coresMilli: 0 },
    });
    await expect.poll(async () => (await live.client.getWorkload(workloadId)).endedAtMs).not.toBe(null);
    await expect
      .poll(async () => (await live.request("/metrics")).text())
      .toMatch(/^headroom_team_workloads_ended_total\{team="default",kind="train",phase="succeeded"\} \d+$/m);
    const fleet = await (await live.request("/metrics")).text();
    expect(fleet).toMatch(/^headroom_queue_wait_seconds_bucket\{le="\+Inf",team="default",kind="train"\} \d+$/m);
    expect(fleet).toMatch(/^headroom_pool_accelerators\{pool="[\w-]+",type="slot",state="free"\} 2$/m);
    expect((await fetch(`${live.url}/metrics`)).status).toBe(401);
    const malformed = `${text}\n${fleet}`
      .split("\n")
      .filter((line) => !/^(?:# (?:HELP|TYPE) \w+ .+|\w+(?:\{.+\})? [0-9.e+-]+|)$/.test(line));
    expect(malformed).toEqual([]);
  });

  it("had nothing to complain about in all of this", () => {
    expect(live.complaints).toEqual([]);
  });
});
