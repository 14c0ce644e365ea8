/**
 * A control plane over a real cluster, with kills at random points: of the control plane or of `slurmctld`, one for each job. CI runs a
 * sample; all of them: `HEADROOM_SLURM_KILLS=100 npm run test:system -- packages/executors/src/slurm/kills`.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ControlPlaneProcess } from "../conformance/control-plane-process.ts";
import { drawsOf } from "../conformance/draws.ts";
import { slurmControlPlane } from "./testing/control-plane.ts";
import { SlurmCluster, whyNoCluster } from "./testing/slurm-cluster.ts";

const missing = whyNoCluster();
if (missing !== null) process.stderr.write(`*** Kills over Slurm were not tested: ${missing}\n`);

const killCount = Number(process.env["HEADROOM_SLURM_KILLS"] ?? 2);
const seed = Number(process.env["HEADROOM_SLURM_SEED"] ?? 1);
const PORT = 7_600 + (process.pid % 100);
/** A job that waits for the cluster to come back, and perhaps starts again. */
const JOB_TIMEOUT_MS = 120_000;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(missing !== null)("a control plane over a Slurm cluster", () => {
  let cluster: SlurmCluster;
  let plane: ControlPlaneProcess;
  let root: string;

  beforeAll(async () => {
    cluster = await SlurmCluster.start();
    root = mkdtempSync(path.join(tmpdir(), "headroom-kills-"));
    plane = slurmControlPlane(root, PORT, cluster);
    await plane.start();
    await plane.hasNodes(4);
  }, 180_000);

  afterAll(async () => {
    await plane.kill();
    await cluster.stop();
    rmSync(root, { recursive: true, force: true });
  }, 60_000);

  const submit = (name: string, workers: number, run: string): Promise<string> =>
    plane.submit({ kind: "train", name, run, gang: { workers, accelerators: 8 }, graceTimeoutMs: 5_000 });

  const marks = (name: string): readonly string[] => {
    const file = path.join(root, name);
    return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
  };

  it("adopts a gang on four nodes after a kill of the control plane", { timeout: 120_000 }, async () => {
    const go = path.join(root, "go");
    const id = await submit(
      "adopted",
      4,
      `echo $HEADROOM_ATTEMPT_ID $RANK >> ${root}/adopted; until [ -e ${go} ]; do sleep 0.1; done`,
    );
    await expect.poll(() => plane.phaseOf(id), { timeout: 60_000 }).toBe("running");
    await plane.kill();
    await plane.start();
    await expect.poll(() => plane.phaseOf(id), { timeout: 30_000 }).toBe("running");
    writeFileSync(go, "");
    expect(await plane.ended(id, JOB_TIMEOUT_MS)).toBe("succeeded");
    expect(marks("adopted").toSorted()).toEqual([0, 1, 2, 3].map((rank) => `${id}.1 ${rank}`));
  });

  it(
    "starts a gang again after the death of a supervisor, whose peers would wait for it",
    { timeout: 150_000 },
    async () => {
      const dead = path.join(root, "dead");
      const claim = `${root}/shared/attempts/$HEADROOM_ATTEMPT_ID,1/claim.json`;
      const supervisor = `$(grep -o '"pid":[0-9]*' ${claim} | cut -d: -f2)`;
      const waits = `touch ${dead}.0; exec sleep 60`;
      const kills = `until [ -e ${dead}.0 ]; do sleep 0.1; done; touch ${dead}; kill -KILL ${supervisor}; sleep 5`;
      const run = `[ -e ${dead} ] && exit; if [ $RANK = 0 ]; then ${waits}; else ${kills}; fi`;
      const id = await submit("bereaved", 2, run);
      expect(await plane.ended(id, JOB_TIMEOUT_MS)).toBe("succeeded");
      await cluster.resumeDrained();
    },
  );

  it("runs the tasks of an array in few jobs, also when either side is killed", { timeout: 150_000 }, async () => {
    const file = path.join(root, "array");
    const run = `echo start $HEADROOM_ATTEMPT_ID >> ${file}; sleep 0.3; echo end $HEADROOM_ATTEMPT_ID >> ${file}`;
    const ended = (): number => marks("array").filter((line) => line.startsWith("end")).length;
    const gang = { workers: 1, accelerators: 4 };
    const id = await plane.submit({ kind: "batch", name: "array", run, taskCount: 48, gang, graceTimeoutMs: 5_000 });
    await expect.poll(ended, { timeout: 60_000 }).toBeGreaterThan(8);
    await cluster.kill("slurmctld");
    // Jobs that wait take further tasks without the controller.
    const before = ended();
    await expect.poll(ended, { timeout: 30_000 }).toBeGreaterThan(before + 6);
    await cluster.startController();
    await plane.kill();
    await plane.start();
    expect(await plane.ended(id, JOB_TIMEOUT_MS)).toBe("succeeded");
    const lines = marks("array");
    expect(new Set(lines).size, lines.join(", ")).toBe(lines.length);
    // A job that Slurm forgets can end between the last line of a task and its record: only such a task runs again.
    const tasks = lines.filter((line) => line.startsWith("end")).map((line) => line.split(".")[1]);
    expect(new Set(tasks).size, lines.join(", ")).toBe(48);
    const again = lines.filter((line) => /^start \S+\.2$/.test(line)).length;
    expect(ended() - 48, lines.join(", ")).toBeLessThanOrEqual(again);
    const jobs = (await cluster.call("squeue", "--noheader", "--all", "--states=all", "--format=%j")).split("\n");
    expect(jobs.filter((name) => name.includes(`-${id}.`)).length).toBeLessThan(28);
  });

  it(
    `finishes every job with ${killCount} kills, one for each, and doubles none`,
    { timeout: killCount * 150_000 },
    async () => {
      const draw = drawsOf(seed);
      for (let kill = 1; kill <= killCount; kill++) {
        const [victim, atMs, downMs] = [draw() < 0.5 ? "control plane" : "slurmctld", draw() * 3_000, draw() * 1_500];
        const what = `kill ${kill} of seed ${seed}: ${victim} after ${Math.round(atMs)} ms, down for ${Math.round(downMs)} ms`;
        const file = path.join(root, `kill-${kill}`);
        const run = `echo start $HEADROOM_ATTEMPT_ID $RANK >> ${file}; sleep 1.5; echo end $HEADROOM_ATTEMPT_ID $RANK >> ${file}`;
        const id = await submit(`kill-${kill}`, 2, run);
        await pause(atMs);
        if (victim === "slurmctld") {
          await cluster.kill("slurmctld");
          await pause(downMs);
          await cluster.startController();
        } else {
          await plane.kill();
          await pause(downMs);
          await plane.start();
        }
        expect(await plane.ended(id, JOB_TIMEOUT_MS), what).toBe("succeeded");
        await cluster.resumeDrained();
        const lines = marks(`kill-${kill}`);
        expect(new Set(lines).size, `${what}: ${lines.join(", ")}`).toBe(lines.length);
        expect(lines.filter((line) => line.startsWith("end")).length, `${what}: ${lines.join(", ")}`).toBe(2);
      }
    },
  );
});
