/** Reads the fields for routing, limits and usage from a request body, without parsing the prompt. */
import { isBlankFrom, isTrue, KeySet, scanObject, textOf, wholeNumberOf, type FieldSpan } from "./scan.ts";

export interface RequestPeek {
  readonly model: string;
  readonly modelSpan: FieldSpan | undefined;
  readonly isStream: boolean;
  /** Maximum output tokens, all choices together; undefined if the client states none. */
  readonly outputTokensMax: number | undefined;
  /** Number of choices that the replica generates (`n`, `best_of`). */
  readonly choiceCount: number;
  /** The client's `stream_options`, and whether it requests usage. */
  readonly streamOptions: FieldSpan | undefined;
  readonly isUsageAsked: boolean;
  /** Messages, prompt or input: the input of a prefix hash. */
  readonly prompt: FieldSpan | undefined;
  /** Whether a broken stream can be continued: not with tools, structured output, penalties, several choices or log probabilities. */
  readonly isResumable: boolean;
  readonly session: string;
  /** Id of the stored response that a request of the Responses API continues, and its place. */
  readonly previousResponseId: string;
  readonly previousResponse: FieldSpan | undefined;
}

/** A request whose body is not read. */
export const noPeek: RequestPeek = {
  model: "",
  modelSpan: undefined,
  isStream: false,
  outputTokensMax: undefined,
  choiceCount: 1,
  streamOptions: undefined,
  isUsageAsked: true,
  prompt: undefined,
  isResumable: false,
  session: "",
  previousResponseId: "",
  previousResponse: undefined,
};

type Draft = { -readonly [Field in keyof RequestPeek]: RequestPeek[Field] };

const fieldNames = [
  "model",
  "stream",
  "stream_options",
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
  "n",
  "best_of",
  "messages",
  "prompt",
  "input",
  "inputs",
  "tools",
  "functions",
  "logprobs",
  "response_format",
  "guided_json",
  "guided_regex",
  "guided_choice",
  "guided_grammar",
  "structured_outputs",
  "frequency_penalty",
  "presence_penalty",
  "prompt_cache_key",
  "previous_response_id",
] as const;
type FieldName = (typeof fieldNames)[number];

const fieldKeys = new KeySet(fieldNames);
const streamOptionKeys = new KeySet(["include_usage"]);

/** One bit per field that may occur only once: parsers disagree on which duplicate counts. */
function onceBit(key: FieldName): number {
  switch (key) {
    case "model":
      return 1;
    case "stream":
      return 2;
    case "stream_options":
      return 4;
    case "messages":
      return 8;
    case "prompt":
      return 16;
    case "input":
      return 32;
    case "previous_response_id":
      return 64;
    default:
      return 0;
  }
}

export function peekRequest(bytes: Buffer): RequestPeek | { readonly problem: string } {
  const draft: Draft = {
    model: "",
    modelSpan: undefined,
    isStream: false,
    outputTokensMax: undefined,
    choiceCount: 1,
    streamOptions: undefined,
    isUsageAsked: false,
    prompt: undefined,
    isResumable: true,
    session: "",
    previousResponseId: "",
    previousResponse: undefined,
  };
  let seen = 0;
  let isRepeated = false;
  const end = scanObject(bytes, 0, fieldKeys, (key, start, stop) => {
    const bit = onceBit(key);
    if ((seen & bit) !== 0) isRepeated = true;
    seen |= bit;
    if (key === "n" || key === "best_of") {
      draft.choiceCount = Math.max(draft.choiceCount, Math.min(128, wholeNumberOf(bytes, start, stop) ?? 1));
    } else takeField(draft, bytes, { key, start, end: stop });
  });
  if (end < 0 || !isBlankFrom(bytes, end)) return { problem: "The body is not a valid JSON object." };
  if (isRepeated) return { problem: "A field of the body is given twice." };
  if (draft.choiceCount > 1) {
    draft.isResumable = false;
    if (draft.outputTokensMax !== undefined) draft.outputTokensMax *= draft.choiceCount;
  }
  return draft;
}

function takeField(draft: Draft, bytes: Buffer, field: FieldSpan & { readonly key: FieldName }): void {
  const { key, start, end } = field;
  switch (key) {
    case "model":
      draft.model = textOf(bytes, start, end) ?? "";
      draft.modelSpan = field;
      break;
    case "stream":
      draft.isStream = isTrue(bytes, start, end);
      break;
    case "stream_options":
      draft.streamOptions = field;
      draft.isUsageAsked = asksForUsage(bytes, start);
      break;
    case "max_tokens":
    case "max_completion_tokens":
    case "max_output_tokens":
      draft.outputTokensMax = larger(draft.outputTokensMax, bytes, field);
      break;
    case "messages":
    case "prompt":
    case "input":
    case "inputs":
      draft.prompt = field;
      break;
    case "tools":
    case "functions":
    case "logprobs":
    case "response_format":
    // Structured output of vLLM: a second replica would begin the grammar again in the middle of the text.
    case "guided_json":
    case "guided_regex":
    case "guided_choice":
    case "guided_grammar":
    case "structured_outputs":
      draft.isResumable = false;
      break;
    // These penalties count output tokens, of which a second replica sees only its own.
    case "frequency_penalty":
    case "presence_penalty":
      if (Number(bytes.toString("latin1", start, Math.min(end, start + NUMBER_BYTES_MAX))) !== 0)
        draft.isResumable = false;
      break;
    case "prompt_cache_key":
      draft.session = textOf(bytes, start, end)?.slice(0, 256) ?? "";
      break;
    case "previous_response_id":
      draft.previousResponseId = textOf(bytes, start, end) ?? "";
      draft.previousResponse = field;
      break;
    default:
      break;
  }
}

/** Engines differ in which of the fields counts, and read `1e5` as a number: the largest is reserved. */
function larger(before: number | undefined, bytes: Buffer, { start, end }: FieldSpan): number | undefined {
  const isShort = end - start <= NUMBER_BYTES_MAX;
  const value =
    wholeNumberOf(bytes, start, end) ?? (isShort ? Number(bytes.toString("latin1", start, end)) : Number.NaN);
  return Number.isFinite(value) && value > 0 ? Math.max(before ?? 0, Math.ceil(value)) : before;
}

const NUMBER_BYTES_MAX = 32;

function asksForUsage(bytes: Buffer, from: number): boolean {
  let isAsked = false;
  scanObject(bytes, from, streamOptionKeys, (_, start, end) => {
    isAsked = isTrue(bytes, start, end);
  });
  return isAsked;
}

/** The text of a field of the outermost object. The object may be cut off after the field. */
export function fieldAtTop(bytes: Buffer, name: string): string | undefined {
  let text: string | undefined;
  scanObject(bytes, 0, new KeySet([name]), (_, start, end) => {
    text ??= textOf(bytes, start, end);
  });
  return text;
}
