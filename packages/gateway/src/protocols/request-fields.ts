/**
 * The fields of a request that the gateway passes on. Others are refused unless the model's `allowFields` has them:
 * engines take fields by which a client could jump the queue (`priority`), reach other machines (`kv_transfer_params`),
 * run a template of its own on the server (`chat_template`), or set another limit of the output than the one that the
 * gateway reserved (`n_predict`). Sources: the API references of OpenAI and Anthropic, and the request classes of vLLM,
 * SGLang and llama.cpp.
 */
import type { Operation } from "./endpoints.ts";

/** Sampling, and what else an engine does with one request and no other. */
const sampling = [
  "model",
  "stream",
  "stream_options",
  "n",
  "best_of",
  "max_tokens",
  "min_tokens",
  "temperature",
  "top_p",
  "top_k",
  "min_p",
  "typical_p",
  "frequency_penalty",
  "presence_penalty",
  "repetition_penalty",
  "length_penalty",
  "use_beam_search",
  "seed",
  "stop",
  "stop_token_ids",
  "include_stop_str_in_output",
  "no_stop_trim",
  "ignore_eos",
  "skip_special_tokens",
  "spaces_between_special_tokens",
  "truncate_prompt_tokens",
  "add_special_tokens",
  "prompt_logprobs",
  "logprobs",
  "logit_bias",
  "allowed_token_ids",
  "bad_words",
  "echo",
  "response_format",
  "guided_json",
  "guided_regex",
  "guided_choice",
  "guided_grammar",
  "guided_whitespace_pattern",
  "structured_outputs",
  "grammar",
  "json_schema",
  "regex",
  "ebnf",
  "return_tokens_as_token_ids",
  "return_token_ids",
  "cache_prompt",
  "cache_salt",
  "user",
  "metadata",
  "store",
  "service_tier",
  "prompt_cache_key",
  "prompt_cache_retention",
  "prompt_cache_options",
  "safety_identifier",
] as const;

const chat = [
  ...sampling,
  "messages",
  "max_completion_tokens",
  "top_logprobs",
  "tools",
  "tool_choice",
  "functions",
  "function_call",
  "parallel_tool_calls",
  "reasoning",
  "reasoning_effort",
  "include_reasoning",
  "separate_reasoning",
  "stream_reasoning",
  "reasoning_format",
  "thinking",
  "thinking_token_budget",
  "verbosity",
  "modalities",
  "audio",
  "prediction",
  "documents",
  "add_generation_prompt",
  "continue_final_message",
  "continue_assistant_turn",
  "chat_template_kwargs",
  "web_search_options",
  "timings_per_token",
] as const;

const responses = [
  "model",
  "input",
  "instructions",
  "stream",
  "stream_options",
  "max_output_tokens",
  "temperature",
  "top_p",
  "top_k",
  "top_logprobs",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "max_tool_calls",
  "text",
  "reasoning",
  "include",
  "include_obfuscation",
  "store",
  "background",
  "truncation",
  "conversation",
  "context_management",
  "prompt",
  "moderation",
  "previous_response_id",
  "metadata",
  "service_tier",
  "user",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "cache_salt",
] as const;

const messages = [
  "model",
  "messages",
  "max_tokens",
  "stream",
  "system",
  "stop_sequences",
  "temperature",
  "top_p",
  "top_k",
  "tools",
  "tool_choice",
  "output_config",
  "thinking",
  "speed",
  "cache_control",
  "diagnostics",
  "metadata",
  "service_tier",
  "container",
  "context_management",
  "inference_geo",
] as const;

/** Embeddings, ranking and scores have no output tokens. */
const pooling = [
  "model",
  "input",
  "messages",
  "query",
  "queries",
  "documents",
  "items",
  "text_1",
  "text_2",
  "data_1",
  "data_2",
  "encoding_format",
  "embed_dtype",
  "endianness",
  "dimensions",
  "normalize",
  "task",
  "instruction",
  "input_type",
  "truncate",
  "truncate_prompt_tokens",
  "truncation_side",
  "add_special_tokens",
  "add_generation_prompt",
  "continue_final_message",
  "chat_template_kwargs",
  "top_n",
  "return_documents",
  "return_text",
  "max_tokens_per_doc",
  "max_chunks_per_doc",
  "rank_fields",
  "activation",
  "softmax",
  "cache_salt",
  "user",
] as const;

export type RequestField = (typeof chat | typeof responses | typeof messages | typeof pooling)[number] | "suffix";

export const listedFields: Readonly<
  Record<"chat" | "text_completion" | "responses" | "messages" | "pooling", readonly RequestField[]>
> = {
  chat,
  text_completion: [...sampling, "prompt", "suffix"],
  responses,
  messages,
  pooling,
};

export type FieldList = keyof typeof listedFields;

export function fieldListOf(operation: Operation): FieldList {
  switch (operation) {
    case "chat":
    case "text_completion":
    case "responses":
    case "messages":
      return operation;
    case "embeddings":
    case "rerank":
    case "score":
    case "infer":
    case "stored_response":
      return "pooling";
  }
}
