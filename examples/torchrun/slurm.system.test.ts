/** The torchrun example over a real Slurm cluster of four nodes: a node dies, and the gang resumes from its checkpoint on others. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseYaml } from "../../packages/cli/src/documents/yaml-source.ts";
import type { ControlPlaneProcess } from "../../packages/executors/src/conformance/control-plane-process.ts";
import { slurmControlPlane } from "../../packages/executors/src/slurm/testing/control-plane.ts";
import { SlurmCluster, whyNoCluster } from "../../packages/executors/src/slurm/testing/slurm-cluster.ts";
import { isTurnOf } from "../../tools/testing/rotating.ts";

const shape = { nodes: 4, gpusPerNode: 4, cpusPerNode: 16, memoryMib: 64_000 };
const missing =
  whyNoCluster(shape) ??
  (spawnSync("torchrun", ["--help"]).status === 0
    ? null
    : "torchrun does not start (Debian: apt-get install python3-torch)");
if (missing !== null) process.stderr.write(`*** torchrun on Slurm was not tested: ${missing}\n`);

const PORT = 25_700 + (process.pid % 100);
const STEPS = 400;
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

    /** Kills the daemon of a node and all that runs on it, as a power cut does. */
    async function killNode(node: string, rank: number): Promise<void> {
      await cluster.kill(node);
      const marks = [
        `SLURMD_NODENAME=${node}`,
        `HEADROOM_PROGRESS_FILE=${root}/shared/work/w1.1,${rank}/progress.jsonl`,
      ];
      for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
        try {
          const environment = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
          if (environment.includes(`SLURM_CONF=${cluster.configurationFile}`) || environment.includes(marks[1] ?? ""))
            if (marks.some((mark) => environment.includes(mark))) process.kill(Number(pid), "SIGKILL");
        } catch {
          // It has ended, or is a process of the kernel.
        }
      }
    }

    it("resumes from its checkpoint on other nodes after the loss of one", { timeout: 300_000 }, async () => {
      const env = {
        OMP_NUM_THREADS: "1",
        CUDA_VISIBLE_DEVICES: "",
        TORCHRUN_CORPUS: path.join(root, "corpus"),
        TORCHRUN_STEPS: String(STEPS),
        TORCHRUN_SAVE_EVERY: "20",
        TORCHRUN_REPORT_EVERY: "20",
      };
      const gang = { workers: 2, accelerators: 3 };
      const retries = { max: 10, backoffMs: 1_000, backoffMaxMs: 2_000 };
      const id = await plane.submit({ kind: "train", name: "ddp", run, dir: import.meta.dirname, env, gang, retries });
      expect(id).toBe("w1");
      const progress = async (): Promise<string> => await plane.logs(id);
      await expect.poll(progress, { timeout: 90_000, interval: 500 }).toMatch(/kind\W+checkpoint/);
      const [, lost = ""] = await plane.nodesOf(id);
      await killNode(lost.slice("lab-".length), 1);
      expect(await plane.ended(id, 180_000), await plane.describe(id)).toBe("succeeded");
      expect(await plane.nodesOf(id)).not.toContain(lost);
      const starts = [...(await plane.logs(id)).matchAll(/starts after step (\d+)/g)].map(([, step]) => Number(step));
      expect(starts.at(-1)).toBeGreaterThanOrEqual(20);
    });
  },
);
