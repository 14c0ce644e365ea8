/**
 * Requests of ordinary clients are not refused: every field that the npm packages declare, and the sampling fields that
 * engines document. Only what acts on the engine, the network or the operator's account needs the model's permission.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { peekRequest, type RequestPeek } from "../json/peek.ts";
import { hasRemoteMedia } from "../json/remote-media.ts";
import type { Operation } from "./endpoints.ts";

const modules = new URL("../../../../node_modules/", import.meta.url);

/** The field names of an interface in the declarations of an npm package. */
function declared(file: string, name: string): readonly string[] {
  const text = readFileSync(new URL(file, modules), "utf8");
  const from = text.indexOf(`export interface ${name} `);
  return [...text.slice(from, text.indexOf("\n}\n", from)).matchAll(/^ {4}(\w+)\??:/gm)].map(([, field]) => field!);
}

/** Fields that need `allowFields`: what they do goes beyond the request. */
const permitted = new Set([
  // Access that the operator's account has at the provider, other models, remote servers, and who pays.
  "access_programs",
  "fallbacks",
  "mcp_servers",
  "billing_policy",
  "fallback_credit_token",
  "thread",
  // The packages send these as headers.
  "betas",
  "user_profile_id",
  "workspace_id",
]);

const interfaces: readonly (readonly [operation: Operation, file: string, name: string, fieldsMin: number])[] = [
  ["chat", "openai/resources/chat/completions/completions.d.ts", "ChatCompletionCreateParamsBase", 30],
  ["text_completion", "openai/resources/completions.d.ts", "CompletionCreateParamsBase", 15],
  ["embeddings", "openai/resources/embeddings.d.ts", "EmbeddingCreateParams", 5],
  ["responses", "openai/resources/responses/responses.d.ts", "ResponseCreateParamsBase", 25],
  ["messages", "@anthropic-ai/sdk/resources/messages/messages.d.ts", "MessageCreateParamsBase", 15],
  ["messages", "@anthropic-ai/sdk/resources/beta/messages/messages.d.ts", "MessageCreateParamsBase", 20],
];

describe.each(interfaces)("%s: the fields of %s", (operation, file, name, fieldsMin) => {
  const fields = declared(file, name);
  it("are found", () => expect(fields.length).toBeGreaterThanOrEqual(fieldsMin));

  it.each(fields.filter((field) => !permitted.has(field)))("%s is passed on", (field) => {
    expect(peekRequest(Buffer.from(`{${JSON.stringify(field)}:null}`), operation)).toMatchObject({ unlisted: [] });
  });
});

/** Values as clients write them, for chat completions. */
const values: Readonly<Record<string, unknown>> = {
  temperature: 0.7,
  top_p: 0.9,
  top_k: 40,
  min_p: 0.05,
  typical_p: 1,
  repetition_penalty: 1.1,
  length_penalty: 1,
  frequency_penalty: 0.5,
  presence_penalty: -0.5,
  seed: 42,
  stop: ["\n\n", "END"],
  stop_token_ids: [128_001],
  logit_bias: { "50256": -100 },
  logprobs: true,
  top_logprobs: 5,
  prompt_logprobs: 1,
  n: 2,
  best_of: 2,
  max_tokens: 256,
  max_completion_tokens: 256,
  min_tokens: 1,
  stream: true,
  stream_options: { include_usage: true, continuous_usage_stats: true },
  response_format: { type: "json_schema", json_schema: { name: "a", schema: { type: "object" }, strict: true } },
  tools: [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} }, strict: true } }],
  tool_choice: { type: "function", function: { name: "f" } },
  parallel_tool_calls: false,
  user: "user-1",
  metadata: { team: "a" },
  store: false,
  service_tier: "auto",
  reasoning_effort: "high",
  verbosity: "low",
  guided_json: { type: "object" },
  guided_regex: "[a-z]+",
  guided_choice: ["yes", "no"],
  guided_grammar: "root ::= 'a'",
  guided_decoding_backend: "xgrammar",
  guided_whitespace_pattern: " ",
  structured_outputs: { choice: ["a"] },
  structural_tag: "{}",
  bad_words: ["x"],
  allowed_token_ids: [1, 2],
  ignore_eos: false,
  skip_special_tokens: true,
  spaces_between_special_tokens: true,
  include_stop_str_in_output: false,
  add_generation_prompt: true,
  continue_final_message: false,
  add_special_tokens: false,
  truncate_prompt_tokens: 4096,
  echo: false,
  chat_template_kwargs: { enable_thinking: false },
  enable_thinking: true,
  thinking: { type: "enabled", budget_tokens: 1024 },
  thinking_budget: 512,
  include_reasoning: true,
  separate_reasoning: true,
  return_token_ids: false,
  return_tokens_as_token_ids: true,
  cache_salt: "team-a",
  documents: [{ title: "a", text: "b" }],
  regex: "a+",
  ebnf: "root ::= 'a'",
  stop_regex: "x{3}",
  top_n_sigma: 1,
  mirostat: 2,
  repeat_penalty: 1.1,
  repeat_last_n: 64,
  dry_multiplier: 0.8,
  xtc_probability: 0.1,
  samplers: ["top_k", "temperature"],
  n_probs: 3,
  grammar: "root ::= 'a'",
  json_schema: { type: "object" },
  cache_prompt: true,
  random_seed: 7,
  safe_prompt: false,
};

