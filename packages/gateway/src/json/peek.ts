/** Reads the fields for routing, limits and usage from a request body, without parsing the prompt. */
import { isBlankFrom, isTrue, scanObject, textOf, wholeNumberOf, type FieldSpan } from "./scan.ts";

export interface RequestPeek {
  readonly model: string;
  readonly modelSpan: FieldSpan | undefined;
  readonly isStream: boolean;
  /** Maximum output tokens, all choices together; undefined if the client states none. */
  readonly outputTokensMax: number | undefined;
  /** The client's `stream_options`, and whether it requests usage. */
  readonly streamOptions: FieldSpan | undefined;
  readonly isUsageAsked: boolean;
  /** Messages, prompt or input: the input of a prefix hash. */
  readonly prompt: FieldSpan | undefined;
  /** Features with which a broken stream cannot be continued: tools, several choices, log probabilities. */
  readonly isResumable: boolean;
  readonly session: string;
}

interface Draft {
  model: string | undefined;
  modelSpan: FieldSpan | undefined;
  isStream: boolean;
  maxTokens: number | undefined;
  choices: number;
  streamOptions: FieldSpan | undefined;
  prompt: FieldSpan | undefined;
  isResumable: boolean;
  session: string;
  seen: number;
  isRepeated: boolean;
}

/** One bit per field that may occur once only: parsers disagree on which duplicate counts. */
const once: Readonly<Record<string, number>> = {
  model: 1,
  stream: 2,
  stream_options: 4,
  messages: 8,
  prompt: 16,
  input: 32,
};

export function peekRequest(bytes: Buffer): RequestPeek | { readonly problem: string } {
  const draft: Draft = {
    model: undefined,
    modelSpan: undefined,
    isStream: false,
    maxTokens: undefined,
    choices: 1,
    streamOptions: undefined,
    prompt: undefined,
    isResumable: true,
    session: "",
    seen: 0,
    isRepeated: false,
  };
  const end = scanObject(bytes, 0, (key, span) => takeField(draft, bytes, key, span));
  if (end < 0 || !isBlankFrom(bytes, end)) return { problem: "The body is not a valid JSON object." };
  if (draft.isRepeated) return { problem: "A field of the body is given twice." };
  return {
    model: draft.model ?? "",
    modelSpan: draft.modelSpan,
    isStream: draft.isStream,
    outputTokensMax: draft.maxTokens === undefined ? undefined : draft.maxTokens * draft.choices,
    streamOptions: draft.streamOptions,
    isUsageAsked: draft.streamOptions !== undefined && asksForUsage(bytes, draft.streamOptions),
    prompt: draft.prompt,
    isResumable: draft.isResumable && draft.choices === 1,
    session: draft.session,
  };
}

function takeField(draft: Draft, bytes: Buffer, key: string, span: FieldSpan): void {
  const bit = once[key];
  if (bit !== undefined) {
    if ((draft.seen & bit) !== 0) draft.isRepeated = true;
    draft.seen |= bit;
  }
  switch (key) {
    case "model":
      draft.model = textOf(bytes, span);
      draft.modelSpan = span;
      break;
    case "stream":
      draft.isStream = isTrue(bytes, span);
      break;
    case "stream_options":
      draft.streamOptions = span;
      break;
    case "max_tokens":
    case "max_completion_tokens":
    case "max_output_tokens":
      draft.maxTokens = wholeNumberOf(bytes, span) ?? draft.maxTokens;
      break;
    case "n":
    case "best_of":
      draft.choices = Math.max(draft.choices, Math.min(128, wholeNumberOf(bytes, span) ?? 1));
      break;
    case "messages":
    case "prompt":
    case "input":
    case "inputs":
      draft.prompt = span;
      break;
    case "tools":
    case "functions":
    case "logprobs":
    case "response_format":
      draft.isResumable = false;
      break;
    case "prompt_cache_key":
      draft.session = textOf(bytes, span)?.slice(0, 256) ?? "";
      break;
    default:
      break;
  }
}

function asksForUsage(bytes: Buffer, options: FieldSpan): boolean {
  let isAsked = false;
  scanObject(bytes, options.start, (key, span) => {
    if (key === "include_usage") isAsked = isTrue(bytes, span);
  });
  return isAsked;
}
