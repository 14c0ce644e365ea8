/**
 * Tests the quickstart as a user runs it, from the start to a trained checkpoint: once undisturbed, and once with
 * twenty kills.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { isTurnOf } from "../../../tools/testing/rotating.ts";
import { headroom } from "../src/testing/recorded-terminal.ts";
import { startProgram, type RunningProgram } from "../src/testing/running-program.ts";
import {
  attemptLogs,
  liveWorkers,
  newestCheckpoint,
  seededDraws,
  type AttemptLog,
  type LiveWorker,
} from "./quickstart-run.ts";

const TRAINED_WITHIN_MS = 300_000;
const STEPS = 900;
const KILLS = 20;
/** Maximum time in ms between two kills, enough for a start and a few checkpoints. */
const PEACE_MAX_MS = 3_000;
/** Number of steps between checkpoints in the run with kills: small, so that each kill finds a checkpoint. */
const SAVE_EVERY = 10;
/** It trains twice, so it takes turns with the other tests of some minutes. */
const isTurn = isTurnOf("quickstart");
const seed = Number(process.env["HEADROOM_SEED"] ?? 1);
const example = path.resolve(import.meta.dirname, "..", "..", "..", "examples", "quickstart");

let folder = "";
const started: RunningProgram[] = [];
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-quickstart-"));
});
afterAll(async () => {
  for (const program of started) {
    program.process.kill("SIGKILL");
    await program.ended;
  }
  for (const home of ["undisturbed", "killed"]) {
    for (const { pid } of liveWorkers(path.join(folder, home))) killIfThere(pid);
  }
  rmSync(folder, { recursive: true, maxRetries: 5 });
});

async function up(home: string, ...options: readonly string[]): Promise<RunningProgram> {
  mkdirSync(home, { recursive: true });
  const program = startProgram(["up", "--port", "0", "--slots", "2", ...options], { home });
  started.push(program);
  await program.saying(/runs on http:[^]*Ctrl-C/);
  return program;
}

const command = (home: string, ...args: readonly string[]) =>
  headroom(args, { workingDirectory: home, env: { HEADROOM_HOME: home } });

interface Shown {
  readonly phase: string;
  readonly checkpoint: { readonly step: number; readonly path: string };
}

async function shown(home: string): Promise<Shown> {
  return JSON.parse((await command(home, "show", "quickstart", "--json")).stdout) as Shown;
}

let undisturbed: AttemptLog | undefined;

it.runIf(isTurn)(`trains within ${TRAINED_WITHIN_MS / 1000} s of the start`, async () => {
  const home = path.join(folder, "undisturbed");
  const startedAtMs = performance.now();
  await up(home, "--quickstart");
  await command(home, "logs", "-f", "quickstart");
  const tookMs = performance.now() - startedAtMs;
  const { phase, checkpoint } = await shown(home);
  const logs = attemptLogs(home);
  undisturbed = logs[0];
  const losses = [...(undisturbed?.losses.values() ?? [])].map(Number);
  console.log(
    `quickstart: trained in ${(tookMs / 1000).toFixed(1)} s, loss ${losses[0]} → ${losses.at(-1)}, ${checkpoint.step} steps`,
  );
  expect([phase, logs.length, checkpoint.step]).toEqual(["succeeded", 1, STEPS]);
  expect(readFileSync(path.join(path.dirname(checkpoint.path), "sample.txt"), "utf8")).not.toBe("");
  expect(Number(losses.at(-1))).toBeLessThan(1.7);
  expect(existsSync(path.join(path.dirname(checkpoint.path), "model.gguf"))).toBe(true);
  expect(tookMs).toBeLessThan(TRAINED_WITHIN_MS);
  await expectServed(home);
});

/** The endpoint has no replica yet: the request starts one, which has the model that was just trained. */
async function expectServed(home: string): Promise<void> {
  const tried = await command(home, "endpoint", "try", "writer", "--completion", "import {", "--json");
  expect(tried).toMatchObject({ code: 0, stderr: expect.stringContaining("The request waits for one.") as unknown });
  const trial = JSON.parse(tried.stdout) as { readonly text: string; readonly outputTokens: number };
  console.log(`quickstart: the endpoint answered ${JSON.stringify(trial)}`);
  expect(trial).toMatchObject({ model: "quickstart", requestId: expect.any(String) as unknown });
  expect(trial.text).not.toBe("");
  expect(trial.outputTokens).toBeGreaterThan(0);
  expect((await command(home, "endpoint", "list")).stdout).toMatch(/^writer +default +quickstart +1 of 1/m);
  expect((await command(home, "stop", "writer")).code).toBe(0);
}

