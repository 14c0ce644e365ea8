/** Token counts as engines report them, read from the bytes of a response or of one event. */
import { fieldAt, KeySet, scanObject, wholeNumberOf, type LastField } from "./scan.ts";

export interface TokenCounts {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
}

const usageKey = Buffer.from('"usage"');
/**
 * Maximum number of tokens. A larger number is an error of the replica: no context is so long, and bills must stay
 * whole numbers.
 */
const TOKENS_MAX = 1e9;
const detailKeys = new KeySet(["cached_tokens"]);
const usageKeys = new KeySet([
  "prompt_tokens",
  "input_tokens",
  "completion_tokens",
  "output_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
  "prompt_tokens_details",
  "input_tokens_details",
]);

const dataField = Buffer.from("data:");

/** The field of a stream's events that holds the response: Anthropic's `message`, the Responses API's `response`. */
export type UsageWrapper = "message" | "response";
const fieldKeys = {
  none: new KeySet(["usage"]),
  message: new KeySet(["usage", "message"]),
  response: new KeySet(["usage", "response"]),
} as const;

/**
 * The `usage` of the response itself, with the names of OpenAI (`prompt_tokens`), or of the Responses API and Anthropic
 * (`input_tokens`). A `usage` deeper in the response does not count. `bytes` begin with the response and may be cut
 * off.
 */
export function usageFromStart(bytes: Buffer): TokenCounts | undefined {
  return bytes.lastIndexOf(usageKey) < 0 ? undefined : usageOf(bytes, 0, "none");
}

/**
 * The same for `bytes` that end with the response and may lack its beginning. Undefined if the usage is in the missing
 * part.
 */
export function usageAtEnd(bytes: Buffer): TokenCounts | undefined {
  const last = lastUsage(bytes, bytes.lastIndexOf(usageKey));
  return last?.isOfLastObject === true ? usageAt(bytes, last.start) : undefined;
}

/** The same for one whole event of a stream. `wrapper` is the field of an event that may hold the response. */
export function usageInEvent(event: Buffer, wrapper: UsageWrapper | undefined): TokenCounts | undefined {
  const at = event.lastIndexOf(usageKey);
  if (at < 0) return undefined;
  const last = lastUsage(event, at);
  if (last?.isOfLastObject === true) return usageAt(event, last.start);
  const data = dataOf(event);
  return usageOf(data.bytes, data.start, wrapper ?? "none");
}

function lastUsage(bytes: Buffer, at: number): LastField | undefined {
  return at < 0 ? undefined : fieldAt(bytes, at, at + usageKey.length);
}

function usageOf(bytes: Buffer, from: number, wrapper: UsageWrapper | "none"): TokenCounts | undefined {
  let own: TokenCounts | undefined;
  let wrapped: TokenCounts | undefined;
  scanObject<"usage" | UsageWrapper>(bytes, from, fieldKeys[wrapper], (key, start) => {
    if (key === "usage") own = usageAt(bytes, start);
    else wrapped = usageOf(bytes, start, "none");
  });
  return own ?? wrapped;
}

/** The JSON of an event: its `data:` line, or several such lines joined. */
function dataOf(event: Buffer): { readonly bytes: Buffer; readonly start: number } {
  const at = event.indexOf(dataField);
  const start = at < 0 ? 0 : at + dataField.length;
  if (event.indexOf(dataField, event.indexOf(10, start)) < 0) return { bytes: event, start };
  const lines = event.toString("utf8").split(/\r\n|\r|\n/);
  const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(dataField.length));
  return { bytes: Buffer.from(data.join("\n")), start: 0 };
}

function usageAt(bytes: Buffer, at: number): TokenCounts | undefined {
  if (bytes[at] !== 123) return undefined;
  let prompt = -1;
  let completion = -1;
  let cached = 0;
  // Anthropic does not include cached tokens in `input_tokens`; OpenAI includes them in the prompt's tokens.
  let beside = 0;
  let isPromptWhole = false;
  const end = scanObject(bytes, at, usageKeys, (key, from, to) => {
    switch (key) {
      case "prompt_tokens":
        isPromptWhole = true;
        prompt = tokensOf(bytes, from, to) ?? prompt;
        break;
      case "input_tokens":
        prompt = tokensOf(bytes, from, to) ?? prompt;
        break;
      case "completion_tokens":
      case "output_tokens":
        completion = tokensOf(bytes, from, to) ?? completion;
        break;
      case "cache_read_input_tokens":
        cached = tokensOf(bytes, from, to) ?? cached;
        beside += tokensOf(bytes, from, to) ?? 0;
        break;
      case "cache_creation_input_tokens":
        beside += tokensOf(bytes, from, to) ?? 0;
        break;
      case "prompt_tokens_details":
      case "input_tokens_details":
        isPromptWhole = true;
        scanObject(bytes, from, detailKeys, (_, start, stop) => {
          cached = tokensOf(bytes, start, stop) ?? cached;
        });
    }
  });
  if (end < 0 || (prompt < 0 && completion < 0)) return undefined;
  return {
    promptTokens: Math.max(0, prompt) + (isPromptWhole ? 0 : beside),
    completionTokens: Math.max(0, completion),
    cachedTokens: cached,
  };
}

function tokensOf(bytes: Buffer, start: number, end: number): number | undefined {
  const count = wholeNumberOf(bytes, start, end);
  return count === undefined || count > TOKENS_MAX ? undefined : count;
}
