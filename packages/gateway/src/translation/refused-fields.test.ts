/** Fields that a chat completion cannot express are refused by name; fields that change nothing are left out. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MockUpstream } from "../testing/mock-upstream.ts";
import { testGateway, type TestGateway } from "../testing/test-gateway.ts";

let mock: MockUpstream;
let gateway: TestGateway;
beforeEach(async () => {
  mock = new MockUpstream({ tokens: 2 });
  await mock.start();
  gateway = await testGateway(
    `access: open\npools: [{ name: p, engine: headroom, replicas: [${mock.url}] }]\nmodels: [{ name: m, pools: [p] }]\n`,
  );
});
afterEach(async () => {
  await gateway.stop();
  await mock.kill();
});

function post(path: string, body: object): Promise<Response> {
  return fetch(gateway.url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", ...body }),
  });
}

const says = (...content: readonly object[]): object => ({ messages: [{ role: "user", content }] });
const hello = { messages: [{ role: "user", content: "hello" }] };
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };

/** Requests of the Messages API, and the field that is refused. */
const messages: readonly [string, object][] = [
  ["messages[0].content[1].type", says({ type: "text", text: "a" }, { type: "document", source: { type: "text" } })],
  ["messages[0].content[0].type", says({ type: "search_result", content: [], source: "s", title: "t" })],
  ["messages[0].content[0].type", says({ type: "container_upload", file_id: "f" })],
  ["messages[0].content[0].type", says({ type: "something_new" })],
  ["messages[0].content[0].source.file_id", says({ type: "image", source: { type: "file", file_id: "f" } })],
  ["messages[0].content[0].transformations", says({ ...image, transformations: { oversized_image: "error" } })],
  ["messages[0].content[0].citations", says({ type: "text", text: "a", citations: [{ type: "char_location" }] })],
  ["messages[0].content[0].content[0].type", says({ type: "tool_result", tool_use_id: "c", content: [image] })],
  ["messages[0].content[0].toolset_name", says({ type: "tool_result", tool_use_id: "c", toolset_name: "t" })],
  ["messages[0].name", { messages: [{ role: "user", content: "a", name: "n" }] }],
  ["messages[0].role", { messages: [{ role: "robot", content: [] }] }],
  [
    "messages[0].content[0].type",
    { messages: [{ role: "assistant", content: [{ type: "server_tool_use", id: "s", name: "web_search" }] }] },
  ],
  ["messages[1].role", { messages: [...hello.messages, { role: "assistant", content: "The answer is" }] }],
  ["system[0].type", { ...hello, system: [{ type: "image" }] }],
  ["tools[0].type", { ...hello, tools: [{ type: "web_search_20250305", name: "web_search" }] }],
  ["tools[0].input_examples", { ...hello, tools: [{ name: "f", input_schema: {}, input_examples: [{}] }] }],
  ["tools[0].defer_loading", { ...hello, tools: [{ name: "f", input_schema: {}, defer_loading: true }] }],
  ["tool_choice.type", { ...hello, tool_choice: { type: "something_new" } }],
  ["thinking.type", { ...hello, thinking: { type: "enabled", budget_tokens: 1024 } }],
  ["output_config.format.type", { ...hello, output_config: { format: { type: "regex" } } }],
  ["output_config.task_budget", { ...hello, output_config: { task_budget: 1 } }],
  ["top_k", { ...hello, top_k: 5 }],
  ["container", { ...hello, container: "c" }],
  ["inference_geo", { ...hello, inference_geo: "eu" }],
  ["mcp_servers", { ...hello, mcp_servers: [{ type: "url", url: "http://a", name: "a" }] }],
  ["context_management", { ...hello, context_management: { edits: [] } }],
  ["speed", { ...hello, speed: "fast" }],
];

const asks = (...content: readonly object[]): object => ({ input: [{ role: "user", content }] });
const hi = { input: "hi" };

/** Requests of the Responses API, and the field that is refused. */
const responses: readonly [string, object][] = [
  ["input[0].content[0].type", asks({ type: "input_file", file_id: "f" })],
  ["input[0].content[0].type", asks({ type: "something_new" })],
  ["input[0].content[0].file_id", asks({ type: "input_image", file_id: "f", detail: "auto" })],
  ["input[0].type", { input: [{ type: "item_reference", id: "x" }] }],
  ["input[0].type", { input: [{ type: "web_search_call", id: "x" }] }],
  [
    "input[0].output[0].type",
    { input: [{ type: "function_call_output", call_id: "c", output: [{ type: "input_image" }] }] },
  ],
  [
    "input[0].namespace",
    { input: [{ type: "function_call", call_id: "c", name: "f", arguments: "", namespace: "n" }] },
  ],
  ["input[0].role", { input: [{ role: "robot", content: "a" }] }],
  ["input", { input: 5 }],
  ["instructions", { ...hi, instructions: [{ role: "system" }] }],
  ["tools[0].type", { ...hi, tools: [{ type: "web_search" }] }],
  ["tools[0].type", { ...hi, tools: [{ type: "custom", name: "c" }] }],
  ["tools[0].output_schema", { ...hi, tools: [{ type: "function", name: "f", parameters: {}, output_schema: {} }] }],
  ["tool_choice.type", { ...hi, tool_choice: { type: "allowed_tools", mode: "auto", tools: [] } }],
  ["tool_choice", { ...hi, tool_choice: "sometimes" }],
  ["text.format.type", { ...hi, text: { format: { type: "grammar" } } }],
  ["reasoning.summary", { ...hi, reasoning: { effort: "low", summary: "detailed" } }],
  ["reasoning.mode", { ...hi, reasoning: { mode: "pro" } }],
  ["include", { ...hi, include: ["message.output_text.logprobs"] }],
  ["top_logprobs", { ...hi, top_logprobs: 5 }],
  ["background", { ...hi, background: true }],
  ["store", { ...hi, store: true }],
  ["truncation", { ...hi, truncation: "auto" }],
  ["conversation", { ...hi, conversation: "conv_1" }],
  ["prompt", { ...hi, prompt: { id: "pmpt_1" } }],
  ["context_management", { ...hi, context_management: [{ type: "compaction" }] }],
  ["moderation", { ...hi, moderation: { model: "omni" } }],
  ["previous_response_id", { ...hi, previous_response_id: "resp_1" }],
];

