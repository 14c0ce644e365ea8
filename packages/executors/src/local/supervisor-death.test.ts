/** Tests killed supervisors, reboots and interrupted launches: no attempt may start twice. */
import { spawn } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import type { LaunchGang } from "@headroom/model";
import { StoreSet } from "@headroom/stores";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConformanceWorld, outputHas } from "../conformance/conformance-world.ts";
import { Observer } from "../conformance/observer.ts";
import type { AttemptFiles } from "../job-protocol/attempt-files.ts";
import type { LaunchRecord } from "../job-protocol/attempt-records.ts";
import { AttemptStore } from "../job-protocol/attempt-store.ts";
import { createLocalExecutor } from "./local-executor.ts";
import { identityOf, isAlive } from "../processes/process-table.ts";
import { findSurvivors } from "../processes/worker-processes.ts";

let world: ConformanceWorld;

beforeEach(async () => {
  world = await ConformanceWorld.create({
    id: "local",
    open: (homeDir) => createLocalExecutor({ homeDir, accelerators: "declared" }),
  });
});
afterEach(() => world.dispose());

const filesOf = ({ attemptId }: LaunchGang): AttemptFiles =>
  new AttemptStore(world.homeDir, () => {}).filesOf(attemptId);

function supervisorOf(launch: LaunchGang): number {
  const claim = filesOf(launch).read("claim.json");
  if (claim?.kind !== "supervised") throw new Error("no supervisor has claimed it");
  return claim.supervisor.pid;
}

/** The signal may not have taken effect when `kill` returns, so the test waits until the process is gone. */
async function killSupervisor(launch: LaunchGang): Promise<void> {
  const identity = identityOf(supervisorOf(launch));
  process.kill(supervisorOf(launch), "SIGKILL");
  while (identity !== null && isAlive(identity)) await new Promise((resolve) => setImmediate(resolve));
}

async function claimed(launch: LaunchGang): Promise<void> {
  while (!filesOf(launch).has("claim.json")) await new Promise((resolve) => setImmediate(resolve));
}

const survivors = (launch: LaunchGang): number =>
  findSurvivors(filesOf(launch).read("workers.json")?.workers ?? [], [filesOf(launch).environmentMark]).length;

