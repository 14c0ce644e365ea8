/**
 * From `headroom up --quickstart` to the first streamed answer of the trained model through the gateway, as a user runs
 * it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { headroom } from "../../packages/cli/src/testing/recorded-terminal.ts";
import { startProgram, type RunningProgram } from "../../packages/cli/src/testing/running-program.ts";
import { chooseFreePort } from "../../packages/executors/src/processes/free-port.ts";
import { isTurnOf } from "../../tools/testing/rotating.ts";
import { Model } from "../quickstart/model.mjs";
import { VOCABULARY } from "../quickstart/tokens.mjs";
import { createBuiltinEngine } from "./builtin-engine.mjs";
import { createLlamaEngine } from "./llama-engine.mjs";

const ANSWERED_WITHIN_MS = 300_000;
const TOLERANCE = 1e-4;
/** It trains the quickstart's model, so it takes turns with the other tests of some minutes. */
const isTurn = isTurnOf("first answer");
let home = "";
let plane: RunningProgram | undefined;
beforeAll(() => {
  home = mkdtempSync(path.join(tmpdir(), "headroom-first-answer-"));
});
afterAll(async () => {
  if (plane === undefined) return;
  await headroom(["stop", "chat"], { workingDirectory: home, env: { HEADROOM_HOME: home } });
  plane.process.kill("SIGTERM");
  await plane.ended;
  rmSync(home, { recursive: true, maxRetries: 5 });
});

/** The example's file with other ports, in another folder. */
function copied(file: string, changes: readonly (readonly [string, string])[]): string {
  let text = readFileSync(path.join(import.meta.dirname, file), "utf8");
  for (const [from, to] of changes) {
    expect(text).toContain(from);
    text = text.replaceAll(from, to);
  }
  writeFileSync(path.join(home, file), text);
  return path.join(home, file);
}

it.runIf(isTurn)(`answers through the gateway within ${ANSWERED_WITHIN_MS / 1000} s of the start`, async () => {
  mkdirSync(home, { recursive: true });
  const [serverPort, gatewayPort] = [await chooseFreePort("server"), await chooseFreePort("gateway")];
  const after = "after:";
  const serve = copied("serve.yaml", [
    ["PORT: 8000", `PORT: ${serverPort}`],
    [after, `dir: ${import.meta.dirname}\n${after}`],
  ]);
  const gateway = copied("gateway.yaml", [
    [":8000", `:${serverPort}`],
    [":8080", `:${gatewayPort}`],
  ]);

  const startedAtMs = performance.now();
  plane = startProgram(["up", "--quickstart", "--port", "0", "--slots", "2"], { home });
  await plane.saying(/runs on http:[^]*Ctrl-C/);
  const args = [
    "--serve",
    serve,
    "--gateway",
    gateway,
    "--url",
    `http://127.0.0.1:${gatewayPort}`,
    "--tokens",
    "100",
    "import {",
  ];
  const chat = spawn(process.execPath, [path.join(import.meta.dirname, "chat.mjs"), ...args], {
    cwd: home,
    env: { ...process.env, HEADROOM_HOME: home },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  chat.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await expect.poll(() => text.length, { timeout: 600_000 }).toBeGreaterThan("import {".length);
  const tookMs = performance.now() - startedAtMs;
  const [code] = (await once(chat, "exit")) as [number];
  console.log(
    `quickstart: first streamed answer after ${(tookMs / 1000).toFixed(1)} s (bar: 120 s without other load): ${JSON.stringify(text)}`,
  );
  expect(code).toBe(0);
  expect(text.length).toBeGreaterThan(80);
  expect(tookMs).toBeLessThan(ANSWERED_WITHIN_MS);
});

it.runIf(isTurn)(`has logits within ${TOLERANCE} of the trainer's, on the trained model`, async () => {
  const checkpoints = path.join(home, "checkpoints", readdirSync(path.join(home, "checkpoints"))[0]!);
  const manifest = readFileSync(path.join(checkpoints, "manifest.json"), "utf8");
  const newest = (JSON.parse(manifest) as { checkpoints: { file: string }[] }).checkpoints.at(-1)!;
  const bytes = readFileSync(path.join(checkpoints, newest.file));
  const end = bytes.indexOf("\n") + 1;
  const { recipe } = JSON.parse(bytes.subarray(0, end).toString()) as {
    recipe: { context: number; hidden: number; layers: number; seed: number };
  };
  const model = new Model({ ...recipe, sequences: 1 });
  model.weights.set(new Float32Array(new Uint8Array(bytes.subarray(end)).buffer).subarray(0, model.size));
  const hasLlama = existsSync(path.join(import.meta.dirname, "node_modules", "node-llama-cpp"));
  if (!hasLlama) console.warn("SKIPPED: llama.cpp is not installed; run node examples/serving/install-llama.mjs");
  const corpus = readFileSync(path.join(checkpoints, "corpus.txt"));
  for (const create of hasLlama ? [createBuiltinEngine, createLlamaEngine] : [createBuiltinEngine]) {
    const engine = await create(path.join(checkpoints, "model.gguf"), 1);
    let worst = 0;
    for (let window = 0; window < 10; window++) {
      const start = window * 100_000;
      const tokens = Array.from(corpus.subarray(start, start + recipe.context), (byte) => (byte === 0x1c ? 257 : byte));
      const expected = model.forward(tokens).slice();
      await engine.truncate(0, 0);
      for (const [i, token] of tokens.entries()) {
        const scores: Float32Array = await engine.evaluate(0, [token]);
        const row = expected.subarray(i * VOCABULARY, (i + 1) * VOCABULARY);
        worst = Math.max(worst, ...scores.map((score, j) => Math.abs(score - row[j]!)));
      }
    }
    console.log(`quickstart: logits of ${engine.name} differ from the trainer's by at most ${worst.toExponential(1)}`);
    expect(worst).toBeLessThan(TOLERANCE);
  }
});
