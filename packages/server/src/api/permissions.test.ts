import { operationNames, operations, permissions } from "@headroom/protocol";
import type { Operation, Permission } from "@headroom/protocol";
import { fastify } from "fastify";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { authorize } from "../auth/authorize.ts";
import type { Principal } from "../auth/authorize.ts";
import { Denials } from "../auth/denials.ts";
import { Gate } from "../auth/gate.ts";
import { addAccess, openRoutes } from "./access.ts";
import { createApi } from "./app.ts";
import type { Api } from "./app.ts";
import type { ControlPlane } from "./control-plane.ts";
import { removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";
import type { LiveControlPlane } from "./testing/live-control-plane.ts";

const may = (...allowed: readonly Permission[]): Principal => ({
  actor: "alice",
  grants: [{ team: null, permissions: new Set(allowed), ownOnly: new Set() }],
  tokenId: null,
});

/** A gate that gives every request the same principal, as a role would. */
class OneRole extends Gate {
  role: Principal = may();

  constructor() {
    super({ token: null, hostNames: [], nowMs: () => 0 });
  }

  override principal(): Principal {
    return this.role;
  }
}

let live: LiveControlPlane;
let api: Api;
const gate = new OneRole();
beforeAll(async () => {
  live = await startLive(temporaryHome());
  const { driver } = live;
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const storeService = { list: () => [] };
  const parts = {
    driver,
    gate,
    log,
    denials: new Denials(),
    executors: new Map(),
    notificationChannels: [],
    storeService,
    metricSourceService: { exposeWith: () => undefined },
  };
  const plane = { ...parts, version: "test", startedAtMs: 0, address: () => "", nowMs: () => 0 };
  api = createApi({ plane: plane as unknown as ControlPlane, consoleDir: null });
});
afterAll(async () => {
  await api.close();
  await live.close();
  removeHome(live.home);
});

async function ask(
  method: Operation["method"],
  url: string,
  payload?: object,
): Promise<{ status: number; code: unknown }> {
  const response = await api.app.inject({ method, url, ...(payload === undefined ? {} : { payload }) });
  return { status: response.statusCode, code: response.json<{ code?: unknown }>().code };
}

describe("authorize", () => {
  it("allows an operation with its permission and denies it with all others", () => {
    const resource = { kind: "workloads", name: "w1", teams: [], owner: null };
    for (const name of operationNames) {
      const { permission } = operations[name];
      const others = permissions.filter((each) => each !== permission);
      expect(authorize(may(permission), operations[name], resource)).toEqual({ kind: "allowed" });
      expect(authorize(may(...others), operations[name], resource)).toEqual({ kind: "denied", permission, resource });
    }
  });
});

describe("every operation", () => {
  it("is refused to a principal without its permission, before its body is read", async () => {
    const { sequence } = live.driver.status();
    for (const name of operationNames) {
      const { method, path, permission } = operations[name];
      gate.role = may(...permissions.filter((each) => each !== permission));
      const url = path.replace(/\{\w+\}/, "w1");
      expect({ name, ...(await ask(method, url)) }).toEqual({ name, status: 403, code: "permissionDenied" });
    }
    expect(live.driver.status().sequence).toBe(sequence);
  });

  it("that changes something needs a permission to write or to run", () => {
    const reading = operationNames.filter((name) => operations[name].permission.endsWith(".read"));
    const changing = reading.filter((name) => operations[name].method !== "GET");
    // These operations change nothing. They use POST because their question does not fit into a URL.
    expect(changing).toEqual(["forecastWorkload", "size"]);
  });
});

describe("documents that are applied", () => {
  const site = { name: "north", fabricLevels: ["leaf"] };

  it("need the permission of every kind among them", async () => {
    gate.role = may("documents.apply", "teams.write");
    expect((await ask("POST", "/v1/apply", { teams: [{ name: "lab" }] })).status).toBe(200);
    const both = { teams: [{ name: "lab2" }], sites: [site] };
    expect(await ask("POST", "/v1/apply", both)).toEqual({ status: 403, code: "permissionDenied" });
    gate.role = may("documents.apply", "teams.write", "fleet.write");
    expect((await ask("POST", "/v1/apply", both)).status).toBe(200);
  });
});

describe("routes", () => {
  it("without a permission do not start, and are open only where they are listed", () => {
    const app = fastify();
    addAccess(app, { gate, connections: { authenticated: () => undefined }, denials: new Denials(), nowMs: () => 0 });
    expect(() => app.get("/v1/new", () => "")).toThrow("the route GET /v1/new declares no permission");
    expect(() => app.get("/v1/other", { config: { access: "status.read" } }, () => "")).not.toThrow();
    expect([...openRoutes]).toEqual(["/*", "/healthz", "/login", "/readyz", "/v1/openapi.json"]);
  });

  it("under no operation answer that there is nothing, whatever the permissions", async () => {
    gate.role = may();
    expect((await ask("GET", "/v1/nothing")).status).toBe(404);
    expect((await ask("GET", "/v1/metrics")).status).toBe(403);
  });
});
