/** Tests the torchrun example as its workload file runs it: two torchrun processes with PyTorch DDP over gloo. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseYaml } from "../../packages/cli/src/documents/yaml-source.ts";
import { chooseFreePort } from "../../packages/executors/src/processes/free-port.ts";

/**
 * Reason why the test cannot run here; null: it can. torchrun uses its own Python, which is not always the first in
 * PATH.
 */
const missing =
  spawnSync("torchrun", ["--help"]).status === 0
    ? null
    : "torchrun does not start (Debian: apt-get install python3-torch)";
if (missing !== null) console.warn(`SKIPPED: the torchrun example was not tested: ${missing}`);

const workload = parseYaml(readFileSync(join(import.meta.dirname, "train.yaml"), "utf8")).documents[0]!;
const { run: command } = workload.value as { run: string };
const STEPS = 120;
let root: string;
let port: number;
const groups: number[] = [];

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "headroom-torchrun-"));
  writeFileSync(join(root, "a.md"), "the quick brown fox jumps over the lazy dog\n".repeat(200));
});
afterAll(() => {
  for (const group of groups) signal(group, "SIGKILL");
  rmSync(root, { recursive: true, force: true });
});

/** Signals a worker's whole process group, as the executor does. */
function signal(group: number, name: NodeJS.Signals): void {
  try {
    process.kill(-group, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function start(name: string, rank: number) {
  const env = {
    PATH: process.env["PATH"],
    RANK: String(rank),
    WORLD_SIZE: "2",
    NNODES: "2",
    NODE_RANK: String(rank),
    NPROC_PER_NODE: "1",
    MASTER_ADDR: "127.0.0.1",
    MASTER_PORT: String(port),
    OMP_NUM_THREADS: "1",
    CUDA_VISIBLE_DEVICES: "",
    HEADROOM_ATTEMPT_ID: `attempt-${port}`,
    HEADROOM_CHECKPOINT_DIR: join(root, name),
    HEADROOM_PROGRESS_FILE: join(root, `${name}.jsonl`),
    TORCHRUN_CORPUS: root,
    TORCHRUN_STEPS: String(STEPS),
    TORCHRUN_REPORT_EVERY: "1",
    TORCHRUN_SAVE_EVERY: "20",
  };
  const child = spawn("/bin/sh", ["-c", command], { env, cwd: import.meta.dirname, detached: true });
  groups.push(child.pid!);
  const errors: string[] = [];
  const errorLines = createInterface(child.stderr).on("line", (line: string) => errors.push(line));
  const exit = once(child, "close").then(([code, by]) => (code ?? by) as number | string);
  return { group: child.pid!, lines: createInterface(child.stdout), errors, errorLines, exit };
}

/**
 * Runs a gang; the first matching line of rank 0 triggers `act`. Returns the exit codes, and prints the logs on
 * failure.
 */
async function gang(
  name: string,
  when: RegExp,
  act: (groups: readonly number[], rank0: ReturnType<typeof start>) => void,
) {
  port = await chooseFreePort(`torchrun-${groups.length}`);
  const workers = [start(name, 0), start(name, 1)];
  const told: string[] = [];
  workers[0]!.lines.on("line", (line: string) => {
    told.push(line);
    if (when.test(line))
      act(
        workers.map(({ group }) => group),
        workers[0]!,
      );
  });
  const exits = await Promise.all(workers.map(({ exit }) => exit));
  return { exits, told, errors: workers.flatMap(({ errors }) => errors).join("\n") };
}

function losses(name: string): Map<number, number> {
  const lines = readFileSync(join(root, `${name}.jsonl`), "utf8")
    .trim()
    .split("\n");
  const all = lines.map((line) => JSON.parse(line) as { kind: string; step: number; metrics: { loss: number } });
  return new Map(all.filter(({ kind }) => kind === "progress").map(({ step, metrics }) => [step, metrics.loss]));
}

describe.skipIf(missing !== null)("the torchrun example", () => {
  it("learns; stopped and killed, it resumes with the losses of an uninterrupted run", async () => {
    const straight = await gang("straight", /(?!)/, () => {});
    expect(straight.exits, straight.errors).toEqual([0, 0]);
    const expected = losses("straight");
    expect([...expected.keys()]).toEqual(Array.from({ length: STEPS }, (_, i) => i + 1));
    expect(expected.get(1)).toBeGreaterThan(4);
    expect(expected.get(STEPS)).toBeLessThan(1.5);

    const stopped = await gang("broken", /"step": 30,/, (both) => both.forEach((group) => signal(group, "SIGTERM")));
    expect(stopped.exits.includes(0), stopped.errors).toBe(false);
    expect(stopped.told.at(-1), stopped.errors).toContain('"kind": "checkpoint"');

    // The worker that lost its peer fails. Its torchrun then waits up to five minutes for the other agent
    // (_exit_barrier in torch/distributed/elastic/agent/server/api.py) unless it is ended, as a control plane does.
    const killed = await gang("broken", /"step": 70,/, ([first, second], rank0) => {
      rank0.errorLines.on("line", (line: string) => /failed \(exitcode: 1\)/.test(line) && signal(first!, "SIGKILL"));
      signal(second!, "SIGKILL");
    });
    expect(killed.exits, killed.errors).toEqual(["SIGKILL", "SIGKILL"]);
    expect(killed.errors).toMatch(/failed \(exitcode: 1\) local_rank: 0/);
    const stoppedAfter = (JSON.parse(stopped.told.at(-1)!) as { step: number }).step;
    expect(killed.told.join("\n")).toContain(`starts after step ${stoppedAfter} on`);

    const last = await gang("broken", /(?!)/, () => {});
    expect(last.exits, last.errors).toEqual([0, 0]);
    expect([...losses("broken")].sort(([a], [b]) => a - b)).toEqual([...expected]);
  });
});
