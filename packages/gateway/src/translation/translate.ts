/** Decides whether a request needs translation, and prepares it. */
import type { ModelRoute } from "../exchange/model-route.ts";
import type { ResponseTarget } from "../exchange/target.ts";
import { peekRequest, type RequestPeek } from "../json/peek.ts";
import { exceedsStructure, type StructureBound } from "../json/scan.ts";
import { endpointAt, type Endpoint } from "../protocols/endpoints.ts";
import { FieldCheck } from "./field-check.ts";
import { chatOfMessages, MessagesAnswer } from "./messages.ts";
import { chatOfResponses, ResponsesAnswer } from "./responses.ts";
import { TranslatedTarget, type JsonObject } from "./translator.ts";

/** Bound of what is built value by value: such a request takes some tens of milliseconds. */
const TRANSLATED: StructureBound = { valueCountMax: 50_000, depthMax: 100 };
const tooManyParts = `The request has more than ${TRANSLATED.valueCountMax} values, or values more than ${TRANSLATED.depthMax} levels deep.`;

export interface Translated {
  readonly endpoint: Endpoint;
  readonly path: string;
  readonly body: Buffer;
  readonly peek: RequestPeek;
  target(inner: ResponseTarget, id: string): ResponseTarget;
}

export interface Untranslatable {
  readonly problem: string;
  /** Path of the field that cannot be translated. */
  readonly field?: string | undefined;
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
): Translated | Untranslatable | undefined {
  const protocol = endpoint.operation;
  if (protocol !== "messages" && protocol !== "responses") return undefined;
  if (model.routes.every(({ pool }) => pool.speaks(protocol))) return undefined;
  const translated = chatOf(protocol, body);
  if ("problem" in translated) return translated;
  const { request } = translated;
  const chat = Buffer.from(JSON.stringify(translated.chat));
  const peek = peekRequest(chat, "chat");
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

/** The chat completion of a request in another protocol, or what cannot be translated. */
export function chatOf(
  protocol: "messages" | "responses",
  body: Buffer,
): { readonly request: JsonObject; readonly chat: JsonObject } | Untranslatable {
  if (exceedsStructure(body, TRANSLATED)) return { problem: tooManyParts };
  let request: JsonObject;
  try {
    request = JSON.parse(body.toString("utf8")) as JsonObject;
  } catch {
    return { problem: "The body is not valid JSON." };
  }
  const check = new FieldCheck();
  let chat: JsonObject;
  try {
    chat = protocol === "messages" ? chatOfMessages(request, check) : chatOfResponses(request, check);
  } catch {
    // The body is nested more deeply than the stack allows.
    return { problem: `The body cannot be translated for this model server: it is not a valid ${protocol} request.` };
  }
  if (check.refused !== undefined) return { problem: check.refused.message, field: check.refused.field };
  return { request, chat };
}
