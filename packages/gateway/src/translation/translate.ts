/** Decides whether a request needs translation, and prepares it. */
import type { ModelRoute } from "../exchange/model-route.ts";
import type { ResponseTarget } from "../exchange/target.ts";
import { peekRequest, type RequestPeek } from "../json/peek.ts";
import { endpointAt, type Endpoint } from "../protocols/endpoints.ts";
import { chatOfMessages, MessagesAnswer } from "./messages.ts";
import { chatOfResponses, ResponsesAnswer } from "./responses.ts";
import { TranslatedTarget, type JsonObject } from "./translator.ts";

export interface Translated {
  readonly endpoint: Endpoint;
  readonly path: string;
  readonly body: Buffer;
  readonly peek: RequestPeek;
  target(inner: ResponseTarget, id: string): ResponseTarget;
}

/**
 * Prepares the translation of a request. Undefined if every pool of the model serves the protocol itself, or if the
 * protocol is never translated.
 */
export function translate(
  endpoint: Endpoint,
  model: ModelRoute,
  body: Buffer,
  nowMs: number,
): Translated | { readonly problem: string } | undefined {
  const protocol = endpoint.operation;
  if (protocol !== "messages" && protocol !== "responses") return undefined;
  if (model.routes.every(({ pool }) => pool.speaks(protocol))) return undefined;
  let request: JsonObject;
  try {
    request = JSON.parse(body.toString("utf8")) as JsonObject;
  } catch {
    return { problem: "The body is not valid JSON." };
  }
  if (request["previous_response_id"] != null) {
    return {
      problem: "`previous_response_id` needs a model server that stores responses; send the conversation as `input`.",
    };
  }
  let chat: Buffer;
  try {
    chat = Buffer.from(JSON.stringify(protocol === "messages" ? chatOfMessages(request) : chatOfResponses(request)));
  } catch {
    // The body has values of a type that the protocol does not have, or is nested more deeply than the stack allows.
    return { problem: `The body cannot be translated for this model server: it is not a valid ${protocol} request.` };
  }
  const peek = peekRequest(chat);
  if ("problem" in peek) return peek;
  const chatEndpoint = endpointAt("/v1/chat/completions")!;
  return {
    endpoint: { ...chatEndpoint, dialect: endpoint.dialect, errorOperation: protocol },
    path: chatEndpoint.path,
    body: chat,
    peek,
    target: (inner, id) => {
      const answer =
        protocol === "messages" ? new MessagesAnswer(id, peek.model) : new ResponsesAnswer(id, request, nowMs);
      return new TranslatedTarget(inner, answer, endpoint);
    },
  };
}
