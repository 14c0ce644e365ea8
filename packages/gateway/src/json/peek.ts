/**
 * Reads the fields for routing, limits and usage from a request body, without parsing the prompt. It stops at the first
 * fault: a request whose numbers, flags or names an engine could read otherwise than the gateway is refused.
 */
import { fieldListOf, listedFields, type FieldList, type RequestField } from "../protocols/request-fields.ts";
import type { Operation } from "../protocols/endpoints.ts";
import {
  DEPTH_MAX,
  integerOf,
  isBlankFrom,
  isFalse,
  isNull,
  isTrue,
  KeySet,
  listAt,
  LITERAL_BYTES_MAX,
  scanObject,
  textOf,
  VALUE_COUNT_MAX,
  type FieldSpan,
} from "./scan.ts";

export interface RequestPeek {
  readonly model: string;
  readonly modelSpan: FieldSpan | undefined;
  readonly isStream: boolean;
  /** Maximum output tokens of one choice; undefined if the client states none. */
  readonly outputTokensMax: number | undefined;
  /** Tokens that one choice has at least (`min_tokens`). */
  readonly outputTokensMin: number;
  /** A maximum of output tokens that the client states as `null`. The gateway may write its own in this place. */
  readonly emptyMaximum: FieldSpan | undefined;
  /** Number of choices that the replica generates: `n` or `best_of`, for each prompt of a list. */
  readonly choiceCount: number;
  /** The client's `stream_options`, and whether it requests usage. */
  readonly streamOptions: FieldSpan | undefined;
  readonly isUsageAsked: boolean;
  /** Messages, prompt or input: the input of a prefix hash. */
  readonly prompt: FieldSpan | undefined;
  /** Whether a broken stream can be continued: not with tools, structured output, penalties, several choices or log probabilities. */
  readonly isResumable: boolean;
  readonly session: string;
  /** `service_tier`: "" if the client states none. */
  readonly serviceTier: string;
  /** Id of the stored response that a request of the Responses API continues, and its place. */
  readonly previousResponseId: string;
  readonly previousResponse: FieldSpan | undefined;
  /** Names of fields that are on no list. A model can allow them. */
  readonly unlisted: readonly string[];
}

/** Why a request is refused, and the field that is at fault. */
export interface PeekProblem {
  readonly problem: string;
  readonly field?: string | undefined;
}

/** A request whose body is not read. */
export const noPeek: RequestPeek = {
  model: "",
  modelSpan: undefined,
  isStream: false,
  outputTokensMax: undefined,
  outputTokensMin: 0,
  emptyMaximum: undefined,
  choiceCount: 1,
  streamOptions: undefined,
  isUsageAsked: true,
  prompt: undefined,
  isResumable: false,
  session: "",
  serviceTier: "",
  previousResponseId: "",
  previousResponse: undefined,
  unlisted: [],
};

/** One message for all: a scan that stops at the first fault does not tell a value too many from a missing bracket. */
export const UNREADABLE = `The body is not a JSON object that the gateway reads: valid JSON, no escaped names of fields, at most ${VALUE_COUNT_MAX} values and ${DEPTH_MAX} levels in a field, numbers of at most ${LITERAL_BYTES_MAX} characters.`;

/** Maximum of `n` and `best_of`: OpenAI's own. */
const CHOICES_MAX = 128;
/** Maximum number of prompts in one request for completions: OpenAI's own for inputs of embeddings. */
const PROMPTS_MAX = 2048;
/** Largest number of tokens that a request may state. Models have bounds of their own (`outputTokensMax`). */
export const TOKENS_MAX = 1_000_000_000;
/** Maximum number of fields of one request that are on no list, and of bytes of such a name. */
const UNLISTED_MAX = 16;
const NAME_BYTES_MAX = 64;
/** Maximum size of `stream_options`: two or three flags. */
const STREAM_OPTIONS_BYTES_MAX = 1024;

const keySets: Readonly<Record<FieldList, KeySet<RequestField>>> = {
  chat: new KeySet(listedFields.chat, "refuse"),
  text_completion: new KeySet(listedFields.text_completion, "refuse"),
  responses: new KeySet(listedFields.responses, "refuse"),
  messages: new KeySet(listedFields.messages, "refuse"),
  pooling: new KeySet(listedFields.pooling, "refuse"),
};
const streamOptionKeys = new KeySet(["include_usage"], "refuse");

type Draft = { -readonly [Field in keyof RequestPeek]: RequestPeek[Field] };

export function peekRequest(bytes: Buffer, operation: Operation): RequestPeek | PeekProblem {
  return new Peek(bytes).read(fieldListOf(operation));
}

