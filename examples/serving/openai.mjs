// OpenAI's protocol: validates requests, translates them for the engine, and shapes the answers.
import { randomUUID } from "node:crypto";
const CHOICES_MAX = 16; // maximum of prompts times `n` in one request
const STOPS_MAX = 4;
const LOGPROBS_MAX = 20;
const COMPLETION_TOKENS = 16; // OpenAI's default for completions

/** An error response in the format of OpenAI's protocol. */
export class ProtocolError extends Error {
  constructor(status, message, { type = "invalid_request_error", param = null, code = null } = {}) {
    super(message);
    Object.assign(this, { status, body: { error: { message, type, param, code } } });
  }
}
const invalid = (param, message) => new ProtocolError(400, message, { param });

function number(body, param, fallback, [low, high]) {
  const value = body[param] ?? fallback;
  if (typeof value !== "number" || !(value >= low && value <= high))
    throw invalid(param, `${param} must be a number from ${low} to ${high}`);
  return value;
}
function whole(body, param, fallback, range) {
  const value = number(body, param, fallback, range);
  if (!Number.isInteger(value)) throw invalid(param, `${param} must be a whole number`);
  return value;
}
function flag(body, param) {
  if (typeof (body[param] ?? false) !== "boolean") throw invalid(param, `${param} must be true or false`);
  return body[param] ?? false;
}

/** Rejects fields that would silently change the meaning of a request. */
function refuseUnsupported(body) {
  const unsupported = ["tools", "functions", "echo", "suffix", "logit_bias", "best_of", "audio", "prompt_logprobs"];
  for (const param of unsupported) {
    const isEmpty = [undefined, null, false].includes(body[param]) || Object.keys(body[param]).length === 0;
    if (!isEmpty && body[param] !== 1) throw invalid(param, `${param} is not supported by this server`);
  }
  const format = body.response_format?.type ?? "text";
  if (format !== "text")
    throw invalid("response_format", `the response format "${format}" is not supported by this server`);
  for (const param of ["presence_penalty", "frequency_penalty"])
    if (number(body, param, 0, [-2, 2]) !== 0) throw invalid(param, `${param} is not supported by this server`);
}

function samplingOf(body, defaultTokens) {
  refuseUnsupported(body);
  const stops = [body.stop ?? []].flat();
  if (stops.length > STOPS_MAX || stops.some((stop) => typeof stop !== "string" || stop === ""))
    throw invalid("stop", `stop must be a string or up to ${STOPS_MAX} strings`);
  const param = body.max_completion_tokens == null ? "max_tokens" : "max_completion_tokens";
  return {
    maxTokens: whole(body, param, defaultTokens, [1, Number.MAX_SAFE_INTEGER]),
    temperature: number(body, "temperature", 1, [0, 2]),
    topP: number(body, "top_p", 1, [0, 1]),
    topK: Math.max(whole(body, "top_k", 0, [-1, 1e6]), 0),
    seed: whole(body, "seed", Math.floor(Math.random() * 2 ** 31), [-(2 ** 53), 2 ** 53]) | 0,
    ignoreEnd: flag(body, "ignore_eos"),
    stops,
  };
}

function streamingOf(body) {
  const isStream = flag(body, "stream");
  return { isStream, hasUsage: isStream && flag(body.stream_options ?? {}, "include_usage") };
}

/** A list of prompts, each text or tokens, from the four forms that OpenAI accepts. */
function promptsOf(value, param) {
  const isTokens = (each) => Array.isArray(each) && each.length > 0 && each.every(Number.isInteger);
  const prompts = typeof value === "string" || isTokens(value) ? [value] : value;
  if (
    !Array.isArray(prompts) ||
    prompts.length === 0 ||
    !prompts.every((each) => typeof each === "string" || isTokens(each))
  )
    throw invalid(param, `${param} must be a string, a list of strings, a list of tokens or a list of such lists`);
  return prompts;
}

function textOf({ content, role }, i) {
  const param = `messages[${i}]`;
  if (!["system", "developer", "user", "assistant", "tool"].includes(role))
    throw invalid(`${param}.role`, "the role is unknown");
  if (typeof content === "string") return content;
  const isText =
    Array.isArray(content) && content.every((part) => part?.type === "text" && typeof part.text === "string");
  if (!isText) throw invalid(`${param}.content`, "the content must be text, or parts that are text");
  return content.map((part) => part.text).join("");
}

