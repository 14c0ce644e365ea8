/**
 * A replica killed in the middle of a stream, behind the gateway: the stream continues with the same tokens as without
 * the kill.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startProgram, type RunningProgram } from "../../packages/cli/src/testing/running-program.ts";
import { chooseFreePort } from "../../packages/executors/src/processes/free-port.ts";
import { writeTinyModel } from "./testing/tiny-model.ts";

const CONTEXT = 1024;
const TOKENS = 700;
const KILLS = 6;
/** Maximum number of streams per kill, of which the last is killed. */
const TRIES_MAX = 50;
const seed = Number(process.env["HEADROOM_SEED"] ?? 1);
const hasLlama = existsSync(path.join(import.meta.dirname, "node_modules", "node-llama-cpp"));
if (!hasLlama) console.warn("SKIPPED: llama.cpp is not installed; run node examples/serving/install-llama.mjs");

const ADMIN_TOKEN = "token-of-the-administrator-of-this-test";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-resume-"));
  writeTinyModel(path.join(folder, "model.gguf"), CONTEXT);
});
afterAll(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

describe.each(hasLlama ? ["builtin", "llama.cpp"] : ["builtin"])("replicas on %s", (engine) => {
  const replicas = new Map<number, ChildProcess>();
  let gateway: RunningProgram;
  let url = "";
  let adminUrl = "";

  function serve(port: number): void {
    const args = ["serve.mjs", "--model", path.join(folder, "model.gguf"), "--port", String(port), "--engine", engine];
    replicas.set(port, spawn(process.execPath, args, { cwd: import.meta.dirname, stdio: "ignore" }));
  }
  const isHealthy = (port: number) =>
    fetch(`http://127.0.0.1:${port}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  /** The gateway's view of its replicas. */
  async function seen(): Promise<readonly { url: string; isAvailable: boolean; requests: number }[]> {
    const answer = await fetch(`${adminUrl}/replicas`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
    return ((await answer.json()) as { replicas: { url: string; isAvailable: boolean; requests: number }[] }).replicas;
  }
  const areAllAvailable = async () =>
    [
      ...(await Promise.all([...replicas.keys()].map(isHealthy))),
      ...(await seen()).map((each) => each.isAvailable),
    ].every(Boolean);

  beforeAll(async () => {
    for (const name of ["first", "second"]) serve(await chooseFreePort(`${engine}-${name}`));
    const listen = `127.0.0.1:${await chooseFreePort(`${engine}-gateway`)}`;
    const admin = `127.0.0.1:${await chooseFreePort(`${engine}-admin`)}`;
    [url, adminUrl] = [`http://${listen}`, `http://${admin}`];
    const pool = {
      name: "tiny",
      engine: "headroom",
      probe: { interval: "200ms" },
      replicas: [...replicas.keys()].map((port) => `http://127.0.0.1:${port}`),
    };
    const adminToken = { file: path.join(folder, "admin-token") };
    writeFileSync(adminToken.file, ADMIN_TOKEN, { mode: 0o600 });
    const config = {
      listen,
      admin,
      adminToken,
      access: "open",
      pools: [pool],
      models: [{ name: "quickstart", pools: ["tiny"] }],
    };
    writeFileSync(path.join(folder, `${engine}.yaml`), JSON.stringify(config));
    gateway = startProgram(["gateway", "--config", path.join(folder, `${engine}.yaml`)], { home: folder, cwd: folder });
    await gateway.saying(/listens on/);
  });
  afterAll(async () => {
    gateway.process.kill("SIGKILL");
    await gateway.ended;
    for (const child of replicas.values()) child.kill("SIGKILL");
  });

  /** The text of a stream; `onEvent` is called with the number of each event and the text so far. */
  async function stream(settings: object, onEvent: (count: number) => Promise<void> = async () => {}): Promise<string> {
    const body = {
      model: "quickstart",
      prompt: "the quick ",
      max_tokens: TOKENS,
      ignore_eos: true,
      stream: true,
      ...settings,
    };
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${url}/v1/completions`, { method: "POST", headers, body: JSON.stringify(body) });
    expect(answer.status).toBe(200);
    let [text, rest, count] = ["", "", 0];
    for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) {
      const events = (rest + part).split("\n\n");
      rest = events.pop()!;
      for (const event of events) {
        const data = event.replace(/^data: /, "");
        if (data === "[DONE]") return text;
        const chunk = JSON.parse(data) as { choices?: { text: string }[]; error?: unknown };
        expect(chunk.error).toBeUndefined();
        text += chunk.choices?.[0]?.text ?? "";
        await onEvent(++count);
      }
    }
    throw new Error(`the stream ended without [DONE] after ${count} events`);
  }

  it(`go on with each stream, drawn or greedy, when ${KILLS} of them are killed`, async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      await expect.poll(areAllAvailable).toBe(true);
      const settings = kill % 2 === 0 ? { temperature: 0 } : { temperature: 0.8, seed: seed + kill };
      const undisturbed = await stream(settings);
      const killAt = 1 + ((seed * 7919 + kill * 104_729) % 40);
      let killed: number | undefined;
      // The replicas do not wait for the client: on a busy machine one may have generated all tokens before the kill.
      for (let tries = 0; killed === undefined; tries++) {
        expect(tries, "each stream was generated before a replica could be killed").toBeLessThan(TRIES_MAX);
        const text = await stream(settings, async (count) => {
          if (count !== killAt) return;
          const busy = (await seen()).find(({ requests }) => requests > 0);
          if (busy === undefined) return;
          killed = Number(new URL(busy.url).port);
          replicas.get(killed)!.kill("SIGKILL");
        });
        expect(text, `seed ${seed}, kill ${kill} at event ${killAt}`).toBe(undisturbed);
      }
      serve(killed);
    }
  });
});
