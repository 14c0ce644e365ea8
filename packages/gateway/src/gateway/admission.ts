/** Finds the model of a request and prepares its translation, for requests of clients and of batches alike. */
import type { Caller } from "../access/teams.ts";
import { holderOf, ResponseIdTarget } from "../exchange/response-id.ts";
import type { ModelRoute } from "../exchange/model-route.ts";
import type { ResponseHolder } from "../exchange/runtime.ts";
import type { ResponseTarget } from "../exchange/target.ts";
import type { RequestPeek } from "../json/peek.ts";
import type { ApiError } from "../protocols/api-error.ts";
import type { Endpoint } from "../protocols/endpoints.ts";
import type { Fleet } from "../replicas/fleet.ts";
import type { Replica } from "../replicas/replica.ts";
import { translate } from "../translation/translate.ts";

/** A request as the client sent it. */
export interface Message {
  readonly body: Buffer;
  readonly caller: Caller;
  readonly endpoint: Endpoint;
  readonly peek: RequestPeek;
  readonly path: string;
}

/** A request as replicas get it. */
export interface Admitted {
  readonly message: Message;
  readonly model: ModelRoute;
  readonly holder: ResponseHolder | undefined;
  readonly isTranslated: boolean;
  /** The destination of the response in front of `inner`. `servedBy` gives the replica that answers. */
  target(inner: ResponseTarget, id: string, servedBy: () => Replica | undefined): ResponseTarget;
}

export function admit(message: Message, fleet: Fleet, nowMs: number): Admitted | ApiError {
  const { body, caller, endpoint, peek } = message;
  const model = fleet.model(peek.model);
  if (model === undefined || caller.models?.has(model.name) === false) {
    const kind = model === undefined ? "modelNotFound" : "forbidden";
    const detail = model === undefined ? "does not exist here" : `is not among the models of team ${caller.team}`;
    return { kind, field: "model", message: `The model \`${peek.model.slice(0, 256)}\` ${detail}.` };
  }
  const translated = translate(endpoint, model, body, nowMs);
  if (translated !== undefined && "problem" in translated) {
    return { kind: "badRequest", field: translated.field, message: translated.problem };
  }
  if (translated !== undefined) {
    const { body: chat, endpoint: chatEndpoint, peek: chatPeek, path } = translated;
    return {
      message: { body: chat, caller, endpoint: chatEndpoint, peek: chatPeek, path },
      model,
      holder: undefined,
      isTranslated: true,
      target: (inner, id) => translated.target(inner, id),
    };
  }
  if (endpoint.operation !== "responses") {
    return { message, model, holder: undefined, isTranslated: false, target: (inner) => inner };
  }
  const holder = holderOf(model, peek.previousResponseId);
  if (holder !== undefined && "kind" in holder) return holder;
  return {
    message,
    model,
    holder,
    isTranslated: false,
    target: (inner, _, servedBy) => new ResponseIdTarget(inner, holder, servedBy),
  };
}