class Peek {
  readonly #bytes: Buffer;
  /** Names of fields. A request has few, so that a list is faster than a set. */
  readonly #seen: string[] = [];
  readonly #unlisted: string[] = [];
  readonly #draft: Draft = { ...noPeek, isUsageAsked: false, isResumable: true };
  #choices = 1;
  #prompts = 1;
  #problem: PeekProblem | undefined;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  read(list: FieldList): RequestPeek | PeekProblem {
    const bytes = this.#bytes;
    const end = scanObject(
      bytes,
      0,
      keySets[list],
      (key, start, stop) => {
        if (this.#problem !== undefined) return;
        if (this.#seen.includes(key)) this.#refuse(key, "is given twice");
        this.#seen.push(key);
        this.#take(key, { start, end: stop });
      },
      (start, stop) => this.#other(start, stop),
    );
    if (this.#problem !== undefined) return this.#problem;
    if (end < 0 || !isBlankFrom(bytes, end)) return { problem: UNREADABLE };
    const draft = this.#draft;
    draft.choiceCount = this.#choices * this.#prompts;
    if (draft.choiceCount > 1) draft.isResumable = false;
    draft.unlisted = this.#unlisted;
    return draft;
  }

  /** Parsers disagree on which duplicate counts, and some ignore the case of a name. */
  #refuse(field: string, reason: string): void {
    this.#problem ??= { problem: `The field \`${field}\` ${reason}.`, field };
  }

  #other(start: number, end: number): boolean {
    if (this.#problem !== undefined) return false;
    const name = this.#bytes.toString("utf8", start, Math.min(end, start + NAME_BYTES_MAX));
    if (end - start > NAME_BYTES_MAX || this.#unlisted.length === UNLISTED_MAX || this.#seen.includes(name))
      this.#refuse(name, this.#seen.includes(name) ? "is given twice" : "is no field that the gateway passes on");
    this.#seen.push(name);
    this.#unlisted.push(name);
    return this.#problem === undefined;
  }

  #take(key: RequestField, field: FieldSpan): void {
    const { start, end } = field;
    const bytes = this.#bytes;
    const draft = this.#draft;
    switch (key) {
      case "model":
        draft.model = textOf(bytes, start, end) ?? "";
        draft.modelSpan = field;
        break;
      case "stream":
        draft.isStream = isTrue(bytes, start, end);
        if (!draft.isStream && !isFalse(bytes, start, end) && !isNull(bytes, start, end))
          this.#refuse(key, "must be true or false");
        break;
      case "stream_options":
        if (end - start > STREAM_OPTIONS_BYTES_MAX) this.#refuse(key, "is too large");
        else draft.isUsageAsked = asksForUsage(bytes, start);
        draft.streamOptions = field;
        break;
      case "n":
      case "best_of":
        this.#choices = Math.max(this.#choices, this.#number(key, field, { min: 1, max: CHOICES_MAX }) ?? 1);
        break;
      case "max_tokens":
      case "max_completion_tokens":
      case "max_output_tokens":
        this.#takeMaximum(key, field);
        break;
      case "min_tokens":
        draft.outputTokensMin = this.#number(key, field, { min: 0, max: TOKENS_MAX }) ?? 0;
        break;
      case "prompt":
        this.#prompts = this.#promptCount(field);
        draft.prompt = field;
        break;
      case "messages":
      case "input":
        draft.prompt = field;
        break;
      case "previous_response_id":
        draft.previousResponseId = textOf(bytes, start, end) ?? "";
        draft.previousResponse = field;
        break;
      default:
        this.#takeOther(key, field);
    }
  }

  #takeOther(key: RequestField, { start, end }: FieldSpan): void {
    const bytes = this.#bytes;
    switch (key) {
      case "tools":
      case "functions":
      case "logprobs":
      case "prompt_logprobs":
      case "response_format":
      // Structured output: a second replica would begin the grammar again in the middle of the text.
      case "guided_json":
      case "guided_regex":
      case "guided_choice":
      case "guided_grammar":
      case "structured_outputs":
      case "grammar":
      case "json_schema":
      case "regex":
      case "ebnf":
      // Tokens as numbers, and sound: a stream of them is not joined.
      case "return_token_ids":
      case "modalities":
      case "audio":
        this.#draft.isResumable = false;
        break;
      // These penalties count output tokens, of which a second replica sees only its own.
      case "frequency_penalty":
      case "presence_penalty":
        if (Number(bytes.toString("latin1", start, Math.min(end, start + PENALTY_BYTES_MAX))) !== 0)
          this.#draft.isResumable = false;
        break;
      case "prompt_cache_key":
        this.#draft.session = textOf(bytes, start, end)?.slice(0, 256) ?? "";
        break;
      case "service_tier":
        this.#draft.serviceTier = textOf(bytes, start, end)?.slice(0, 32) ?? "";
        break;
      default:
        break;
    }
  }

  /** Engines differ in which of the maxima counts: the largest is reserved. */
  #takeMaximum(key: RequestField, field: FieldSpan): void {
    if (isNull(this.#bytes, field.start, field.end)) {
      this.#draft.emptyMaximum ??= field;
      return;
    }
    const value = this.#number(key, field, { min: 0, max: TOKENS_MAX });
    if (value !== undefined) this.#draft.outputTokensMax = Math.max(this.#draft.outputTokensMax ?? 0, value);
  }

  /**
   * The number in a field. Engines read texts (`"100"`) and fractions (`100.0`) as numbers in some fields: what is not
   * certainly the same number for every engine is refused.
   */
  #number(key: string, { start, end }: FieldSpan, { min, max }: { min: number; max: number }): number | undefined {
    if (isNull(this.#bytes, start, end)) return undefined;
    const value = integerOf(this.#bytes, start, end);
    if (value !== undefined && value >= min && value <= max) return value;
    this.#refuse(key, `must be a whole number from ${min} to ${max}`);
    return undefined;
  }

  /** A list of numbers is one prompt in tokens; a list of texts or lists is that many prompts. */
  #promptCount(field: FieldSpan): number {
    const list = listAt(this.#bytes, field.start);
    const isOfPrompts = list?.firstByte === QUOTE || list?.firstByte === OPEN_ARRAY;
    if (list === undefined || !isOfPrompts) return 1;
    if (list.count > PROMPTS_MAX) this.#refuse("prompt", `must have at most ${PROMPTS_MAX} prompts`);
    return list.count;
  }
}

const PENALTY_BYTES_MAX = 32;
const QUOTE = 34;
const OPEN_ARRAY = 91;

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
