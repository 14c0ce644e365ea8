/**
 * The torchrun example over a real Slurm cluster of four nodes: a node dies, and the gang resumes from its checkpoint on others; the control
 * plane or `slurmctld` dies at a random point, once for each job. CI runs a rotating sample of these kills; a part of all 100:
 * `HEADROOM_SLICE=2 HEADROOM_DDP_KILLS=1-25 npm run test:system -- torchrun/slurm`.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseYaml } from "../../packages/cli/src/documents/yaml-source.ts";
import type { ControlPlaneProcess } from "../../packages/executors/src/conformance/control-plane-process.ts";
import { drawsOf } from "../../packages/executors/src/conformance/draws.ts";
import { slurmControlPlane } from "../../packages/executors/src/slurm/testing/control-plane.ts";
import { SlurmCluster, whyNoCluster } from "../../packages/executors/src/slurm/testing/slurm-cluster.ts";
import { isTurnOf, sliceOf } from "../../tools/testing/rotating.ts";

const shape = { nodes: 4, gpusPerNode: 4, cpusPerNode: 16, memoryMib: 64_000 };
const missing =
  whyNoCluster(shape) ??
  (spawnSync("torchrun", ["--help"]).status === 0
    ? null
    : "torchrun does not start (Debian: apt-get install python3-torch)");
if (missing !== null) process.stderr.write(`*** torchrun on Slurm was not tested: ${missing}\n`);

const PORT = 25_700 + (process.pid % 100);
const STEPS = 400;
/** A prime: every kill has its turn, though this file runs only with each sixth commit (tools/testing/rotating.ts). */
const KILLS = 101;
/** Steps of a job that loses its control plane or `slurmctld`, and the time in ms in which that happens: before, in or after its training. */
const SHORT_STEPS = 60;
const KILL_WITHIN_MS = 12_000;
const DOWN_MAX_MS = 3_000;
const [firstKill, lastKill = firstKill] = (process.env["HEADROOM_DDP_KILLS"] ?? "").split("-").map(Number);
const kills =
  firstKill !== undefined && lastKill !== undefined && firstKill > 0
    ? Array.from({ length: lastKill - firstKill + 1 }, (_, index) => firstKill + index)
    : sliceOf({ size: KILLS, suiteParts: KILLS }).seeds;
const declared = parseYaml(readFileSync(path.join(import.meta.dirname, "train.yaml"), "utf8")).documents[0]!;
const { run } = declared.value as { readonly run: string };

describe.skipIf(missing !== null || !isTurnOf("torchrun on Slurm"))(
  "the torchrun example on four nodes of Slurm",
  () => {
    let cluster: SlurmCluster;
    let plane: ControlPlaneProcess;
    let root: string;

    beforeAll(async () => {
      cluster = await SlurmCluster.start(shape);
      root = mkdtempSync(path.join(tmpdir(), "headroom-torchrun-slurm-"));
      mkdirSync(path.join(root, "corpus"));
      writeFileSync(path.join(root, "corpus", "a.md"), "the quick brown fox jumps over the lazy dog\n".repeat(200));
      plane = slurmControlPlane(root, PORT, cluster);
      await plane.start();
      await plane.hasNodes(shape.nodes);
    }, 180_000);

    afterAll(async () => {
      await plane?.kill();
      await cluster?.stop();
      rmSync(root, { recursive: true, force: true });
    }, 60_000);

    const submit = (name: string, command: string, steps: number): Promise<string> => {
      const env = {
        OMP_NUM_THREADS: "1",
        CUDA_VISIBLE_DEVICES: "",
        TORCHRUN_CORPUS: path.join(root, "corpus"),
        TORCHRUN_STEPS: String(steps),
        TORCHRUN_SAVE_EVERY: "20",
        TORCHRUN_REPORT_EVERY: "20",
      };
      const gang = { workers: 2, accelerators: 3 };
      const retries = { max: 10, backoffMs: 1_000, backoffMaxMs: 2_000 };
      return plane.submit({ kind: "train", name, run: command, dir: import.meta.dirname, env, gang, retries });
    };

    it("resumes from its checkpoint on other nodes after the loss of one", { timeout: 300_000 }, async () => {
      const id = await submit("ddp", run, STEPS);
      expect(id).toBe("w1");
      const progress = async (): Promise<string> => await plane.logs(id);
      await expect.poll(progress, { timeout: 90_000, interval: 500 }).toMatch(/kind\W+checkpoint/);
      const [, lost = ""] = await plane.nodesOf(id);
      const node = lost.slice("lab-".length);
      const attempt = `${id}.${await plane.attemptCountOf(id)}`;
      await cluster.crashNode(node, `HEADROOM_PROGRESS_FILE=${root}/shared/work/${attempt},1/progress.jsonl`);
      expect(await plane.ended(id, 180_000), await plane.describe(id)).toBe("succeeded");
      expect(await plane.nodesOf(id)).not.toContain(lost);
      const starts = [...(await plane.logs(id)).matchAll(/starts after step (\d+)/g)].map(([, step]) => Number(step));
      expect(starts.at(-1)).toBeGreaterThanOrEqual(20);
      cluster.startNode(node);
    });

    it.for(kills)("finishes the job of kill %d once", { timeout: 300_000 }, async (kill) => {
      const draw = drawsOf(kill);
      const victim = draw() < 0.5 ? "control plane" : "slurmctld";
      const [atMs, downMs] = [draw() * KILL_WITHIN_MS, draw() * DOWN_MAX_MS];
      const what = `kill ${kill}: ${victim} after ${Math.round(atMs)} ms, down for ${Math.round(downMs)} ms`;
      const file = path.join(root, `kill-${kill}`);
      const mark = (word: string): string => `echo ${word} $HEADROOM_ATTEMPT_ID $RANK >> ${file}`;
      const id = await submit(
        `kill-${kill}`,
        `${mark("start")}; ${run.replace(/^exec /, "")} && ${mark("end")}`,
        SHORT_STEPS,
      );
      await delay(atMs);
      if (victim === "slurmctld") {
        await cluster.kill("slurmctld");
        await delay(downMs);
        await cluster.startController();
      } else {
        await plane.kill();
        await delay(downMs);
        await plane.start();
      }
      expect(await plane.ended(id, 200_000), `${what}: ${await plane.describe(id)}`).toBe("succeeded");
      await cluster.resumeDrained();
      const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
      expect(new Set(lines).size, `${what}: ${lines.join(", ")}`).toBe(lines.length);
      const ends = lines.filter((line) => line.startsWith("end"));
      expect(new Set(ends.map((line) => line.split(" ")[2])), `${what}: ${lines.join(", ")}`).toEqual(
        new Set(["0", "1"]),
      );
      expect(await plane.logs(id), what).toMatch(new RegExp(`step\\W+${SHORT_STEPS}\\b`));
    });
  },
);
