/** The gateway's own log is the input of `headroom simulate --serving`: recorded by one process, replayed by another. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { headroom } from "../testing/recorded-terminal.ts";
import { startProgram } from "../testing/running-program.ts";

let folder = "";
const cleanups: (() => Promise<unknown>)[] = [];
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-replay-"));
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  rmSync(folder, { recursive: true });
});

/** An engine that answers with five tokens to each prompt of 300. */
async function engine(): Promise<string> {
  const usage = { prompt_tokens: 300, completion_tokens: 5, total_tokens: 305 };
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ choices: [{ index: 0, message: { content: "a b c d e" } }], usage }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("replays what a gateway served, without what it refused", async () => {
  writeFileSync(
    path.join(folder, "gateway.yaml"),
    `listen: 127.0.0.1:0\nstate: ${folder}/state\naccess: open\naccessLog: { file: ${folder}/access.jsonl }\n` +
      `pools: [{ name: p, engine: vllm, replicas: ["${await engine()}"] }]\nmodels: [{ name: m, pools: [p] }]\n`,
  );
  const gateway = startProgram(["gateway", "--config", "gateway.yaml"], { home: folder });
  cleanups.push(() => {
    gateway.process.kill("SIGKILL");
    return gateway.ended;
  });
  const [, url] = await gateway.saying(/listens on (http:\S+)/);
  const ask = (model: string): Promise<Response> =>
    fetch(`${url!}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "hi" }] }),
    });
  for (let turn = 0; turn < 40; turn++) expect((await ask("m")).status).toBe(200);
  for (let turn = 0; turn < 3; turn++) expect((await ask("none")).status).toBe(404);
  gateway.process.kill("SIGTERM");
  expect(await gateway.ended).toBe(0);
  const terminal = { workingDirectory: folder, columns: 160 };
  const { code, stdout } = await headroom(
    ["simulate", "--serving", "gateway:access.jsonl", "--variant", "weights=fp8"],
    terminal,
  );
  expect(code).toBe(0);
  expect(stdout).toContain("gateway:access.jsonl: 40 requests; left out: 3 failed");
  expect(stdout).toContain("weights=fp8");
});
