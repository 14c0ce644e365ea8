/** Token counts as engines report them, read from the bytes of a response or of one event. */
import { KeySet, scanObject, wholeNumberOf } from "./scan.ts";

export interface TokenCounts {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
}

const usageKey = Buffer.from('"usage"');
/** More are a mistake of the replica: no context is so long, and bills must stay whole numbers. */
const TOKENS_MAX = 1e9;
const detailKeys = new KeySet(["cached_tokens"]);
const usageKeys = new KeySet([
  "prompt_tokens",
  "input_tokens",
  "completion_tokens",
  "output_tokens",
  "cache_read_input_tokens",
  "prompt_tokens_details",
  "input_tokens_details",
]);

/**
 * The last `usage` object of `bytes`, in OpenAI's (`prompt_tokens`), the Responses API's or Anthropic's (`input_tokens`) names.
 * A string that merely contains the word cannot match: its quotes are escaped.
 */
export function usageIn(bytes: Buffer): TokenCounts | undefined {
  let at = bytes.lastIndexOf(usageKey);
  while (at >= 0) {
    const found = usageAt(bytes, at + usageKey.length);
    if (found !== undefined) return found;
    if (at === 0) return undefined;
    at = bytes.lastIndexOf(usageKey, at - 1);
  }
  return undefined;
}

function usageAt(bytes: Buffer, offset: number): TokenCounts | undefined {
  let at = offset;
  while (bytes[at] === 32 || bytes[at] === 58) at++;
  if (bytes[at] !== 123) return undefined;
  let prompt = -1;
  let completion = -1;
  let cached = 0;
  const end = scanObject(bytes, at, usageKeys, (key, from, to) => {
    switch (key) {
      case "prompt_tokens":
      case "input_tokens":
        prompt = tokensOf(bytes, from, to) ?? prompt;
        break;
      case "completion_tokens":
      case "output_tokens":
        completion = tokensOf(bytes, from, to) ?? completion;
        break;
      case "cache_read_input_tokens":
        cached = tokensOf(bytes, from, to) ?? cached;
        break;
      case "prompt_tokens_details":
      case "input_tokens_details":
        scanObject(bytes, from, detailKeys, (_, start, stop) => {
          cached = tokensOf(bytes, start, stop) ?? cached;
        });
    }
  });
  if (end < 0 || (prompt < 0 && completion < 0)) return undefined;
  return { promptTokens: Math.max(0, prompt), completionTokens: Math.max(0, completion), cachedTokens: cached };
}

function tokensOf(bytes: Buffer, start: number, end: number): number | undefined {
  const count = wholeNumberOf(bytes, start, end);
  return count === undefined || count > TOKENS_MAX ? undefined : count;
}
