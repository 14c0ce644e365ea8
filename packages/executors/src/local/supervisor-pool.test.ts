/**
 * Tests one supervisor for several attempts: nothing may carry over between them, and an unusual end prevents reuse.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { attemptId, workloadId } from "@headroom/model";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { AttemptFiles } from "../job-protocol/attempt-files.ts";
import { AttemptStore } from "../job-protocol/attempt-store.ts";
import { isAlive, readBootId } from "../processes/process-table.ts";
import type { ProcessIdentity } from "../processes/process-table.ts";
import { SupervisorPool } from "./supervisor-pool.ts";

let home: string;
let pool: SupervisorPool;
let count = 0;
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), "headroom-pool-"));
  pool = new SupervisorPool(path.join(home, "cache"));
});
afterEach(async () => {
  await pool.close(() => false);
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
});

/** A launch record of one worker, as the launcher writes it. */
function recorded(run: string): AttemptFiles {
  count += 1;
  const files = new AttemptStore(home, () => {}).filesOf(attemptId(`w${count}.1`));
  mkdirSync(files.workerDir(0), { recursive: true });
  mkdirSync(files.jobDir, { recursive: true });
  files.write("launch.json", {
    attemptId: attemptId(`w${count}.1`),
    workloadId: workloadId(`w${count}`),
    sequence: count,
    bootId: readBootId(),
    run,
    workingDir: files.jobDir,
    checkpointDir: files.jobDir,
    graceTimeoutMs: 10_000,
    log: { fileMaxBytes: 1_000_000, filesKept: 2 },
    environments: [{ PATH: process.env["PATH"] ?? "", HEADROOM_PROGRESS_FILE: files.progressFile }],
  });
  return files;
}

const assigned = (files: AttemptFiles): Promise<string> => new Promise((left) => pool.assign(files, left));

async function ran(run: string): Promise<AttemptFiles> {
  const files = recorded(run);
  await assigned(files);
  return files;
}

function supervisorOf(files: AttemptFiles): ProcessIdentity {
  const claim = files.read("claim.json");
  if (claim?.kind !== "supervised") throw new Error("no supervisor has claimed it");
  return claim.supervisor;
}

function stdoutOf(files: AttemptFiles): string {
  const directory = files.workerDir(0);
  const logs = readdirSync(directory).filter((name) => name.startsWith("stdout.log"));
  return logs.map((name) => readFileSync(path.join(directory, name), "utf8")).join("");
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

const isRunning = (files: AttemptFiles): boolean => files.has("running.json");

it("one supervisor takes one attempt after the other, and nothing of one is seen in the next", async () => {
  const first = await ran("echo one; pwd; exit 3");
  const second = await ran("echo two; pwd; ls");
  expect(supervisorOf(second)).toEqual(supervisorOf(first));
  expect([stdoutOf(first), stdoutOf(second)]).toEqual([`one\n${first.jobDir}\n`, `two\n${second.jobDir}\n`]);
  expect([first, second].map((files) => files.read("exit.json"))).toMatchObject([
    { kind: "exited", exits: [{ kind: "exited", worker: 0, code: 3 }] },
    { kind: "exited", exits: [{ kind: "exited", worker: 0, code: 0 }] },
  ]);
  expect([first, second].map((files) => existsSync(files.supervisorLog))).toEqual([false, true]);
  expect(readdirSync(second.workerDir(0)).filter((name) => name.startsWith("."))).toEqual([]);
});

it("two attempts at once have two supervisors, and both are used again", async () => {
  const waits = recorded("while [ ! -e go ]; do sleep 0.02; done");
  const waited = assigned(waits);
  const short = await ran("exit 0");
  mkdirSync(path.join(waits.jobDir, "go"));
  await waited;
  const next = [recorded("exit 0"), recorded("exit 0")];
  await Promise.all(next.map(assigned));
  const before = [waits, short].map((files) => supervisorOf(files).pid);
  expect(before[0]).not.toBe(before[1]);
  expect(new Set(next.map((files) => supervisorOf(files).pid))).toEqual(new Set(before));
});

it("a stop reaches the attempt that a supervisor holds now, and no earlier one", async () => {
  const first = await ran("exit 0");
  first.write("stop.json", { requestedAtMs: 0, graceTimeoutMs: 0, reason: "cancelled" });
  const second = recorded("trap 'exit 7' TERM; touch trapped; while :; do sleep 0.02; done");
  const left = assigned(second);
  await until(() => isRunning(second) && existsSync(path.join(second.jobDir, "trapped")));
  const supervisor = supervisorOf(second);
  expect(supervisor).toEqual(supervisorOf(first));
  process.kill(supervisor.pid, "SIGURG");
  second.write("stop.json", { requestedAtMs: 0, graceTimeoutMs: 60_000, reason: "cancelled" });
  process.kill(supervisor.pid, "SIGURG");
  await left;
  expect(second.read("exit.json")).toMatchObject({ kind: "exited", exits: [{ code: 7 }] });
});

it("one that dies is told with the attempt that it held, and what it said is found there", async () => {
  const first = await ran("exit 0");
  const second = recorded("exec sleep 600");
  const left = assigned(second);
  await until(() => isRunning(second));
  expect(supervisorOf(second)).toEqual(supervisorOf(first));
  process.kill(supervisorOf(second).pid, "SIGABRT");
  expect(await left).toBe("SIGABRT");
  expect([existsSync(first.supervisorLog), existsSync(second.supervisorLog)]).toEqual([false, true]);
  for (const { pid } of second.read("workers.json")?.workers ?? []) process.kill(pid, "SIGKILL");
  const third = await ran("exit 0");
  expect(supervisorOf(third)).not.toEqual(supervisorOf(first));
});

it("after an attempt that left somebody with its output, the next has a supervisor of its own", async () => {
  // The job waits until its child has a separate session and environment. From then on, the sweep at the end of the
  // attempt cannot recognise the child.
  const first = await ran(
    'setsid env -i sleep 600 & echo $! > pid; until [ "$(cat /proc/$!/comm)" = sleep ]; do sleep 0.01; done',
  );
  const stranger = Number(readFileSync(path.join(first.jobDir, "pid"), "utf8"));
  process.kill(stranger, "SIGKILL");
  const second = await ran("exit 0");
  expect(supervisorOf(second)).not.toEqual(supervisorOf(first));
});

it("an attempt whose directory was removed meanwhile takes its supervisor's log with it: the next has another one", async () => {
  const first = await ran("exit 0");
  const before = supervisorOf(first);
  rmSync(first.recordsDir, { recursive: true });
  const second = await ran("exit 0");
  expect(supervisorOf(second)).not.toEqual(before);
  await until(() => !isAlive(before));
});

it("idle ones end when the pool closes; the ones that work go on, and end with their attempt", async () => {
  const idle = supervisorOf(await ran("exit 0"));
  const other = new SupervisorPool(path.join(home, "cache"));
  const works = recorded("while [ ! -e go ]; do sleep 0.02; done");
  other.assign(works, () => {});
  await until(() => isRunning(works));
  await Promise.all([pool.close(() => false), other.close(() => false)]);
  expect([isAlive(idle), isAlive(supervisorOf(works))]).toEqual([false, true]);
  mkdirSync(path.join(works.jobDir, "go"));
  await until(() => !isAlive(supervisorOf(works)));
  expect(works.read("exit.json")).toMatchObject({ kind: "exited", exits: [{ code: 0 }] });
});
