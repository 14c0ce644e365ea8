/** Requests that the gateway answers itself: lists of models, health, KServe's metadata. */
import type { Caller } from "../access/teams.ts";
import type { ModelRoute } from "../exchange/model-route.ts";
import type { ApiError } from "./api-error.ts";
import { healthAnswer, type ServingState } from "./health.ts";
import { modelObject, type ModelLists } from "./model-lists.ts";

export interface ReadRequest extends ServingState {
  readonly method: string;
  readonly path: string;
  readonly caller: Caller;
  readonly lists: ModelLists;
}

export interface Answer {
  readonly status: number;
  readonly body: string | Buffer;
}

export function readAnswer(request: ReadRequest): Answer | ApiError {
  const { method, path } = request;
  const answer = healthAnswer(path, request) ?? openAiAnswer(request) ?? kserveAnswer(request);
  if (answer === undefined)
    return { kind: "notFound", message: `There is nothing at ${method} ${path.slice(0, 256)}.` };
  return method === "GET" ? answer : { kind: "methodNotAllowed", message: `Use GET for ${path}.` };
}

function openAiAnswer({ path, caller, fleet, lists }: ReadRequest): Answer | ApiError | undefined {
  if (path === "/v1/models") return { status: 200, body: lists.bodyFor(fleet.models, caller.models) };
  if (!path.startsWith("/v1/models/")) return undefined;
  const name = decoded(path.slice("/v1/models/".length));
  const model = fleet.model(name);
  if (model === undefined || !mayUse(caller, model)) {
    return { kind: "modelNotFound", message: `The model \`${name.slice(0, 256)}\` does not exist here.` };
  }
  return { status: 200, body: JSON.stringify(modelObject(model)) };
}

function kserveAnswer(request: ReadRequest): Answer | ApiError | undefined {
  const { path, caller, fleet, nowMs } = request;
  if (path === "/v2") return { status: 200, body: JSON.stringify({ name: "headroom", version: "1", extensions: [] }) };
  if (path === "/v2/health/live") return { status: 200, body: JSON.stringify({ live: true }) };
  const isDraining = request.isDraining || request.isFailing;
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

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
