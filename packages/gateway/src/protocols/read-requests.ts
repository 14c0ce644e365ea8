/** Requests that the gateway answers itself: lists of models, health, KServe's metadata. */
import type { Caller } from "../access/teams.ts";
import type { ModelRoute } from "../exchange/model-route.ts";
import type { Fleet } from "../replicas/fleet.ts";
import type { ApiError } from "./api-error.ts";

export interface ReadRequest {
  readonly method: string;
  readonly path: string;
  readonly caller: Caller;
  readonly fleet: Fleet;
  readonly isDraining: boolean;
  readonly nowMs: number;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export function readAnswer(request: ReadRequest): Answer | ApiError {
  const { method, path } = request;
  const answer = openAiAnswer(request) ?? kserveAnswer(request);
  if (answer === undefined)
    return { kind: "notFound", message: `There is nothing at ${method} ${path.slice(0, 256)}.` };
  return method === "GET" ? answer : { kind: "methodNotAllowed", message: `Use GET for ${path}.` };
}

function openAiAnswer({ path, caller, fleet, isDraining }: ReadRequest): Answer | ApiError | undefined {
  if (path === "/health")
    return { status: isDraining ? 503 : 200, body: JSON.stringify({ status: isDraining ? "draining" : "ok" }) };
  if (path === "/v1/models") {
    const data = fleet.models.filter((model) => mayUse(caller, model)).map(modelObject);
    return { status: 200, body: JSON.stringify({ object: "list", data }) };
  }
  if (!path.startsWith("/v1/models/")) return undefined;
  const name = decoded(path.slice("/v1/models/".length));
  const model = fleet.model(name);
  if (model === undefined || !mayUse(caller, model)) {
    return { kind: "modelNotFound", message: `The model \`${name.slice(0, 256)}\` does not exist here.` };
  }
  return { status: 200, body: JSON.stringify(modelObject(model)) };
}

function kserveAnswer({ path, caller, fleet, isDraining, nowMs }: ReadRequest): Answer | ApiError | undefined {
  if (path === "/v2") return { status: 200, body: JSON.stringify({ name: "headroom", version: "1", extensions: [] }) };
  if (path === "/v2/health/live") return { status: 200, body: JSON.stringify({ live: true }) };
  if (path === "/v2/health/ready")
    return { status: isDraining ? 503 : 200, body: JSON.stringify({ ready: !isDraining }) };
  const match = /^\/v2\/models\/([^/]{1,256})(\/ready)?$/.exec(path);
  if (match === null) return undefined;
  const model = fleet.model(decoded(match[1]!));
  if (model === undefined || !mayUse(caller, model))
    return { kind: "modelNotFound", message: "The model does not exist here." };
  const isReady = model.routes.some(({ pool }) => pool.hasAvailable(nowMs));
  if (match[2] === undefined)
    return {
      status: 200,
      body: JSON.stringify({ name: model.name, versions: ["1"], platform: "", inputs: [], outputs: [] }),
    };
  return { status: isReady ? 200 : 503, body: JSON.stringify({ name: model.name, ready: isReady }) };
}

function mayUse(caller: Caller, model: ModelRoute): boolean {
  return caller.models === undefined || caller.models.has(model.name);
}

function modelObject(model: ModelRoute): object {
  return { id: model.name, object: "model", created: 0, owned_by: "headroom" };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
