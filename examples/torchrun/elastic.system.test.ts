/**
 * Tests the elastic torchrun example under the control plane: it starts small, grows into idle accelerators, and
 * shrinks when another team reclaims its guarantee.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { lookup } from "node:dns/promises";
import { hostname, networkInterfaces, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { liveWorkers } from "../../packages/cli/test/quickstart-run.ts";
import { parseYaml } from "../../packages/cli/src/documents/yaml-source.ts";
import { headroom } from "../../packages/cli/src/testing/recorded-terminal.ts";
import { startProgram } from "../../packages/cli/src/testing/running-program.ts";
import type { RunningProgram } from "../../packages/cli/src/testing/running-program.ts";
import { isTurnOf } from "../../tools/testing/rotating.ts";

const addresses = new Set(Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address)));
/** torchrun's agents reach each other by the name of the machine. */
const hasNamedAddress = await lookup(hostname()).then(
  ({ address }) => addresses.has(address) || address.startsWith("127."),
  () => false,
);
const missing =
  spawnSync("torchrun", ["--help"]).status !== 0
    ? "torchrun does not start (Debian: apt-get install python3-torch)"
    : hasNamedAddress
      ? null
      : `the name of this machine, ${hostname()}, leads to no address of it`;
if (missing !== null) console.warn(`SKIPPED: the elastic torchrun example was not tested: ${missing}`);

const declared = parseYaml(readFileSync(path.join(import.meta.dirname, "elastic.yaml"), "utf8")).documents[0]!;
const { run, elastic } = declared.value as { readonly run: string; readonly elastic: { readonly max: number } };
const REPORT_EVERY = 20;
/** Time in ms in which a gang comes to a size, and trains with it. PyTorch starts in some seconds. */
const SIZE_LIMIT_MS = 240_000;
let home: string;
/** The directory of the workload. An isolated worker sees nothing else below /tmp. */
let example: string;
/** Where the control plane keeps its records, which workloads do not see. */
let state: string;
let plane: RunningProgram | null = null;

beforeAll(() => {
  home = mkdtempSync(path.join(tmpdir(), "headroom-elastic-"));
  state = path.join(home, "state");
  mkdirSync(state);
  example = path.join(home, "example");
  mkdirSync(path.join(example, "corpus"), { recursive: true });
  copyFileSync(path.join(import.meta.dirname, "train.py"), path.join(example, "train.py"));
  writeFileSync(path.join(example, "corpus", "a.md"), "the quick brown fox jumps over the lazy dog\n".repeat(200));
});
afterAll(async () => {
  plane?.process.kill("SIGKILL");
  await plane?.ended;
  for (const { pid } of liveWorkers(state)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // The process has already ended.
    }
  }
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
});

const command = (...args: readonly string[]) =>
  headroom(args, { workingDirectory: home, env: { HEADROOM_HOME: state } });

async function start(): Promise<RunningProgram> {
  const program = startProgram(["up", "--port", "0", "--slots", String(elastic.max), "--no-console"], { home: state });
  await program.saying(/runs on http:[^]*Ctrl-C/);
  return program;
}

interface Shown {
  readonly phase: string;
  readonly attempts: readonly {
    readonly phase: string;
    readonly workers: readonly unknown[];
    readonly leaving?: unknown;
  }[];
}

async function shown(name: string): Promise<Shown> {
  return JSON.parse((await command("show", name, "--json")).stdout) as Shown;
}

/** The size in the engine's state, once no worker is terminating. */
async function comesTo(name: string, workers: number): Promise<void> {
  const limitMs = Date.now() + SIZE_LIMIT_MS;
  for (;;) {
    const { attempts, phase } = await shown(name);
    const last = attempts.at(-1);
    if (last?.phase === "running" && last.workers.length === workers && last.leaving === undefined) return;
    if (phase === "failed" || phase === "succeeded") throw new Error(`${name} ${phase}: ${JSON.stringify(attempts)}`);
    if (Date.now() > limitMs)
      throw new Error(`${name} has not come to ${workers} workers: ${JSON.stringify(attempts)}`);
    await delay(200);
  }
}

/** The log of rank 0: each size of the gang with its start, and the losses. */
function said(): {
  readonly starts: readonly { readonly world: number; readonly step: number }[];
  readonly text: string;
} {
  const file = path.join(state, "attempts", `${workloadId}.1`, "worker-0", "stdout.log");
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  const starts = [...text.matchAll(/rank 0 of (\d+) starts after step (\d+)/g)];
  return { text, starts: starts.map(([, world, step]) => ({ world: Number(world), step: Number(step) })) };
}

let workloadId = "";

/** The end of what rank 0 wrote to its standard error. */
function problems(): string {
  const file = path.join(state, "attempts", `${workloadId}.1`, "worker-0", "stderr.log");
  return existsSync(file) ? readFileSync(file, "utf8").slice(-4_000) : "";
}

