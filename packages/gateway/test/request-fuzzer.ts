/**
 * Makes requests that know the schemas of the gateway's protocols: valid ones, and ones with values, types, sizes and
 * framings that engines and parsers could read differently. The same seed makes the same requests.
 */

/** Generator of whole numbers from 0 to `bound` - 1 (mulberry32). */
export function drawsFrom(seed: number): (bound: number) => number {
  let state = seed | 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

type Draw = ReturnType<typeof drawsFrom>;

export interface FuzzedRequest {
  readonly method: string;
  readonly target: string;
  readonly key: string;
  readonly contentType: string;
  readonly body: string | undefined;
}

const numbers = [
  "0",
  "1",
  "7",
  "128",
  "129",
  "1e2",
  "100.0",
  "-1",
  "1e400",
  "1e308",
  '"5"',
  "true",
  "null",
  "[]",
  "0.5",
];
const texts = ['"x"', '""', '"é😀\\n"', '"\\u0041"', '"\\ud800"', `"${"long ".repeat(400)}"`, '"a\\"b"'];
const odd = ["null", "[]", "{}", "[[]]", '[{"a":[1,2,{"b":null}]}]', "[null]", '{"type":"text"}', "1", "false"];
const images = [
  '"data:image/png;base64,AA"',
  '"http://10.0.0.1/a.png"',
  '{"url":"data:image/png;base64,AA"}',
  '{"url":"file:///x"}',
];

const pick = <Value>(draw: Draw, values: readonly Value[]): Value => values[draw(values.length)] as Value;
const any = (draw: Draw): string => pick(draw, [...numbers, ...texts, ...odd]);

function contentOf(draw: Draw): string {
  const part = (): string =>
    pick(draw, [
      `{"type":"text","text":${pick(draw, texts)}}`,
      `{"type":"image_url","image_url":${pick(draw, images)}}`,
      `{"type":"input_text","text":${pick(draw, texts)}}`,
      `{"type":"tool_result","tool_use_id":"c","content":${pick(draw, texts)}}`,
      `{"type":${any(draw)}}`,
      any(draw),
    ]);
  if (draw(2) === 0) return pick(draw, texts);
  return `[${Array.from({ length: draw(5) }, part).join(",")}]`;
}

function messagesOf(draw: Draw): string {
  const roles = ['"user"', '"assistant"', '"system"', '"tool"', '"robot"', "null"];
  const message = (): string =>
    draw(12) === 0 ? any(draw) : `{"role":${pick(draw, roles)},"content":${contentOf(draw)}}`;
  return draw(15) === 0 ? any(draw) : `[${Array.from({ length: draw(6) }, message).join(",")}]`;
}

const toolsOf = (draw: Draw): string =>
  pick(draw, [
    '[{"type":"function","function":{"name":"f","parameters":{}}}]',
    '[{"name":"f","input_schema":{}}]',
    any(draw),
  ]);

/** Makes the value of a field of this name. */
const makers: Readonly<Record<string, (draw: Draw) => string>> = {
  messages: messagesOf,
  input: (draw) => (draw(2) === 0 ? pick(draw, texts) : messagesOf(draw)),
  prompt: (draw) => pick(draw, [pick(draw, texts), "[1,2,3]", '["a","b","c"]', "[[1],[2,3]]", any(draw)]),
  max_tokens: (draw) => pick(draw, numbers),
  max_completion_tokens: (draw) => pick(draw, numbers),
  max_output_tokens: (draw) => pick(draw, numbers),
  min_tokens: (draw) => pick(draw, numbers),
  n: (draw) => pick(draw, numbers),
  best_of: (draw) => pick(draw, numbers),
  stream: (draw) => pick(draw, ["true", "false", "true", '"true"', "1", "null"]),
  stream_options: (draw) => pick(draw, ['{"include_usage":true}', '{"include_usage":false}', "null", any(draw)]),
  tools: toolsOf,
  tool_choice: (draw) => pick(draw, ['"auto"', '{"type":"any"}', any(draw)]),
  system: contentOf,
  previous_response_id: (draw) => pick(draw, ['"resp_1"', `"resp_hr${"0".repeat(28)}_resp_1"`, any(draw)]),
  response_format: any,
  temperature: (draw) => pick(draw, numbers),
  logprobs: any,
  metadata: any,
  text: any,
  reasoning: any,
  user: any,
  store: any,
  query: (draw) => pick(draw, texts),
  documents: any,
  // Fields on no list, and those that no gateway should pass on.
  Model: any,
  priority: any,
  kv_transfer_params: any,
  chat_template: any,
  n_predict: (draw) => pick(draw, numbers),
};
const fieldNames = Object.keys(makers);

const targets: readonly (readonly [target: string, fields: readonly string[]])[] = [
  ["/v1/chat/completions", ["messages"]],
  ["/v1/completions", ["prompt"]],
  ["/v1/responses", ["input"]],
  ["/v1/messages", ["messages", "max_tokens"]],
  ["/v1/messages/count_tokens", ["messages"]],
  ["/v1/embeddings", ["input"]],
  ["/v1/rerank", ["query", "documents"]],
  ["/v1/score", []],
  ["/v2/models/m/infer", []],
  ["/v1/batches", []],
  ["/v1/files", []],
];
const others = [
  "/health",
  "/healthz",
  "/readyz",
  "/v1/models",
  "/v1/models/m",
  "/v2",
  "/v2/health/ready",
  "/v1/files?limit=5",
  "/v1/batches/x/cancel",
  "/v1/responses/resp_1",
  "/v1/files/file-1/content",
  "/nothing",
  "//",
  "/v1/../x",
];

function objectOf(draw: Draw, needed: readonly string[]): string {
  const names = [...needed, ...Array.from({ length: draw(4) }, () => pick(draw, fieldNames))];
  const fields = names.map((name) => `${JSON.stringify(name)}:${makers[name]!(draw)}`);
  if (draw(12) !== 0) fields.unshift(`"model":${draw(10) === 0 ? any(draw) : pick(draw, ['"m"', '"t"'])}`);
  if (draw(40) === 0) fields.push(...Array.from({ length: 3000 }, (_, at) => `"k${at}":0`));
  if (draw(60) === 0) fields.push(`"metadata":${"[".repeat(2000)}${"]".repeat(2000)}`);
  if (draw(60) === 0) fields.push(`"documents":[${"[],".repeat(20_000)}0]`);
  return `{${fields.join(draw(20) === 0 ? " , " : ",")}}`;
}

function formOf(draw: Draw): string {
  const part = (): string =>
    `--b\r\ncontent-disposition: form-data; name=${pick(draw, ['"file"; filename="a"', '"purpose"', '""', "x"])}\r\n\r\n${pick(draw, ["batch", "{}", ""])}\r\n`;
  return `${Array.from({ length: draw(draw(10) === 0 ? 200 : 4) }, part).join("")}--b--`;
}

export function requestFrom(draw: Draw): FuzzedRequest {
  const key = pick(draw, ["limited", "limited", "limited", "free", "free", "free", "free", "wrong", ""]);
  if (draw(6) === 0) {
    const method = pick(draw, ["GET", "POST", "DELETE", "PUT"]);
    const hasBody = method !== "GET" && draw(2) === 0;
    return {
      method,
      target: pick(draw, others),
      key,
      contentType: "text/plain",
      body: hasBody ? any(draw) : undefined,
    };
  }
  const [target, needed] = pick(draw, targets);
  if (target === "/v1/files") {
    const contentType = pick(draw, ["multipart/form-data; boundary=b", "application/x-www-form-urlencoded", "x"]);
    return { method: "POST", target, key, contentType, body: formOf(draw) };
  }
  let body = objectOf(draw, needed);
  if (draw(15) === 0) {
    const at = draw(body.length);
    body = body.slice(0, at) + pick(draw, ['"', "{", "]", "\\", "\u0000", ",", ""]) + body.slice(at + draw(3));
  }
  return { method: "POST", target, key, contentType: "application/json", body };
}