it.runIf(isTurn)(
  `finishes when killed ${KILLS} times, each time going on from the newest checkpoint with the losses of the run that nothing disturbed`,
  async () => {
    const home = path.join(folder, "killed");
    const checkpoints = path.join(folder, "kept");
    let plane = await up(home, "--no-console");
    applyIn(home, checkpoints);
    expect((await command(home, "apply", "-f", "train.yaml", "--yes")).code).toBe(0);

    const draw = seededDraws(seed);
    const kills: Record<string, number> = { "control plane": 0, worker: 0, both: 0 };
    const deaths: Death[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      const target = ["control plane", "worker", "both"][Math.floor(draw() * 3)] ?? "both";
      await workers(home);
      await peace(draw() * PEACE_MAX_MS, checkpoints, (STEPS * (kill + 1)) / (KILLS + 4));
      const victims = target === "control plane" ? [] : await workers(home);
      // When a gang has lost a worker, its other workers are already terminating.
      const unharmed = liveWorkers(home).filter(
        (worker) => !deaths.some(({ attemptId }) => attemptId === worker.attemptId),
      );
      const victim = victims[Math.floor(draw() * victims.length)];
      if (target !== "worker") plane.process.kill("SIGKILL");
      if (victim !== undefined) killIfThere(victim.pid);
      kills[target] = (kills[target] ?? 0) + 1;
      if (victim !== undefined) deaths.push({ attemptId: victim.attemptId, floor: newestCheckpoint(checkpoints) });
      if (target === "worker") continue;
      await plane.ended;
      plane = await up(home, "--no-console");
      // A gang that was starting may have had further attempts in between.
      if (target === "control plane") expect(liveWorkers(home)).toEqual(expect.arrayContaining(unharmed));
    }
    console.log(`quickstart: seed ${seed}, killed ${JSON.stringify(kills)}`);

    expect((await shown(home)).phase, "it must not be done before the last kill").not.toBe("succeeded");
    await command(home, "logs", "-f", "quickstart");
    expect(await shown(home)).toMatchObject({ phase: "succeeded", checkpoint: { step: STEPS } });
    expect(existsSync(path.join(checkpoints, "sample.txt"))).toBe(true);
    checkResumes(attemptLogs(home), deaths);
  },
);

/**
 * The random pause before a kill makes the point of the kill random. It ends early once training has reached `steps`,
 * so that a fast machine does not finish before the last kill.
 */
async function peace(ms: number, checkpoints: string, steps: number): Promise<void> {
  const until = performance.now() + ms;
  while (performance.now() < until && newestCheckpoint(checkpoints) < steps) {
    await delay(Math.min(20, until - performance.now()));
  }
}

/** The example with more checkpoints, in a known directory, and with the training text of the undisturbed run. */
function applyIn(home: string, checkpoints: string): void {
  mkdirSync(checkpoints);
  const workloadId = undisturbed?.attemptId.split(".")[0] ?? "";
  const corpus = path.join(folder, "undisturbed", "checkpoints", workloadId, "corpus.txt");
  copyFileSync(corpus, path.join(checkpoints, "corpus.txt"));
  const text = readFileSync(path.join(example, "train.yaml"), "utf8");
  const env = `env: { QUICKSTART_SAVE_EVERY: ${SAVE_EVERY} }`;
  const elsewhere = text.trimEnd().replace(/^checkpoint: \{ /m, `checkpoint: { dir: ${checkpoints}, `);
  expect(elsewhere).toContain(checkpoints);
  const lines = [elsewhere, `dir: ${example}`, env, ""];
  writeFileSync(path.join(home, "train.yaml"), lines.join("\n"));
}

/** The workers of the only running attempt, as soon as there are any. Two running attempts would be a double start. */
async function workers(home: string): Promise<readonly LiveWorker[]> {
  for (;;) {
    const found = liveWorkers(home);
    const keys = found.map(({ attemptId, rank }) => `${attemptId} ${rank}`);
    expect(new Set(keys).size, `a worker runs twice: ${keys.join(", ")}`).toBe(keys.length);
    expect(
      new Set(found.map(({ attemptId }) => attemptId)).size,
      `two attempts run: ${keys.join(", ")}`,
    ).toBeLessThanOrEqual(1);
    if (found.length > 0) return found;
    await delay(20);
  }
}

interface Death {
  readonly attemptId: string;
  /** The newest complete checkpoint right after a worker was killed: no later attempt may resume before it. */
  readonly floor: number;
}

function checkResumes(logs: readonly AttemptLog[], deaths: readonly Death[]): void {
  console.log(
    `quickstart: ${logs.length} attempts, resumed after steps ${logs.map(({ startStep }) => startStep ?? "-").join(", ")}`,
  );
  // An attempt ends only because one of its workers was killed; killing the control plane ends no attempt.
  const killed = new Set(deaths.map(({ attemptId }) => attemptId));
  expect(logs.slice(0, -1).map(({ attemptId }) => attemptId)).toEqual(
    logs.map(({ attemptId }) => attemptId).filter((id) => killed.has(id)),
  );
  expect(logs.at(-1)?.startStep, "nothing was ever resumed").toBeGreaterThan(0);
  let floor = 0;
  for (const { attemptId, startStep, losses } of logs) {
    if (startStep !== null) expect(startStep, `${attemptId}, seed ${seed}`).toBeGreaterThanOrEqual(floor);
    for (const [step, loss] of losses) {
      expect(loss, `step ${step} of ${attemptId}, seed ${seed}`).toBe(undisturbed?.losses.get(step));
    }
    floor = Math.max(floor, ...deaths.filter((death) => death.attemptId === attemptId).map((death) => death.floor));
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended in the meantime.
  }
}