describe("a chat completion", () => {
  it.each(Object.entries(values))("may have %s", (field, value) => {
    const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "a" }], [field]: value });
    expect(peekRequest(Buffer.from(body), "chat")).toMatchObject({ model: "m", unlisted: [] });
  });

  it("may have all of them at once", () => {
    const body = Buffer.from(JSON.stringify({ model: "m", messages: [], ...values }));
    expect(peekRequest(body, "chat")).toMatchObject({ unlisted: [], choiceCount: 2, outputTokensMax: 256 });
  });
});

/** Parts of messages with media in the request itself. */
const media: readonly (readonly [Operation, unknown])[] = [
  ["chat", { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=", detail: "high" } }],
  ["chat", { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }],
  ["chat", { type: "audio_url", audio_url: { url: "data:audio/wav;base64,AAAA" } }],
  ["chat", { type: "video_url", video_url: { url: "data:video/mp4;base64,AAAA" } }],
  ["chat", { type: "file", file: { file_data: "data:application/pdf;base64,AAAA", filename: "a.pdf" } }],
  ["chat", { type: "text", text: 'see {"image_url": "https://a.example/x.png"} and https://b.example/' }],
  ["responses", { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "auto" }],
  ["responses", { type: "input_file", file_data: "data:application/pdf;base64,AAAA" }],
  ["messages", { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } }],
  ["messages", { type: "document", source: { type: "text", media_type: "text/plain", data: "a" }, title: "t" }],
  ["messages", { type: "search_result", source: "https://a.example/", title: "t", content: [] }],
];

describe("media in the request", () => {
  it.each(media)("pass: %s %j", (operation, part) => {
    const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: [part] }] });
    expect(hasRemoteMedia(Buffer.from(body), operation)).toBe(false);
  });
});

/** Fields that act on the engine, on other machines or on limits beyond the request. */
const beyond = [
  "priority",
  "kv_transfer_params",
  "vllm_xargs",
  "logits_processors",
  "data_parallel_rank",
  "request_id",
  "rid",
  "chat_template",
  "prompt_embeds",
  "lora_path",
  "lora",
  "id_slot",
  "session_params",
  "custom_logit_processor",
  "custom_params",
  "disaggregated_params",
  "bootstrap_host",
  "bootstrap_port",
  "bootstrap_room",
  "max_new_tokens",
  "n_predict",
  "return_hidden_states",
  "mcp_servers",
  "models",
  "provider",
  "Model",
  "MAX_TOKENS",
];

describe("fields beyond the request", () => {
  const unlistedOf = (field: string, operation: Operation): RequestPeek["unlisted"] => {
    const peek = peekRequest(Buffer.from(`{"model":"m",${JSON.stringify(field)}:null}`), operation);
    return "problem" in peek ? [] : peek.unlisted;
  };
  it.each(beyond)("%s needs the model's permission", (field) => {
    for (const operation of ["chat", "text_completion", "responses", "messages", "embeddings"] as const)
      expect(unlistedOf(field, operation)).toEqual([field]);
  });
});