async function trainsWith(world: number): Promise<void> {
  const limitMs = Date.now() + SIZE_LIMIT_MS;
  for (;;) {
    const { starts, text } = said();
    const isTraining = text.lastIndexOf('"kind": "progress"') > text.lastIndexOf("starts after step");
    if (starts.at(-1)?.world === world && isTraining) return;
    if ((await shown("elastic")).phase !== "running") throw new Error(`it does not run any more:\n${text}`);
    if (Date.now() > limitMs) throw new Error(`it does not train with ${world} workers:\n${text}\n${problems()}`);
    await delay(200);
  }
}

const needs = "gang: { accelerators: 1, cores: 0.1, memory: 64MiB }";
/** The needs of PyTorch; three of these fit two cores. */
const trains = "gang: { accelerators: 1, cores: 0.6, memory: 1GiB }";
const workOf = (name: string, team: string, lines: readonly string[]): string =>
  ["kind: train", `name: ${name}`, `team: ${team}`, ...lines].join("\n");

async function apply(...documents: readonly string[]): Promise<void> {
  writeFileSync(path.join(home, "apply.yaml"), documents.join("\n---\n"));
  const { code, stdout, stderr } = await command("apply", "-f", "apply.yaml", "--yes");
  expect(code, stdout + stderr).toBe(0);
}

const untilFile = (name: string): string => `run: "until [ -e ${path.join(home, name)} ]; do sleep 0.1; done"`;

describe.skipIf(missing !== null || !isTurnOf("elastic torchrun"))("the elastic torchrun example", () => {
  it("starts at its least, grows when others end, outlives the control plane, shrinks for a guarantee, and learns on", async () => {
    plane = await start();
    await apply(
      "kind: team\nname: guests",
      "kind: team\nname: owners\nguarantee: { slot: 1 }",
      workOf("holder", "guests", [untilFile("holder-ends"), needs.replace("1,", "2,"), "preemptible: true"]),
    );
    await comesTo("holder", 1);
    const env = {
      OMP_NUM_THREADS: "1",
      TORCHRUN_CORPUS: path.join(example, "corpus"),
      TORCHRUN_STEPS: "8000",
      TORCHRUN_REPORT_EVERY: String(REPORT_EVERY),
      TORCHRUN_SAVE_EVERY: "500",
    };
    await apply(
      workOf("elastic", "guests", [
        `run: ${JSON.stringify(run)}`,
        `dir: ${example}`,
        `env: ${JSON.stringify(env)}`,
        trains,
        "elastic: { min: 1, max: 3 }",
        "preemptible: true",
        "grace: 60s",
        `checkpoint: { dir: ${path.join(home, "kept")} }`,
      ]),
    );
    await comesTo("elastic", 1);
    workloadId = (JSON.parse((await command("show", "elastic", "--json")).stdout) as { readonly id: string }).id;
    await trainsWith(1);

    writeFileSync(path.join(home, "holder-ends"), "");
    await comesTo("elastic", 3);
    expect((await command("show", "elastic")).stdout).toContain("3 of at most 3 workers");
    await trainsWith(3);

    plane.process.kill("SIGKILL");
    await plane.ended;
    plane = await start();
    await apply(workOf("claim", "owners", [untilFile("claim-ends"), needs]));
    await comesTo("claim", 1);
    await comesTo("elastic", 2);
    await trainsWith(2);

    while ((await shown("elastic")).phase === "running") await delay(500);
    const { phase, attempts } = await shown("elastic");
    const { starts, text } = said();
    expect([phase, attempts.length], text).toEqual(["succeeded", 1]);
    console.log(
      `elastic torchrun: ${starts.map(({ world, step }) => `${world} workers after step ${step}`).join(", ")}`,
    );
    expect(starts.map(({ world }) => world)).toEqual(expect.arrayContaining([1, 2, 3]));
    expectContinuity(text);
  });
});

/**
 * Each start resumes from the newest checkpoint before it, with a similar loss, far below that of an untrained model.
 */
function expectContinuity(text: string): void {
  const losses: number[] = [];
  let checkpoint = 0;
  for (const line of text.split("\n")) {
    const started = /rank 0 of \d+ starts after step (\d+)/.exec(line);
    if (started !== null) expect(Number(started[1])).toBe(checkpoint);
    if (!line.startsWith("{")) continue;
    const told = JSON.parse(line) as { kind: string; step: number; metrics?: { loss: number } };
    if (told.kind === "checkpoint") checkpoint = told.step;
    if (told.metrics !== undefined) losses.push(told.metrics.loss);
  }
  const first = losses[0]!;
  // Every later loss is lower than that of an untrained model: no resize lost the training state.
  for (const [index, loss] of losses.entries())
    if (index > 20) expect(loss, `report ${index} of ${losses.length}`).toBeLessThan(first / 2);
}
