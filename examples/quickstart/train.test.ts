/**
 * Tests of the quickstart with real processes: it learns, resumes bit for bit after kills, stops cleanly, and rejects
 * workers of other gangs.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { chooseFreePort } from "../../packages/executors/src/processes/free-port.ts";

const STEPS = 300;
const SAVE_EVERY = 20;
let root: string;
let running: ChildProcess[] = [];

/**
 * A module that is loaded into a worker before its program. It pauses the program at a chosen output line until a file
 * exists. Three hundred steps take half a second, so without the pause a test's action could come after the end.
 */
const HOLD = `
import { existsSync } from "node:fs";
const { HOLD_AT, HOLD_UNTIL } = process.env;
const [line, clock, { write }] = [new RegExp(HOLD_AT), new Int32Array(new SharedArrayBuffer(4)), process.stdout];
process.stdout.write = function (text, ...more) {
  const isTaken = write.call(this, text, ...more);
  if (line.test(text)) while (!existsSync(HOLD_UNTIL)) Atomics.wait(clock, 0, 0, 5);
  return isTaken;
};
`;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "headroom-quickstart-"));
  mkdirSync(join(root, "text"));
  writeFileSync(join(root, "text", "a.md"), "the quick brown fox jumps over the lazy dog\n".repeat(200));
  writeFileSync(join(root, "hold.mjs"), HOLD);
});
function killAll(): void {
  for (const child of running) child.kill("SIGKILL");
  running = [];
}
afterEach(killAll);
afterAll(() => {
  killAll(); // a failure before the first test also leaves processes
  rmSync(root, { recursive: true, force: true });
});

interface Run {
  readonly directory: string;
  readonly progressFile: string;
  port: number;
}
interface Worker {
  readonly child: ChildProcess;
  readonly lines: string[];
  readonly errors: string[];
  readonly exit: Promise<number | string>;
}
interface Line {
  readonly kind: string;
  readonly step: number;
  readonly metrics: { readonly loss: number };
}

async function newRun(name: string): Promise<Run> {
  return { directory: join(root, name), progressFile: join(root, `${name}.jsonl`), port: await chooseFreePort(name) };
}

function start(run: Run, rank: number, more: Record<string, string> = {}): Worker {
  const env = {
    PATH: process.env["PATH"],
    RANK: String(rank),
    WORLD_SIZE: "2",
    MASTER_ADDR: "127.0.0.1",
    MASTER_PORT: String(run.port),
    HEADROOM_ATTEMPT_ID: "attempt-1",
    HEADROOM_CHECKPOINT_DIR: run.directory,
    HEADROOM_PROGRESS_FILE: run.progressFile,
    QUICKSTART_CORPUS: join(root, "text"),
    QUICKSTART_STEPS: String(STEPS),
    QUICKSTART_SAVE_EVERY: String(SAVE_EVERY),
    QUICKSTART_REPORT_EVERY: "1",
    QUICKSTART_BATCH: "4",
    QUICKSTART_CONTEXT: "16",
    QUICKSTART_HIDDEN: "16",
    QUICKSTART_LAYERS: "1",
    ...more,
  };
  const hold = "HOLD_AT" in more ? ["--import", join(root, "hold.mjs")] : [];
  const child = spawn(process.execPath, [...hold, join(import.meta.dirname, "train.mjs")], { env });
  running.push(child);
  const [lines, errors]: [string[], string[]] = [[], []];
  createInterface(child.stdout).on("line", (line) => lines.push(line));
  createInterface(child.stderr).on("line", (line) => errors.push(line));
  const exit = once(child, "close").then(([code, signal]) => (code ?? signal) as number | string);
  return { child, lines, errors, exit };
}

let gangCount = 0;
/** Starts both workers, stops rank 0 at the first matching line, calls the action, and continues. */
async function gang(run: Run, when: RegExp, act: (workers: readonly Worker[]) => void, more = {}) {
  const go = join(root, `go-${++gangCount}`);
  const workers = [start(run, 0, { ...more, HOLD_AT: when.source, HOLD_UNTIL: go }), start(run, 1, more)];
  createInterface(workers[0]!.child.stdout!).on("line", (line) => {
    if (existsSync(go) || !when.test(line)) return;
    act(workers);
    writeFileSync(go, "");
  });
  return { workers, exits: await Promise.all(workers.map((worker) => worker.exit)) };
}

