/** The loop of retraining as users run it: new text, a better model, a gate, an alias, and a gateway that answers with the new version. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { headroom } from "../../packages/cli/src/testing/recorded-terminal.ts";
import { startProgram, type RunningProgram } from "../../packages/cli/src/testing/running-program.ts";
import { isTurnOf } from "../../tools/testing/rotating.ts";
import { createBuiltinEngine } from "../serving/builtin-engine.mjs";
import { pick } from "../serving/sampler.mjs";

const PROMPT = "The scheduler";
const TOKENS = 24;
/** Sampled text differs between models sooner than the most likely one does. */
const SAMPLING = { temperature: 0.8, seed: 7 };
const repository = path.resolve(import.meta.dirname, "../..");
let root = "";
let home = "";
/** Outside of the temporary directory: work in a sandbox has one of its own. */
let texts = "";
const programs: RunningProgram[] = [];
beforeAll(() => {
  root = mkdtempSync(path.join(tmpdir(), "headroom-loop-"));
  home = path.join(root, "home");
  mkdirSync(home);
  mkdirSync(path.join(repository, ".build"), { recursive: true });
  texts = mkdtempSync(path.join(repository, ".build", "texts-"));
});
afterAll(async () => {
  for (const { process: child, ended } of programs.reverse()) {
    child.kill("SIGTERM");
    await ended;
  }
  for (const each of [root, texts]) rmSync(each, { recursive: true, maxRetries: 5 });
});

async function said(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await headroom(args, { workingDirectory: root, env: { HEADROOM_HOME: home } });
  if (code !== 0) throw new Error(`headroom ${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** A folder of text as the next version, which starts a run. */
const register = (folder: string): Promise<string> =>
  said("dataset", "register", "dataset:text", path.join(texts, folder));

/** Waits for the end of so many runs. Returns whether the newest one has moved the alias. */
async function promoted(runs: number): Promise<boolean> {
  const read = async () => {
    const text = await said("pipeline", "runs", "retrain", "--json");
    const { items } = JSON.parse(text) as {
      readonly items: readonly { readonly id: string; readonly phase: string }[];
    };
    return items;
  };
  const phases = async (): Promise<readonly string[]> => (await read()).map(({ phase }) => phase);
  const isOver = async (): Promise<boolean> => {
    const all = await phases();
    return all.length === runs && all.every((phase) => phase !== "waiting" && phase !== "running");
  };
  await expect.poll(isOver, { timeout: 120_000, interval: 500 }).toBe(true);
  expect(await phases()).toEqual(Array.from({ length: runs }, () => "succeeded"));
  const id = (await read()).map((run) => run.id).toSorted((a, b) => Number(b.slice(1)) - Number(a.slice(1)))[0] ?? "";
  return !(await said("pipeline", "show", id)).includes("skipped");
}

/** The answer of the version that is in production, computed from its file. */
async function continuation(): Promise<string> {
  const shown = JSON.parse(await said("model", "show", "quickstart@production", "--json")) as {
    readonly places: readonly { readonly uri: string }[];
  };
  const engine = await createBuiltinEngine((shown.places[0]?.uri ?? "").replace(/^file:\/\//, ""), 1);
  const tokens: number[] = [];
  let next: readonly number[] = Array.from(Buffer.from(PROMPT));
  while (tokens.length < TOKENS) {
    const logits: Float32Array = await engine.evaluate(0, next);
    next = [pick(logits, { ...SAMPLING, topP: 1, topK: 0 }, PROMPT.length + tokens.length)];
    tokens.push(...next);
  }
  return Buffer.from(tokens).toString("utf8");
}

/** Two runs of three that train, and a rollout: it takes turns with the other tests of some minutes. */
it.runIf(isTurnOf("retraining loop"))("retrains, promotes and serves unattended", { timeout: 290_000 }, async () => {
  for (const folder of ["digits", "guides", "tutorials"]) mkdirSync(path.join(texts, folder));
  const digits = Array.from({ length: 20_000 }, (_, at) => String((at * 7_919) % 97));
  writeFileSync(path.join(texts, "digits", "digits.md"), digits.join(" "));
  cpSync(path.join(repository, "docs", "how-to"), path.join(texts, "guides"), { recursive: true });
  cpSync(path.join(repository, "docs", "tutorial"), path.join(texts, "tutorials"), { recursive: true });
  const plane = startProgram(["up", "--no-console", "--port", "0", "--slots", "4"], { home });
  programs.push(plane);
  const [, url = ""] = await plane.saying(/runs on (http:\/\/127\.0\.0\.1:\d+)[^]*Ctrl-C/);
  await said("apply", "-f", path.join(import.meta.dirname, "pipeline.yaml"), "--yes");

  await register("digits");
  expect(await promoted(1)).toBe(false);
  await register("guides");
  expect(await promoted(2)).toBe(true);
  const first = await continuation();

  await said("apply", "-f", path.join(import.meta.dirname, "endpoint.yaml"), "--yes");
  const { secret } = JSON.parse(
    await said("token", "create", "app", "--for", "app", "--team", "default", "--json"),
  ) as {
    readonly secret: string;
  };
  const controlPlane = { url, token: { file: path.join(home, "token") }, interval: "200ms", accessTokens: true };
  const config = {
    listen: "127.0.0.1:0",
    state: path.join(root, "gateway"),
    teams: [{ name: "default" }],
    controlPlane,
    pools: [{ name: "p", endpoint: "retrained", probe: { path: "/health" } }],
    models: [{ name: "quickstart", pools: ["p"] }],
  };
  writeFileSync(path.join(root, "gateway.yaml"), JSON.stringify(config));
  const gateway = startProgram(["gateway", "--config", "gateway.yaml"], { home, cwd: root });
  programs.push(gateway);
  const [, address = ""] = await gateway.saying(/listens on (http:\S+?)[.,]?\s/);
  const answer = async (): Promise<string> => {
    const body = JSON.stringify({ model: "quickstart", prompt: PROMPT, max_tokens: TOKENS, ...SAMPLING });
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    const response = await fetch(`${address}/v1/completions`, { method: "POST", headers, body });
    const text = await response.text();
    if (response.status !== 200) return text;
    return (JSON.parse(text) as { readonly choices: readonly { readonly text: string }[] }).choices[0]?.text ?? "";
  };
  await expect.poll(answer, { timeout: 60_000, interval: 500 }).toBe(first);

  await register("tutorials");
  expect(await promoted(3)).toBe(true);
  const second = await continuation();
  expect(second).not.toBe(first);
  await expect.poll(answer, { timeout: 60_000, interval: 500 }).toBe(second);
  expect(await said("lineage", "model:quickstart@production")).toMatch(/dataset:text@3/);
  await said("stop", "retrained");
});