describe("the Messages API on a chat engine", () => {
  it.each(messages)("refuses %s", async (field, body) => {
    const response = await post("/v1/messages", { max_tokens: 9, ...body });
    expect(response.status).toBe(400);
    const answer = (await response.json()) as { error: { message: string } };
    expect(answer).toMatchObject({ type: "error", error: { type: "invalid_request_error" } });
    expect(answer.error.message).toContain(`\`${field}\``);
    expect(mock.requestCount).toBe(0);
  });

  it("leaves out what changes nothing, and translates the rest", async () => {
    const response = await post("/v1/messages", {
      max_tokens: 9,
      metadata: { user_id: "u" },
      cache_control: { type: "ephemeral" },
      service_tier: "auto",
      thinking: { type: "adaptive" },
      diagnostics: { previous_message_id: null },
      system: [{ type: "text", text: "be brief", cache_control: { type: "ephemeral" } }],
      output_config: { effort: "low", format: { type: "json_schema", schema: { type: "object" } } },
      tool_choice: { type: "any", disable_parallel_tool_use: true },
      tools: [
        { type: "custom", name: "f", input_schema: {}, strict: true, cache_control: null, allowed_callers: ["direct"] },
      ],
      messages: [
        { role: "user", content: [image, { type: "text", text: "look", citations: null }] },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "hm", signature: "s" },
            { type: "tool_use", id: "c1", name: "f", input: {}, caller: { type: "direct" } },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "no disk", is_error: true }] },
      ],
    });
    expect(response.status).toBe(200);
    expect(mock.lastBody).toEqual({
      model: "m",
      max_tokens: 9,
      stream: false,
      reasoning_effort: "low",
      response_format: {
        type: "json_schema",
        json_schema: { name: "answer", strict: true, schema: { type: "object" } },
      },
      tool_choice: "required",
      parallel_tool_calls: false,
      tools: [{ type: "function", function: { name: "f", strict: true, parameters: {} } }],
      messages: [
        { role: "system", content: "be brief" },
        {
          role: "user",
          content: [
            { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
            { type: "text", text: "look" },
          ],
        },
        {
          role: "assistant",
          content: "",
          tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c1", content: "Error: no disk" },
      ],
    });
  });
});

describe("the Responses API on a chat engine", () => {
  it.each(responses)("refuses %s", async (field, body) => {
    const response = await post("/v1/responses", body);
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string } };
    expect(error).toMatchObject({ type: "invalid_request_error", param: field });
    expect(error.message).toContain(`\`${field}\``);
    expect(mock.requestCount).toBe(0);
  });

  it("leaves out what changes nothing, and translates the rest", async () => {
    const call = (id: string): object => ({
      type: "function_call",
      call_id: id,
      name: "f",
      arguments: "{}",
      status: "completed",
    });
    const response = await post("/v1/responses", {
      include: ["reasoning.encrypted_content"],
      metadata: { a: "b" },
      store: false,
      truncation: "disabled",
      user: "u",
      safety_identifier: "s",
      prompt_cache_key: "k",
      reasoning: { effort: "low", summary: "auto" },
      text: { format: { type: "text" }, verbosity: "low" },
      input: [
        {
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: "look" },
            { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "low" },
            { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
          ],
        },
        { type: "reasoning", id: "rs_1", summary: [] },
        call("c1"),
        call("c2"),
        { type: "function_call_output", call_id: "c1", output: [{ type: "input_text", text: "1" }] },
        { type: "function_call_output", call_id: "c2", output: "2" },
        {
          type: "message",
          role: "assistant",
          id: "msg_1",
          status: "completed",
          content: [{ type: "output_text", text: "done", annotations: [] }],
        },
      ],
    });
    expect(response.status).toBe(200);
    const calls = ["c1", "c2"].map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } }));
    expect(mock.lastBody).toEqual({
      model: "m",
      stream: false,
      prompt_cache_key: "k",
      reasoning_effort: "low",
      verbosity: "low",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "look" },
            { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } },
            { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
          ],
        },
        { role: "assistant", content: null, tool_calls: calls },
        { role: "tool", tool_call_id: "c1", content: "1" },
        { role: "tool", tool_call_id: "c2", content: "2" },
        { role: "assistant", content: "done" },
      ],
    });
  });
});
