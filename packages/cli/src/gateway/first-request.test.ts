/** docs/reference/gateway.md: the first gateway works as it is written, with a model server of the test. */
import { spawn, spawnSync } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";

const page = readFileSync(new URL("../../../../docs/reference/gateway.md", import.meta.url), "utf8");
const main = path.resolve(import.meta.dirname, "..", "main.ts");

/** Answers as a vLLM server does: chat completions as JSON only, and its health. */
function modelServer(): Server {
  return createServer((request, response) => {
    const isChat = request.url === "/v1/chat/completions" && request.headers["content-type"] === "application/json";
    request.resume();
    const answer = {
      id: "c",
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", content: "Hello there" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    };
    request.on("end", () => {
      const status = isChat ? 200 : request.url === "/health" ? 200 : 415;
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(isChat ? answer : {}));
    });
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

const block = (language: string): string => page.split(`\`\`\`${language}\n`)[1]?.split("```")[0] ?? "";

it("answers the first request of the documentation", async () => {
  if (spawnSync("curl", ["--version"]).status !== 0) {
    process.stderr.write("skipped: curl is not installed here\n");
    return;
  }
  const folder = mkdtempSync(path.join(tmpdir(), "headroom-first-"));
  const upstream = modelServer().listen(0, "127.0.0.1");
  await once(upstream, "listening");
  const ports = {
    8000: (upstream.address() as AddressInfo).port,
    8080: await freePort(),
    8081: await freePort(),
  };
  const moved = (text: string): string =>
    text.replaceAll(/127\.0\.0\.1:(8000|8080|8081)/g, (_, port: string) => `127.0.0.1:${ports[Number(port) as 8000]}`);
  try {
    const yaml = moved(block("yaml"));
    writeFileSync(path.join(folder, "gateway.yaml"), `listen: 127.0.0.1:${ports[8080]}\n${yaml}`);
    writeFileSync(path.join(folder, "headroom"), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
    chmodSync(path.join(folder, "headroom"), 0o755);
    const [before = "", curl = ""] = moved(block("bash")).split(" &\n");
    expect(curl).toContain("curl ");
    const ready = `until curl -sf http://127.0.0.1:${ports[8081]}/health >/dev/null; do sleep 0.1; done`;
    const script = `set -e\n${before} >gateway.log 2>&1 &\ngateway=$!\ntrap 'kill $gateway' EXIT\n${ready}\n${curl.replace("curl ", "curl -sSi ")}`;
    const { PATH = "", HOME } = process.env;
    const shell = spawn("bash", ["-c", script], { cwd: folder, env: { PATH: `${folder}:${PATH}`, HOME } });
    let output = "";
    for (const stream of [shell.stdout, shell.stderr]) stream.on("data", (text) => (output += String(text)));
    await once(shell, "close");
    expect(output).toContain("gateway.yaml is valid: 1 model, 1 pool, 1 team.");
    expect(output).toMatch(/HTTP\/1\.1 200[^]*x-request-id: gateway-1-1[^]*Hello there/);
  } finally {
    upstream.close();
    rmSync(folder, { recursive: true });
  }
});
