/** Finds the model of a request and prepares its translation, for requests of clients and of batches alike. */
import type { Caller } from "../access/teams.ts";
import type { ResponseOwners } from "../access/response-owners.ts";
import { holderOf, ResponseIdTarget, storedAt } from "../exchange/response-id.ts";
import type { ModelRoute } from "../exchange/model-route.ts";
import type { ResponseHolder } from "../exchange/runtime.ts";
import { StoredResponseTarget } from "../exchange/stored-response-target.ts";
import type { ResponseTarget } from "../exchange/target.ts";
import { urgencyOf, usual, type Urgency } from "../exchange/urgency.ts";
import { noPeek, peekRequest, type RequestPeek } from "../json/peek.ts";
import { hasRemoteMedia } from "../json/remote-media.ts";
import type { ApiError } from "../protocols/api-error.ts";
import type { Endpoint } from "../protocols/endpoints.ts";
import type { Answer } from "../protocols/read-requests.ts";
import type { StoredResponsePath } from "../protocols/stored-responses.ts";
import type { Fleet } from "../replicas/fleet.ts";
import type { Replica } from "../replicas/replica.ts";
import { counterOf, CountTarget, estimatedCount, tokenizeBody } from "../translation/count-tokens.ts";
import { translate } from "../translation/translate.ts";

const noBytes = Buffer.alloc(0);

/** A request as the client sent it. */
export interface Message {
  readonly body: Buffer;
  readonly caller: Caller;
  readonly endpoint: Endpoint;
  readonly peek: RequestPeek;
  readonly path: string;
  /** Values of the gateway's own headers. */
  readonly own: ReadonlyMap<string, string> | undefined;
}

/** A request as replicas get it. */
export interface Admitted {
  readonly message: Message;
  readonly model: ModelRoute;
  readonly holder: ResponseHolder | undefined;
  readonly isTranslated: boolean;
  readonly urgency: Urgency;
  /** The destination of the response in front of `inner`. `servedBy` gives the replica that answers. */
  target(inner: ResponseTarget, id: string, servedBy: () => Replica | undefined): ResponseTarget;
}

/** A request for a stored response. */
export interface StoredRequest {
  readonly path: StoredResponsePath;
  /** Query of the URL, with its question mark. */
  readonly query: string;
  readonly caller: Caller;
}

export interface AdmissionParts {
  readonly fleet: Fleet;
  readonly owners: ResponseOwners;
}

/** The model's name is not in such a request, so it goes to any of the caller's models that the replica serves. */
export function admitStored(
  { path, query, caller }: StoredRequest,
  { fleet, owners }: AdmissionParts,
): Admitted | ApiError {
  const team = { team: caller.team, owners };
  const models =
    caller.models === undefined ? fleet.models : fleet.models.filter(({ name }) => caller.models?.has(name));
  const stored = storedAt(models, path.id, team);
  if (stored === undefined) {
    const message = `No replica that this gateway knows holds the response \`${path.id.slice(0, 128)}\`.`;
    return { kind: "notFound", code: "response_not_found", field: "response_id", message };
  }
  const { model, holder } = stored;
  const target = `/v1/responses/${holder.responseId}${path.action}${query}`;
  const endpoint: Endpoint = {
    operation: "stored_response",
    dialect: "openai",
    path: target,
    isGenerating: false,
    errorOperation: "responses",
  };
  return {
    message: { body: noBytes, caller, endpoint, peek: { ...noPeek, model: model.name }, path: target, own: undefined },
    model,
    holder,
    isTranslated: false,
    urgency: usual,
    target: (inner, _, servedBy) => new StoredResponseTarget(new ResponseIdTarget(inner, team, { holder, servedBy })),
  };
}