/** Blocks the whole thread for this time, event loop included. */
function spin(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

describe("a supervisor killed with SIGKILL", () => {
  it("takes its workers with it before its attempt is called lost", async () => {
    const { executor, observer } = world.watched();
    const launch = world.launch("trap '' TERM HUP PIPE; setsid sleep 600 & echo ready; while :; do sleep 0.05; done", {
      workers: 2,
    });
    executor.perform(launch);
    for (const worker of [0, 1]) await outputHas(executor, launch.attemptId, "ready", worker);
    expect(survivors(launch)).toBeGreaterThanOrEqual(4);
    process.kill(supervisorOf(launch), "SIGKILL");
    const end = await observer.end(launch.attemptId);
    expect(survivors(launch)).toBe(0);
    expect(end).toMatchObject({ kind: "attemptLost", detail: expect.stringContaining("vanished") });
  });

  it("takes those with it who have joined meanwhile, and those who are leaving", async () => {
    const { executor, observer } = world.watched();
    const launch = world.launch("trap '' TERM; setsid sleep 600 & echo ready; while :; do sleep 0.05; done", {
      workers: 2,
    });
    executor.perform(launch);
    await outputHas(executor, launch.attemptId, "ready", 1);
    executor.perform(world.shrink(launch, 1, 600_000));
    while (filesOf(launch).read("workers.json")?.leaving === undefined)
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect(filesOf(launch).read("workers.json")?.workers).toHaveLength(1);
    expect(survivors(launch)).toBeGreaterThanOrEqual(4);
    process.kill(supervisorOf(launch), "SIGKILL");
    expect(await observer.end(launch.attemptId)).toMatchObject({ kind: "attemptLost" });
    expect(survivors(launch)).toBe(0);
    const grown = world.launch("setsid sleep 600 & echo ready; while :; do sleep 0.05; done");
    executor.perform(grown);
    executor.perform(world.grow(grown, 2, 1));
    await outputHas(executor, grown.attemptId, "ready", 1);
    process.kill(supervisorOf(grown), "SIGKILL");
    expect(await observer.end(grown.attemptId)).toMatchObject({ kind: "attemptLost" });
    expect(survivors(grown)).toBe(0);
  });

  it("is found by the next instance, which buries the attempt before it says so", async () => {
    const first = world.watched();
    const launch = world.launch("trap '' TERM; echo ready; while :; do sleep 0.05; done");
    first.executor.perform(launch);
    await outputHas(first.executor, launch.attemptId, "ready");
    await first.executor.close();
    await killSupervisor(launch);
    const second = world.open();
    const [known] = await second.attempts();
    expect(known).toMatchObject({ attemptId: launch.attemptId, sequence: launch.sequence, phase: { kind: "lost" } });
    expect(survivors(launch)).toBe(0);
    expect(await new Observer(second).end(launch.attemptId)).toMatchObject({ kind: "attemptLost" });
  });

  it("at any moment of a start leaves nothing running and starts nothing twice", async () => {
    const { executor, observer } = world.watched();
    let startedCount = 0;
    for (let step = 0; step < 16; step++) {
      const launch = world.launch(`echo started >> ${world.scratchDir}/$HEADROOM_ATTEMPT_ID; exec sleep 600`, {
        workers: 2,
      });
      executor.perform(launch);
      await claimed(launch);
      spin(step * 0.75);
      process.kill(supervisorOf(launch), "SIGKILL");
      const end = await observer.end(launch.attemptId);
      expect(end.kind).toBe("attemptLost");
      expect(survivors(launch)).toBe(0);
      executor.perform(launch);
      const marks = await world.marks(launch.attemptId);
      expect(marks.length).toBeLessThanOrEqual(2);
      startedCount += marks.length;
    }
    const witness = world.launch("exit 0");
    executor.perform(witness);
    await observer.exits(witness.attemptId);
    let finalCount = 0;
    for (const id of new Set(observer.inputs.flatMap((input) => ("attemptId" in input ? [input.attemptId] : [])))) {
      finalCount += (await world.marks(id)).length;
    }
    expect(finalCount).toBe(startedCount);
  });
});

describe("a launch that was interrupted", () => {
  it("by a restart of the machine is lost, and is not started again", async () => {
    const { executor, observer } = world.watched();
    const launch = world.launch(`echo started >> ${world.scratchDir}/marks; exec sleep 600`);
    executor.perform(launch);
    await observer.running(launch.attemptId);
    const record = filesOf(launch).read("launch.json");
    if (record === null) throw new Error("no launch record");
    await executor.close();
    await killSupervisor(launch);
    filesOf(launch).write("launch.json", { ...record, bootId: "of-another-boot" });
    const next = world.watched();
    next.executor.perform(launch);
    expect(await next.observer.end(launch.attemptId)).toMatchObject({
      kind: "attemptLost",
      detail: expect.stringContaining("restarted"),
    });
    expect(survivors(launch)).toBe(0);
  });

  it("before its supervisor came is still to be launched, and starts once when it is", async () => {
    const template = world.open();
    const launch = world.launch(`echo started >> ${world.scratchDir}/marks`);
    await interruptedBeforeClaim(launch);
    expect(await template.attempts()).toMatchObject([{ attemptId: launch.attemptId, phase: { kind: "launching" } }]);
    const observer = new Observer(template);
    template.perform(launch);
    await observer.exits(launch.attemptId);
    expect(await world.marks("marks")).toEqual(["started"]);
  });

  it("before its supervisor came is lost if the checkpoint from which it was to resume is gone", async () => {
    const stores = new StoreSet({ declarations: () => [], readSecret: () => "" });
    await world.dispose();
    world = await ConformanceWorld.create({
      id: "local",
      open: (homeDir) => createLocalExecutor({ homeDir, accelerators: "declared", stores }),
    });
    const { executor, observer } = world.watched();
    const checkpoint = path.join(world.homeDir, "checkpoints", "w1", "step-7");
    const launch = world.launch(`echo started >> ${world.scratchDir}/marks`);
    await interruptedBeforeClaim(launch, { HEADROOM_RESUME_CHECKPOINT: checkpoint, HEADROOM_RESUME_STEP: "7" });
    executor.perform({ ...launch, resume: { reported: { step: 7, path: checkpoint } } });
    expect(await observer.end(launch.attemptId)).toMatchObject({
      kind: "attemptLost",
      cause: "store",
      detail: expect.stringContaining("step-7 was removed or changed before the attempt started"),
    });
    expect(await world.marks("marks")).toEqual([]);
  });

  it("before its supervisor came and is stopped never starts, even if the supervisor comes late", async () => {
    const { executor, observer } = world.watched();
    const launch = world.launch(`echo started >> ${world.scratchDir}/marks`);
    await interruptedBeforeClaim(launch);
    executor.perform(world.stop(launch, 1_000));
    expect(await observer.end(launch.attemptId)).toMatchObject({ kind: "attemptLost" });
    const late = spawn(process.execPath, [path.join(import.meta.dirname, "supervisor.ts")], {
      stdio: ["pipe", "ignore", "ignore"],
    });
    late.stdin.end(`${JSON.stringify(filesOf(launch).key)}\n`);
    expect(await new Promise((resolve) => late.once("exit", resolve))).toBe(0);
    executor.perform(launch);
    const witness = world.launch("exit 0");
    executor.perform(witness);
    await observer.exits(witness.attemptId);
    expect(await world.marks("marks")).toEqual([]);
  });

  it("by a disk that takes no directory is lost, with the reason", async () => {
    const { executor, observer } = world.watched();
    const launch = world.launch("exit 0");
    // A file in the place of one attempt is put aside, so the fault is above all of them.
    const workRoot = path.join(world.homeDir, "work");
    await rm(workRoot, { recursive: true, force: true });
    await writeFile(workRoot, "in the way");
    executor.perform(launch);
    expect(await observer.end(launch.attemptId)).toMatchObject({
      kind: "attemptLost",
      detail: expect.stringMatching(/could not be launched/),
    });
    await rm(workRoot);
  });

  /**
   * The state in which a control plane leaves an attempt if it is killed between the launch record and the supervisor's
   * start.
   */
  async function interruptedBeforeClaim(launch: LaunchGang, more: Record<string, string> = {}): Promise<void> {
    const maker = await ConformanceWorld.create({
      id: "local",
      open: (homeDir) => createLocalExecutor({ homeDir, accelerators: "declared" }),
    });
    const { executor, observer } = maker.watched();
    executor.perform({ ...launch, spec: { ...launch.spec, run: "exit 0" } });
    await observer.exits(launch.attemptId);
    const made = new AttemptStore(maker.homeDir, () => {}).filesOf(launch.attemptId).read("launch.json");
    const files = filesOf(launch);
    await mkdir(files.workerDir(0), { recursive: true });
    await mkdir(files.jobDir, { recursive: true });
    const record = JSON.parse(JSON.stringify(made).replaceAll(maker.homeDir, world.homeDir)) as LaunchRecord;
    const environments = record.environments.map((each) => ({ ...each, ...more }));
    files.write("launch.json", { ...record, environments, run: launch.spec.run });
    await maker.dispose();
  }
});
