/** Every operation by role and by the place of the role in the tree of teams, one request each over HTTP. */
import { createHash } from "node:crypto";
import { operationNames, operations, roles } from "@headroom/protocol";
import type { OperationName, Permission, Role } from "@headroom/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { someOf } from "../../../../tools/testing/rotating.ts";
import { removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";
import type { LiveControlPlane } from "./testing/live-control-plane.ts";

/** The least role that has each permission, stated here once more and not derived. */
const leastRole: Readonly<Record<Permission, Role>> = {
  "artifacts.gate": "operator",
  "artifacts.read": "viewer",
  "artifacts.write": "member",
  "calendar.read": "viewer",
  "calendar.write": "operator",
  "documents.apply": "member",
  "endpoints.use": "member",
  "events.read": "viewer",
  "executors.write": "admin",
  "fleet.read": "viewer",
  "fleet.write": "operator",
  "gateway.read": "viewer",
  "mlflow.read": "viewer",
  "mlflow.write": "member",
  "pipelines.decide": "operator",
  "plan.read": "viewer",
  "plan.write": "operator",
  "policy.read": "viewer",
  "policy.write": "admin",
  "proposals.decide": "operator",
  "proposals.read": "viewer",
  "proposals.write": "member",
  "sessions.write": "viewer",
  "simulations.run": "member",
  "sizing.read": "viewer",
  "status.read": "viewer",
  "teams.read": "viewer",
  "teams.write": "admin",
  "tokens.follow": "operator",
  "tokens.read": "admin",
  "tokens.write": "admin",
  "workloads.exec": "member",
  "workloads.read": "viewer",
  "workloads.write": "member",
};

/** Where a role holds, seen from the team `lab/nlp` of the resources. */
const places = {
  everywhere: null,
  itsTeam: "lab/nlp",
  teamAbove: "lab",
  teamBelow: "lab/nlp/deep",
  sibling: "lab/vision",
  otherTree: "other",
} as const;
type Place = keyof typeof places;
const covers = (place: Place): boolean => place === "everywhere" || place === "itsTeam" || place === "teamAbove";

type Outcome = "allowed" | "denied" | "hidden";

/** Operations on single workloads whose member needs to own the workload. */
const changing: ReadonlySet<Permission> = new Set(["workloads.write", "workloads.exec"]);

interface Case {
  readonly name: OperationName;
  readonly role: Role;
  readonly place: Place;
  readonly isOwn: boolean;
}

function expected({ name, role, place, isOwn }: Case): Outcome {
  const { permission, subject } = operations[name];
  if (roles.indexOf(role) < roles.indexOf(leastRole[permission])) return "denied";
  switch (subject) {
    case "fleet":
      return place === "everywhere" ? "allowed" : "denied";
    case "any":
    case "teams":
    case "exec":
      return "allowed";
    case "team":
      if (!covers(place)) return "hidden";
      return place === "itsTeam" ? "denied" : "allowed";
    case "proposal":
      if (!covers(place)) return "hidden";
      // The team above decides about the quota of a team.
      return permission === "proposals.decide" && place === "itsTeam" ? "denied" : "allowed";
    case "proposed":
      return covers(place) ? "allowed" : "hidden";
    case "token":
      return name === "listTokens" || covers(place) ? "allowed" : "hidden";
    case "artifact":
    case "body":
    case "pipelineRuns":
      return covers(place) ? "allowed" : "hidden";
    case "documents":
      if (!covers(place)) return "hidden";
      return role === "member" && !isOwn ? "denied" : "allowed";
    case "workload":
    case "schedule":
    case "pipeline":
    case "pipelineRun":
      if (!covers(place)) return "hidden";
      return role === "member" && changing.has(permission) && !isOwn ? "denied" : "allowed";
  }
}

let live: LiveControlPlane;
const secrets = new Map<string, string>();
const work = { own: "", other: "" };
/** Runs of pipelines, which wait: their workloads are held. */
const runs = { own: "", other: "" };
/** Endpoints, for operations that are about these only. */
const served = { own: "", other: "" };
const json = { "content-type": "application/json" };
const spec = (name: string, team: string) =>
  ({ kind: "train", name, team, run: "true", gang: { accelerators: 1 }, hold: true }) as const;
const artifact = {
  kind: "model",
  team: "lab/nlp",
  name: "chat",
  digest: null,
  bytes: null,
  places: [],
  inputs: [],
} as const;
const pipeline = (name: string) => ({
  name,
  team: "lab/nlp",
  params: [],
  steps: [{ name: "train", after: [], upstream: "succeeded", when: [], spec: spec("train", "lab/nlp") }],
  triggers: [{ kind: "webhook" }],
});
const schedule = (name: string) => ({
  name,
  times: { minutes: [0], hours: [3], daysOfMonth: [1], months: [1], daysOfWeek: [0] },
  concurrency: "forbid" as const,
  spec: spec(name, "lab/nlp"),
});

function asUser(user: string): Readonly<Record<string, string>> {
  return { ...json, "headroom-user": user };
}

const post = (path: string, body: unknown, user = "alice"): Promise<Response> =>
  live.request(path, { method: "POST", body: JSON.stringify(body), headers: asUser(user) });

async function idOf(name: string, user: string, more: object = {}): Promise<string> {
  const answer = await post("/v1/workloads", { ...spec(name, "lab/nlp"), ...more }, user);
  return ((await answer.json()) as { workloadId: string }).workloadId;
}

beforeAll(async () => {
  live = await startLive(temporaryHome());
  const teams = ["lab", "lab/nlp", "lab/nlp/deep", "lab/vision", "other"].map((name) => ({
    name,
    parent: name.includes("/") ? name.slice(0, name.lastIndexOf("/")) : null,
  }));
  expect((await post("/v1/apply", { teams })).status).toBe(200);
  work.own = await idOf("own", "alice");
  work.other = await idOf("other", "bob");
  served.own = await idOf("own-endpoint", "alice", { kind: "serve", replicas: { min: 0, max: 2 } });
  served.other = await idOf("other-endpoint", "bob", { kind: "serve", replicas: { min: 0, max: 2 } });
  expect((await post("/v1/artifacts", artifact)).status).toBe(201);
  runs.own = await freshRun("alice");
  runs.other = await freshRun("bob");
  await idOf("applied-own", "alice");
  await idOf("applied-other", "bob");
  for (const role of roles)
    for (const [place, team] of Object.entries(places)) {
      const { secret } = await live.client.createToken({ name: `${role}-${place}`, user: "alice", team, role });
      secrets.set(`${role}-${place}`, secret);
    }
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

async function freshRun(user: string): Promise<string> {
  const name = await freshPipeline(user === "alice");
  const answer = await post(`/v1/pipelines/${name}/runs`, {}, user);
  if (answer.status !== 200) throw new Error(await answer.text());
  return ((await answer.json()) as { runIds: readonly [string] }).runIds[0];
}

async function freshPipeline(isOwn: boolean): Promise<string> {
  const name = isOwn ? "own-retrain" : "other-retrain";
  const answer = await post("/v1/apply", { pipelines: [pipeline(name)] }, isOwn ? "alice" : "bob");
  if (answer.status !== 200) throw new Error(await answer.text());
  return name;
}

let weights = 1;
const reweighted = () => ({
  change: { kind: "quota", team: "lab/nlp", weight: ++weights } as const,
  reason: "more work",
});

const loadReport = {
  version: 1,
  gateway: "gateway-1",
  startedAtMs: 0,
  requests: 0,
  running: 0,
  held: 0,
  idleMs: 0,
  queued: null,
  kvUsage: null,
  ttft: null,
  tpot: null,
  replicas: [],
} as const;

const arrival = { kind: "leadTime", p50Ms: 1_000, p95Ms: 2_000 } as const;
const nodeShape = { acceleratorCount: 8, coresMilli: 8_000, memoryMib: 1_024 } as const;

const bodies: Readonly<Partial<Record<OperationName, (isOwn: boolean) => unknown>>> = {
  submitWorkload: () => spec("submitted", "lab/nlp"),
  forecastWorkload: () => spec("submitted", "lab/nlp"),
  changeWorkload: () => ({ priority: 1 }),
  startExec: () => ({ worker: 0, command: ["true"] }),
  declareModel: () => ({
    training: { model: "llama-3-8b", sequenceLength: 512, globalBatch: 1, method: { kind: "lora", rank: 16 } },
  }),
  registerArtifact: () => artifact,
  changeArtifact: () => ({ change: { kind: "alias", alias: "production", number: 1 } }),
  setArtifactGate: () => ({ gate: { approval: true } }),
  apply: (isOwn) => ({ workloads: [spec(isOwn ? "applied-own" : "applied-other", "lab/nlp")] }),
  createCapacityOrder: () => ({ name: "rack-7", pool: "absent", nodeCount: 1, arrival, shape: nodeShape }),
  advanceCapacityOrder: () => ({ phase: "arriving", arrival }),
  cancelCapacityOrder: () => ({ reason: "not needed" }),
  reportLoad: () => loadReport,
  forecastDrill: () => ({ lose: [{ name: "absent" }] }),
  startDrill: () => ({ lose: [{ name: "absent" }] }),
  tryEndpoint: () => ({ prompt: "hello" }),
  annotateIncident: () => ({ kind: "acknowledge" }),
  reportFaults: () => ({ faults: [{ code: "xid-79", severity: "critical" }] }),
  decidePipelineStep: () => ({ step: "train", approved: true }),
  steerRollout: () => ({ action: "pause" }),
  createProposal: reweighted,
  decideProposal: () => ({ verdict: "reject" }),
  createToken: () => ({ name: `t${crypto.randomUUID()}`, user: "carol", team: "lab/nlp", role: "admin" }),
};

/** Sends the request of a case, about `target` instead of the resource if it is given. */
async function answerOf({ name, role, place, isOwn }: Case, target?: string): Promise<Response> {
  const { method, path, subject } = operations[name];
  const id =
    target ??
    (subject === "workload"
      ? (name === "reportLoad" || name === "steerRollout" || name === "tryEndpoint" ? served : work)[
          isOwn ? "own" : "other"
        ]
      : subject === "team"
        ? "lab/nlp"
        : subject === "schedule"
          ? await freshSchedule(isOwn)
          : subject === "pipeline" || subject === "pipelineRuns"
            ? await freshPipeline(isOwn)
            : subject === "pipelineRun"
              ? runs[isOwn ? "own" : "other"]
              : subject === "token"
                ? await freshToken()
                : subject === "proposal"
                  ? await freshProposal()
                  : subject === "artifact"
                    ? "model:lab/nlp/chat"
                    : "absent");
  // The first parameter is the subject. Others are valid, so that an answer is about access.
  const url = path.replace("{alias}", "production").replace(/\{\w+\}/, encodeURIComponent(id));
  const query = name === "apply" || name === "changeWorkload" || name === "startPipelineRun" ? "?dryRun=true" : "";
  const body = bodies[name]?.(isOwn) ?? {};
  return fetch(live.url + url + query, {
    method,
    headers: { ...json, authorization: `Bearer ${secrets.get(`${role}-${place}`)}` },
    signal: AbortSignal.timeout(20_000),
    ...(method === "GET" || method === "DELETE" ? {} : { body: JSON.stringify(body) }),
  });
}

async function freshSchedule(isOwn: boolean): Promise<string> {
  const name = isOwn ? "own-nightly" : "other-nightly";
  const answer = await post("/v1/apply", { schedules: [schedule(name)] }, isOwn ? "alice" : "bob");
  if (answer.status !== 200) throw new Error(await answer.text());
  return name;
}

async function freshProposal(): Promise<string> {
  // The bound of open proposals of one user is not what this test is about.
  const answer = await post("/v1/proposals", reweighted(), `user-${weights}`);
  if (answer.status !== 201) throw new Error(await answer.text());
  return ((await answer.json()) as { id: string }).id;
}

async function freshToken(): Promise<string> {
  const request = { name: `f${crypto.randomUUID()}`, user: "dave", team: "lab/nlp", role: "viewer" } as const;
  return (await live.client.createToken(request)).token.id;
}

/** Codes with which an operation answers that what it names does not exist. */
const absentCodes: ReadonlySet<string> = new Set([
  "unknownWorkload",
  "unknownTeam",
  "unknownTeamName",
  "unknownSchedule",
  "unknownPipeline",
  "unknownPipelineRun",
  "unknownToken",
  "unknownProposal",
  "unknownArtifact",
]);

async function outcomeOf(each: Case): Promise<Outcome> {
  const response = await answerOf(each);
  if (operations[each.name].stream && response.status === 200) {
    await response.body?.cancel();
    return "allowed";
  }
  const text = await response.text();
  const { code = "" } = response.ok ? {} : (JSON.parse(text) as { code?: string });
  if (code === "permissionDenied") return "denied";
  return absentCodes.has(code) && operations[each.name].subject !== "fleet" ? "hidden" : "allowed";
}

const absentId = (name: OperationName): string =>
  operations[name].subject === "artifact" ? "model:lab/nlp/absent-1" : "absent-1";

const owned: ReadonlySet<string> = new Set(["workload", "schedule", "pipeline", "pipelineRun", "documents"]);
const cases: readonly Case[] = operationNames.flatMap((name) =>
  roles.flatMap((role) =>
    (Object.keys(places) as Place[]).flatMap((place) =>
      (owned.has(operations[name].subject) ? [true, false] : [true]).map((isOwn) => ({ name, role, place, isOwn })),
    ),
  ),
);

describe("every operation by role and place", () => {
  it("is answered as the table says", async () => {
    const wrong: string[] = [];
    for (const each of someOf(cases, { parts: 7, suiteParts: 1 })) {
      const [found, wanted] = [await outcomeOf(each), expected(each)];
      const { name, role, place, isOwn } = each;
      if (found !== wanted) wrong.push(`${name}, ${role} of ${place}, own ${isOwn}: ${found}, not ${wanted}`);
    }
    expect(wrong).toEqual([]);
  }, 480_000);

  it("answers for a hidden resource as for one that does not exist", async () => {
    const about = { role: "admin", place: "sibling", isOwn: true } as const;
    for (const name of operationNames) {
      const each = { name, ...about };
      if (expected(each) !== "hidden" || !operations[name].path.includes("{")) continue;
      const hidden = await answerOf(each);
      const [, id = ""] = /\/v1\/[\w-]+\/([^/?]+)/.exec(new URL(hidden.url).pathname) ?? [];
      const absent = await answerOf(each, absentId(name));
      const text = (await absent.text()).replaceAll(absentId(name), decodeURIComponent(id));
      expect({ name, status: hidden.status, text: await hidden.text() }).toEqual({ name, status: absent.status, text });
    }
  });
});

describe("tokens", () => {
  const whoami = (secret: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(`${live.url}/v1/identity`, { headers: { authorization: `Bearer ${secret}`, ...headers } });

  it("act as their own user, and say so", async () => {
    const secret = secrets.get("member-itsTeam") ?? "";
    expect(await (await whoami(secret)).json()).toEqual({
      user: "alice",
      token: "member-itsTeam",
      team: "lab/nlp",
      role: "member",
      expiresAtMs: null,
    });
    expect((await whoami(secret, { "headroom-user": "alice" })).status).toBe(200);
    const other = await whoami(secret, { "headroom-user": "bob" });
    expect([other.status, ((await other.json()) as { detail: string }).detail]).toEqual([
      422,
      "This token acts as alice. Leave Headroom-User out, or name this user.",
    ]);
  });

  it("end at once when they are revoked, with their browser sessions, and when they expire", async () => {
    const request = { name: "short", user: "erin", team: "lab", role: "viewer" } as const;
    const { token, secret } = await live.client.createToken(request);
    const link = await fetch(`${live.url}/v1/login-links`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}` },
    });
    const login = await fetch(((await link.json()) as { url: string }).url, { redirect: "manual" });
    const session = decodeURIComponent(
      new URL(login.headers.get("location") ?? "", live.url).hash.replace(/^#\w+=/, ""),
    );
    expect(await (await whoami(session)).json()).toMatchObject({ user: "erin", token: "short", role: "viewer" });
    await expect(live.client.createToken(request)).rejects.toMatchObject({ code: "tokenExists" });
    await live.client.revokeToken(token.id);
    expect([(await whoami(secret)).status, (await whoami(session)).status]).toEqual([401, 401]);
    const brief = await live.client.createToken({ ...request, expiresInMs: 1 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await whoami(brief.secret)).status).toBe(401);
    for (const wrong of [`${secret}x`, secret.slice(0, -1), secret.toUpperCase(), "hr_0000000000000000_"])
      expect((await whoami(wrong)).status).toBe(401);
  });

  it("of teams are told to gateways by digest, from role member on, until they are revoked", async () => {
    const created = await Promise.all(
      (["viewer", "member"] as const).map((role) =>
        live.client.createToken({ name: `f-${role}`, user: "frank", team: "lab/nlp", role }),
      ),
    );
    await live.client.createToken({ name: "f-whole", user: "frank", role: "admin" });
    const { version, items } = await live.client.followTokens();
    const own = items?.filter(({ name }) => name.startsWith("f-"));
    const sha256 = createHash("sha256")
      .update(created[1]?.secret ?? "")
      .digest("hex");
    expect(own).toEqual([{ name: "f-member", team: "lab/nlp", sha256, expiresAtMs: null }]);
    expect(await live.client.followTokens({ known: version })).toEqual({ version, items: null });
    await live.client.revokeToken(created[1]?.token.id ?? "");
    const next = await live.client.followTokens({ known: version });
    expect(next.version).not.toBe(version);
    expect(next.items?.some(({ name }) => name === "f-member")).toBe(false);
  });

  it("are kept by digest, in a file of the owner, over a restart", async () => {
    const { readFileSync, statSync } = await import("node:fs");
    const file = `${live.home}/tokens.json`;
    const text = readFileSync(file, "utf8");
    for (const secret of secrets.values()) expect(text).not.toContain(secret.slice("hr_".length + 17));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await live.close();
    live = await startLive(live.home);
    expect((await whoami(secrets.get("viewer-itsTeam") ?? "")).status).toBe(200);
  });

  it("are refused with what is missing, and the refusals are recorded", async () => {
    const secret = secrets.get("viewer-itsTeam") ?? "";
    const stop = (): Promise<Response> =>
      fetch(`${live.url}/v1/workloads/${work.own}/stop`, {
        method: "POST",
        headers: { authorization: `Bearer ${secret}` },
      });
    const answer = (await (await stop()).json()) as { detail: string };
    await stop();
    expect(answer.detail).toContain("alice needs the permission workloads.write for workloads");
    const [denial] = (await live.client.listDenials()).items;
    expect(denial).toMatchObject({ user: "alice", operation: "stopWorkload", permission: "workloads.write", count: 2 });
  });
});
