// A stand-in for a model server, to try the gateway without accelerators: `node model-server.mjs --port 8001`. It answers
// chat completions of OpenAI's protocol, whole or as a stream, with its port as text, and states its health as vLLM does.
import { createServer } from "node:http";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { port: { type: "string", default: "8000" } } });
const port = Number(values.port);
const WORDS = ["Hello", " from", " port", ` ${port}`];
const MAX_BODY_BYTES = 1 << 20;

const choice = (fields) => ({ index: 0, ...fields });
const usage = (prompt) => ({
  prompt_tokens: prompt,
  completion_tokens: WORDS.length,
  total_tokens: prompt + WORDS.length,
});

/** About four characters are one token. */
const promptTokens = ({ messages = [] }) =>
  messages.reduce((sum, { content }) => sum + Math.ceil(String(content).length / 4), 0);

function answer(body, response) {
  const common = { id: "chatcmpl-1", created: Math.floor(Date.now() / 1000), model: body.model };
  if (body.stream !== true) {
    const message = { role: "assistant", content: WORDS.join("") };
    const choices = [choice({ message, finish_reason: "stop" })];
    const text = JSON.stringify({ ...common, object: "chat.completion", choices, usage: usage(promptTokens(body)) });
    response.writeHead(200, { "content-type": "application/json" }).end(text);
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (fields) =>
    response.write(`data: ${JSON.stringify({ ...common, object: "chat.completion.chunk", ...fields })}\n\n`);
  for (const content of WORDS) send({ choices: [choice({ delta: { content }, finish_reason: null })] });
  send({ choices: [choice({ delta: {}, finish_reason: "stop" })] });
  send({ choices: [], usage: usage(promptTokens(body)) });
  response.end("data: [DONE]\n\n");
}

const server = createServer((request, response) => {
  if (request.method === "GET") {
    response.writeHead(request.url === "/health" ? 200 : 404).end();
    return;
  }
  let text = "";
  request.setEncoding("utf8").on("data", (part) => {
    text += part;
    if (text.length > MAX_BODY_BYTES) request.destroy();
  });
  request.on("end", () => {
    try {
      answer(JSON.parse(text), response);
    } catch (error) {
      response
        .writeHead(400, { "content-type": "application/json" })
        .end(JSON.stringify({ error: { message: error.message } }));
    }
  });
});
server.listen(port, "127.0.0.1", () => console.log(`model server on http://127.0.0.1:${port}`));