async function finish(run: Run, more = {}) {
  const workers = [start(run, 0, more), start(run, 1, more)];
  return { workers, exits: await Promise.all(workers.map((worker) => worker.exit)) };
}
const reports = (run: Run): Line[] =>
  readFileSync(run.progressFile, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
/** Loss by step; every step was reported, and a repeated step must have the same loss. */
function lossesOf(run: Run): Map<number, number> {
  const losses = new Map<number, number>();
  for (const { kind, step, metrics } of reports(run)) {
    if (kind !== "progress") continue;
    if (losses.has(step)) expect([step, metrics.loss]).toEqual([step, losses.get(step)]);
    losses.set(step, metrics.loss);
  }
  return new Map([...losses].sort(([a], [b]) => a - b));
}
interface Manifest {
  readonly checkpoints: readonly { readonly step: number; readonly file: string; readonly sha256: string }[];
}
const manifest = (run: Run) => JSON.parse(readFileSync(join(run.directory, "manifest.json"), "utf8")) as Manifest;
const newestStep = (run: Run) =>
  existsSync(join(run.directory, "manifest.json")) ? manifest(run).checkpoints.at(-1)!.step : 0;
const startedAfter = (worker: Worker) => Number(/starts after step (\d+)/.exec(worker.lines.join("\n"))?.[1]);

describe("the quickstart", () => {
  let straight: Run;
  let losses: Map<number, number>;

  beforeAll(async () => {
    straight = await newRun("straight");
    const { exits } = await finish(straight);
    expect(exits).toEqual([0, 0]);
    losses = lossesOf(straight);
  });

  it("learns, and leaves checkpoints and a sample", () => {
    expect([...losses.keys()]).toEqual(Array.from({ length: STEPS }, (_, i) => i + 1));
    expect(losses.get(1)).toBeGreaterThan(5.4); // The loss of an untrained model is ln 264 = 5.58 nats per byte.
    expect(losses.get(STEPS)).toBeLessThan(1);
    expect(manifest(straight).checkpoints.map(({ step }) => step)).toEqual([260, 280, 300]);
    for (const { file, sha256 } of manifest(straight).checkpoints) {
      const bytes = readFileSync(join(straight.directory, file));
      expect(createHash("sha256").update(bytes).digest("hex")).toBe(sha256);
    }
    const sample = readFileSync(join(straight.directory, "sample.txt"), "utf8");
    expect(sample.length).toBeGreaterThan(300); // tokens that are not bytes leave no text
    expect(readFileSync(join(straight.directory, "model.gguf")).subarray(0, 4).toString()).toBe("GGUF");
  });

  it("computes nothing more when it is started again after its end, and reports its model again", async () => {
    const before = reports(straight);
    expect(before.slice(-2)).toMatchObject([
      { kind: "artifact", name: "model:quickstart", parameters: { layers: "1" } },
      { kind: "artifact", name: "model" },
    ]);
    expect((await finish(straight)).exits).toEqual([0, 0]);
    expect(reports(straight)).toEqual([...before, ...before.slice(-2)]);
  });

  it("killed at random points, computes what an uninterrupted run computes, bit for bit", async () => {
    const run = await newRun("killed");
    const seed = Number(process.env["HEADROOM_TEST_SEED"] ?? Date.now() % 1e6);
    let draw = seed;
    const next = (below: number) => (draw = (Math.imul(draw, 48271) >>> 0) % 0x7fffffff) % below;
    for (let kill = 0; kill < 6; kill++) {
      const from = newestStep(run);
      const at = from + 1 + next(40);
      const victims = [[0], [1], [0, 1]][next(3)]!;
      const kills = (both: readonly Worker[]) => victims.forEach((rank) => both[rank]!.child.kill("SIGKILL"));
      const attempt = { HEADROOM_ATTEMPT_ID: `attempt-${kill}` };
      const { workers, exits } = await gang(run, new RegExp(`"step":${at}\\b`), kills, attempt);
      const story = `seed ${seed}, kill ${kill} of ${victims.join()} at step ${at}: ${exits.join()}`;
      expect([startedAfter(workers[0]!), story]).toEqual([from, story]);
      for (const rank of [0, 1]) expect([exits[rank], story]).toEqual([victims.includes(rank) ? "SIGKILL" : 1, story]);
    }
    const { exits } = await finish(run, { HEADROOM_ATTEMPT_ID: "attempt-last" });
    expect(exits).toEqual([0, 0]);
    expect(lossesOf(run)).toEqual(losses);
    expect(manifest(run)).toEqual(manifest(straight));
  });

  it("stops on SIGTERM to one worker: all stop after the same step, with a checkpoint of it, and the rest is as ever", async () => {
    const run = await newRun("stopped");
    for (const rank of [0, 1]) {
      const { exits } = await gang(run, new RegExp(`"step":${33 + 50 * rank}\\b`), (both) =>
        both[rank]!.child.kill("SIGTERM"),
      );
      expect(exits).toEqual([143, 143]);
      const last = reports(run).at(-1)!;
      expect(last.kind).toBe("checkpoint");
      expect(last.step).toBe(newestStep(run));
      expect(last.step).toBeLessThan(STEPS);
      expect(Math.max(...lossesOf(run).keys())).toBe(last.step);
    }
    expect((await finish(run)).exits).toEqual([0, 0]);
    expect(lossesOf(run)).toEqual(losses);
  });

  it("passes over a torn checkpoint and what was being written when it died", async () => {
    const run = await newRun("torn");
    await gang(run, /"checkpoint","step":60\b/, (both) => both.forEach(({ child }) => child.kill("SIGKILL")));
    const [older, newest] = manifest(run).checkpoints.slice(-2);
    truncateSync(join(run.directory, newest!.file), 1000);
    writeFileSync(join(run.directory, "step-99999.ckpt"), "not named in the manifest");
    writeFileSync(join(run.directory, "manifest.json.tmp"), '{"checkpoi');
    const { workers, exits } = await finish(run);
    expect(exits).toEqual([0, 0]);
    expect(workers.map(startedAfter)).toEqual([older!.step, older!.step]);
    expect(workers[0]!.errors.join()).toContain(`${newest!.file} is missing or damaged`);
    expect(lossesOf(run)).toEqual(losses);
    expect(readdirSync(run.directory).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it("turns away a worker of another attempt and goes on with its own", async () => {
    const run = await newRun("stale");
    const rank0 = start(run, 0, { HEADROOM_ATTEMPT_ID: "new" });
    const refused = once(createInterface(rank0.child.stderr!), "line");
    const stale = start(run, 1, { HEADROOM_ATTEMPT_ID: "old" });
    expect(String(await refused)).toContain('turned away "1 2 old" from attempt new');
    const own = start(run, 1, { HEADROOM_ATTEMPT_ID: "new" });
    expect(await Promise.all([rank0.exit, own.exit])).toEqual([0, 0]);
    expect(lossesOf(run)).toEqual(losses);
    // The worker retries until its own timeout, or until its control plane ends it.
    stale.child.kill();
    expect(await stale.exit).toBe("SIGTERM");
    expect(stale.lines).toEqual([]);
  });

  it("gives up when its gang stays incomplete", async () => {
    const alone = start(await newRun("alone"), 1, { QUICKSTART_PATIENCE_MS: "200" });
    expect(await alone.exit).toBe(1);
    expect(alone.errors.join()).toContain("the gang is incomplete");
  });

  it("waits for a port that is still taken", async () => {
    const run = await newRun("port");
    // The peer retries ten times, a second in all: by then rank 0 has found the port taken.
    let knocks = 0;
    const holder = createServer((socket) => {
      knocks += 1;
      if (knocks === 10) holder.emit("enough");
      socket.destroy();
    }).listen(run.port, "127.0.0.1");
    await once(holder, "listening");
    const workers = [start(run, 0), start(run, 1)];
    await once(holder, "enough");
    holder.close();
    expect(await Promise.all(workers.map(({ exit }) => exit))).toEqual([0, 0]);
  });

  it("refuses a checkpoint of other settings", async () => {
    const { exits, workers } = await finish(straight, { QUICKSTART_HIDDEN: "32" });
    expect(exits).toEqual([1, 1]);
    expect(workers[0]!.errors.join()).toContain("the checkpoint has another recipe");
  });
});