export function admit(
  message: Message,
  { fleet, owners }: AdmissionParts,
  nowMs: number,
): Admitted | ApiError | Answer {
  const { body, caller, endpoint, peek } = message;
  const model = fleet.model(peek.model);
  if (model === undefined || caller.models?.has(model.name) === false) {
    const kind = model === undefined ? "modelNotFound" : "forbidden";
    const detail = model === undefined ? "does not exist here" : `is not among the models of team ${caller.team}`;
    return { kind, field: "model", message: `The model \`${peek.model.slice(0, 256)}\` ${detail}.` };
  }
  const refused = refusedBy(model, message);
  if (refused !== undefined) return refused;
  const urgency = urgencyOf(message.own, peek.serviceTier, caller);
  if ("kind" in urgency) return urgency;
  if (endpoint.operation === "count_tokens") return admitCount(message, model, urgency);
  const translated = translate(endpoint, model, body, nowMs);
  if (translated !== undefined && "problem" in translated) {
    return { kind: "badRequest", field: translated.field, message: translated.problem };
  }
  if (translated !== undefined) {
    const { body: chat, endpoint: chatEndpoint, peek: chatPeek, path } = translated;
    return {
      message: { ...message, body: chat, endpoint: chatEndpoint, peek: chatPeek, path },
      model,
      holder: undefined,
      isTranslated: true,
      urgency,
      target: (inner, id) => translated.target(inner, id),
    };
  }
  const unlisted = unlistedIn(peek, model);
  if (unlisted !== undefined) return unlisted;
  if (endpoint.operation !== "responses") {
    return { message, model, holder: undefined, isTranslated: false, urgency, target: (inner) => inner };
  }
  const team = { team: caller.team, owners };
  const holder = holderOf(model, peek.previousResponseId, team);
  if (holder !== undefined && "kind" in holder) return holder;
  return {
    message,
    model,
    holder,
    isTranslated: false,
    urgency,
    target: (inner, _, servedBy) => new ResponseIdTarget(inner, team, { holder, servedBy }),
  };
}

/** Refuses a request that is beyond the bounds of its model. */
function refusedBy({ name, config }: ModelRoute, { body, peek, endpoint }: Message): ApiError | undefined {
  const { outputTokensMax, allowRemoteMedia } = config;
  const asked = Math.max(peek.outputTokensMax ?? 0, peek.outputTokensMin);
  if (asked > outputTokensMax) {
    const message = `The request asks for ${asked} output tokens; ${name} gives at most ${outputTokensMax}.`;
    return { kind: "badRequest", field: "max_tokens", message };
  }
  if (allowRemoteMedia || endpoint.operation === "infer" || !hasRemoteMedia(body, endpoint.operation)) return undefined;
  const message =
    "Images, audio and video must be in the request itself (`data:` URLs): the model server would fetch an address from " +
    "its own network. The operator can allow addresses (`allowRemoteMedia` of the model).";
  return { kind: "badRequest", message };
}

/** A request for the number of its input tokens. The answer is ready where no engine counts. */
function admitCount(message: Message, model: ModelRoute, urgency: Urgency): Admitted | ApiError | Answer {
  const { body, peek, endpoint } = message;
  const estimate = (): string => estimatedCount(model, body);
  const counter = counterOf(model);
  const target = (inner: ResponseTarget): ResponseTarget => new CountTarget(inner, endpoint, estimate);
  switch (counter.kind) {
    case "estimate":
      return { status: 200, body: estimate() };
    case "engine":
      return unlistedIn(peek, model) ?? { message, model, holder: undefined, isTranslated: false, urgency, target };
    case "tokenizer": {
      const chat = tokenizeBody(body);
      if ("problem" in chat) return { kind: "badRequest", field: chat.field, message: chat.problem };
      const chatPeek = peekRequest(chat, "chat");
      if ("problem" in chatPeek) return { kind: "badRequest", field: chatPeek.field, message: chatPeek.problem };
      const sent = { ...message, body: chat, peek: chatPeek, path: counter.path };
      return { message: sent, model, holder: undefined, isTranslated: true, urgency, target };
    }
  }
}

function unlistedIn({ unlisted }: RequestPeek, model: ModelRoute): ApiError | undefined {
  const field = unlisted.find((name) => !model.config.allowFields.includes(name));
  return field === undefined ? undefined : unlistedError(model, field);
}

function unlistedError({ name }: ModelRoute, field: string): ApiError {
  const message = `The field \`${field}\` is not passed on. The operator can allow it (\`allowFields\` of ${name}).`;
  return { kind: "badRequest", field, message };
}