/** Validates a chat or completion request; returns one engine request for each choice. */
export function readGeneration(body, kind) {
  const isChat = kind === "chat";
  if (
    isChat &&
    (!Array.isArray(body.messages) ||
      body.messages.length === 0 ||
      body.messages.some((each) => each === null || typeof each !== "object"))
  )
    throw invalid("messages", "messages must be a list of at least one message");
  // The model's chat template: messages are concatenated, so the model continues a final message of the assistant.
  const prompts = isChat ? [body.messages.map(textOf).join("")] : promptsOf(body.prompt, "prompt");
  const n = whole(body, "n", 1, [1, CHOICES_MAX]);
  if (prompts.length * n > CHOICES_MAX) throw invalid("n", `a request has at most ${CHOICES_MAX} choices`);
  const sampling = samplingOf(body, isChat ? Number.MAX_SAFE_INTEGER : COMPLETION_TOKENS);
  const count = isChat
    ? flag(body, "logprobs")
      ? whole(body, "top_logprobs", 0, [0, LOGPROBS_MAX])
      : undefined
    : (body.logprobs ?? undefined);
  if (count !== undefined) sampling.topLogprobs = whole({ logprobs: count }, "logprobs", 0, [0, LOGPROBS_MAX]);
  // Choices of one prompt differ by their seed.
  const requests = prompts.flatMap((prompt) =>
    Array.from({ length: n }, (_, i) => ({ prompt, ...sampling, seed: sampling.seed + i })),
  );
  return { isChat, requests, promptStride: n, ...streamingOf(body) };
}

export function readEmbeddings(body) {
  const prompts = promptsOf(body.input, "input");
  if (prompts.length > CHOICES_MAX) throw invalid("input", `a request has at most ${CHOICES_MAX} inputs`);
  const format = body.encoding_format ?? "float";
  if (!["float", "base64"].includes(format))
    throw invalid("encoding_format", "encoding_format must be float or base64");
  return { format, requests: prompts.map((prompt) => ({ kind: "embed", prompt })) };
}

const textOfBytes = (bytes) => Buffer.from(bytes).toString("utf8");
/** The log probabilities of tokens in the formats of chats and completions. */
function logprobsOf(isChat, entries) {
  if (entries === undefined) return null;
  const one = ({ bytes, logprob }) => ({ token: textOfBytes(bytes), logprob, bytes });
  if (isChat) return { content: entries.map(({ top, ...entry }) => ({ ...one(entry), top_logprobs: top.map(one) })) };
  return {
    tokens: entries.map(({ bytes }) => textOfBytes(bytes)),
    token_logprobs: entries.map(({ logprob }) => logprob),
    top_logprobs: entries.map(({ top }) =>
      Object.fromEntries(top.map(({ bytes, logprob }) => [textOfBytes(bytes), logprob])),
    ),
  };
}

export function usageOf(ends) {
  const sum = (field) => ends.reduce((total, end) => total + end[field], 0);
  const [prompt_tokens, completion_tokens, cached_tokens] = ["promptTokens", "generatedTokens", "cachedTokens"].map(
    sum,
  );
  const total_tokens = prompt_tokens + completion_tokens;
  return { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details: { cached_tokens } };
}

/** Formats one answer: completely, or as the chunks of a stream. */
export function answerShapes({ isChat }, model) {
  const id = `${isChat ? "chatcmpl" : "cmpl"}-${randomUUID()}`;
  const head = (object) => ({ id, object, created: Math.floor(Date.now() / 1000), model });
  const [whole_, part] = isChat ? ["chat.completion", "chat.completion.chunk"] : ["text_completion", "text_completion"];
  const content = isChat ? (text) => ({ delta: { content: text } }) : (text) => ({ text });
  const chunk = (index, fields, logprobs, finish_reason) => ({
    ...head(part),
    choices: [{ index, ...fields, logprobs: logprobsOf(isChat, logprobs), finish_reason }],
  });
  return {
    opening: (index) =>
      isChat ? chunk(index, { delta: { role: "assistant", content: "" } }, undefined, null) : undefined,
    text: (index, text, logprobs) => chunk(index, content(text), logprobs, null),
    finish: (index, reason) => chunk(index, isChat ? { delta: {} } : { text: "" }, undefined, reason),
    usage: (usage) => ({ ...head(part), choices: [], usage }),
    whole: (choices, usage) => ({
      ...head(whole_),
      choices: choices.map(({ text, logprobs, reason }, index) => ({
        index,
        ...(isChat ? { message: { role: "assistant", content: text, refusal: null } } : { text }),
        logprobs: logprobsOf(isChat, logprobs),
        finish_reason: reason,
      })),
      usage,
    }),
  };
}
