// Asks the quickstart's model a question: `node examples/serving/chat.mjs 'import { '`. Applies serve.yaml, starts the
// gateway unless one answers, waits until the model is trained and served, and streams the answer. See README.md.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
const headroom = join(import.meta.dirname, "..", "..", "packages", "cli", "bin", "headroom.mjs");
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    serve: { type: "string", default: join(import.meta.dirname, "serve.yaml") },
    gateway: { type: "string", default: join(import.meta.dirname, "gateway.yaml") },
    url: { type: "string", default: "http://127.0.0.1:8080" }, // address of the gateway
    tokens: { type: "string", default: "200" },
    "wait-seconds": { type: "string", default: "600" },
  },
});
const prompt = positionals.join(" ") || "import { ";
const note = (line) => process.stderr.write(`${line}\n`);

async function run(...args) {
  const child = spawn(process.execPath, [headroom, ...args], { stdio: ["ignore", 2, 2] });
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code !== 0)
    throw new Error(`headroom ${args.join(" ")} failed. Does the control plane run? headroom up starts it.`);
}

/** The gateway's process, or nothing if one answers already. */
async function startGateway() {
  if (
    await fetch(`${options.url}/v1/models`).then(
      () => true,
      () => false,
    )
  )
    return undefined;
  const child = spawn(process.execPath, [headroom, "gateway", "--config", options.gateway], {
    stdio: ["ignore", 2, 2],
  });
  child.on("exit", (code) => code && process.exit(code));
  return child;
}

/** Retries until the model is served: 502 and 503 mean that it is not. */
async function ask() {
  const deadline = performance.now() + 1000 * Number(options["wait-seconds"]);
  const body = { model: "quickstart", prompt, max_tokens: Number(options.tokens), temperature: 0.5, stream: true };
  const request = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  for (let isNoted = false; performance.now() < deadline; await delay(500)) {
    const answer = await fetch(`${options.url}/v1/completions`, request).catch(() => undefined);
    if (answer?.ok) return answer;
    if (answer === undefined) continue; // the gateway starts
    if (answer.status !== 502 && answer.status !== 503) throw new Error(`${answer.status}: ${await answer.text()}`);
    await answer.body?.cancel();
    if (!isNoted) note("waiting until the model is trained and served; headroom logs -f quickstart shows the training");
    isNoted = true;
  }
  throw new Error("the model was not served in time: headroom list and headroom logs chat say why");
}

/** Prints the text of each event. A read may end in the middle of an event. */
async function print(answer) {
  process.stdout.write(prompt);
  let rest = "";
  for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + part).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = event.replace(/^data: /, "");
      if (data !== "[DONE]") process.stdout.write(JSON.parse(data).choices[0]?.text ?? "");
    }
  }
  process.stdout.write("\n");
}

await run("apply", "--yes", "-f", options.serve);
const gateway = await startGateway();
try {
  await print(await ask());
  note("chat keeps serving and holds one accelerator or slot: headroom stop chat frees it");
} catch (error) {
  note(error.message);
  process.exitCode = 1;
} finally {
  gateway?.kill();
}
