/**
 * Gangs on two nodes of a real Slurm cluster: their inputs in declared stores are brought to the shared directory before the job is
 * submitted, their outputs and checkpoints are uploaded, and an MPI program runs over them.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isTurnOf } from "../../../../tools/testing/rotating.ts";
import type { ControlPlaneProcess } from "../conformance/control-plane-process.ts";
import { slurmControlPlane } from "./testing/control-plane.ts";
import { SlurmCluster, whyNoCluster } from "./testing/slurm-cluster.ts";

const shape = { nodes: 2, gpusPerNode: 4, cpusPerNode: 16, memoryMib: 64_000 };
const missing = whyNoCluster(shape);
if (missing !== null) process.stderr.write(`*** Staging on Slurm was not tested: ${missing}\n`);

const PORT = 24_100 + (process.pid % 100);

const hasMpich = existsSync("/usr/bin/mpiexec.hydra") && existsSync("/usr/bin/python3");
if (!hasMpich) process.stderr.write("*** MPI on Slurm was not tested: MPICH is not installed; Debian: mpich python3\n");
const headroom = path.resolve(import.meta.dirname, "../../../cli/src/main.ts");
const mpiExample = path.resolve(import.meta.dirname, "../../../../examples/mpi");

describe.skipIf(missing !== null || !isTurnOf("staging on Slurm"))("gangs on two nodes of a Slurm cluster", () => {
  let cluster: SlurmCluster;
  let plane: ControlPlaneProcess;
  let root: string;
  let lake: string;

  beforeAll(async () => {
    cluster = await SlurmCluster.start(shape);
    root = mkdtempSync(path.join(tmpdir(), "headroom-slurm-staging-"));
    lake = path.join(root, "lake");
    mkdirSync(path.join(lake, "corpus", "part"), { recursive: true });
    writeFileSync(path.join(lake, "corpus", "a.txt"), "alpha\n");
    writeFileSync(path.join(lake, "corpus", "part", "b.txt"), "beta\n");
    plane = slurmControlPlane(root, PORT, cluster);
    const store = {
      kind: "store",
      name: "lake",
      type: "shared",
      path: lake,
      cached: true,
      readers: ["*"],
      writers: ["*"],
    };
    writeFileSync(path.join(plane.home, "stores.yaml"), JSON.stringify(store), { mode: 0o600 });
    await plane.start();
    await plane.hasNodes(2);
  }, 180_000);

  afterAll(async () => {
    await plane.kill();
    await cluster.stop();
    rmSync(root, { recursive: true, force: true });
  }, 60_000);

  const entries = (): readonly string[] => readdirSync(path.join(root, "shared", "cache", "inputs", "entries"));
  const train = (input: string) => ({
    kind: "train",
    name: "reader",
    run: 'cat "$HEADROOM_INPUT_0/a.txt" "$HEADROOM_INPUT_0/part/b.txt"; echo "at $HEADROOM_INPUT_0"',
    retries: { max: 0 },
    gang: { workers: 2, accelerators: 3 },
    data: { inputs: [`file://${lake}/${input}`] },
  });

  it("read inputs once for all workers and attempts", { timeout: 120_000 }, async () => {
    for (const _ of ["first", "second"]) {
      const id = await plane.submit(train("corpus"));
      expect(await plane.ended(id, 60_000)).toBe("succeeded");
      const logs = await plane.logs(id);
      expect(logs.match(/alpha/g)?.length).toBe(2);
      expect(logs.match(/beta/g)?.length).toBe(2);
      expect(logs).toContain(`at ${root}/shared/cache/inputs/entries/`);
    }
    expect(entries()).toHaveLength(1);
  });

  it.each([
    ["directories of the executor", "own", false],
    ["directories that the work names in uploadsFrom", "named", true],
  ])(
    "make outputs that are in the store before their end, and checkpoints that are copied there: %s",
    { timeout: 120_000 },
    async (_, name, isNamed) => {
      const report = (line: object): string => `echo '${JSON.stringify(line)}' >> "$HEADROOM_PROGRESS_FILE"`;
      const home = path.join(root, "home", "a");
      mkdirSync(home, { recursive: true });
      const id = await plane.submit({
        kind: "train",
        name,
        run: [
          'mkdir -p out && printf weights > out/model && printf state > "$HEADROOM_CHECKPOINT_DIR/step-1"',
          report({ kind: "checkpoint", step: 1, path: "step-1" }),
          report({ kind: "artifact", name: `model:${name}`, path: "out" }),
        ].join("\n"),
        retries: { max: 0 },
        gang: { workers: 1, accelerators: 1 },
        produces: [`model:${name}`],
        data: { store: "lake" },
        checkpointStore: "lake",
        ...(isNamed ? { dir: home, checkpointDir: path.join(home, "steps") } : {}),
      });
      expect(await plane.ended(id, 60_000)).toBe("succeeded");
      expect(existsSync(path.join(home, "out", "model"))).toBe(isNamed);
      const versions = path.join(lake, "artifacts", "model", "default", name);
      const [digest = ""] = readdirSync(versions);
      expect(readFileSync(path.join(versions, digest, "model"), "utf8")).toBe("weights");
      const copies = path.join(lake, "artifacts", "checkpoint", "default", name);
      const copied = (): number => (existsSync(copies) ? readdirSync(copies).length : 0);
      await expect.poll(copied, { timeout: 20_000 }).toBe(1);
    },
  );

  it("wait where they would upload from another directory, with what to do", { timeout: 60_000 }, async () => {
    const id = await plane.submit({
      kind: "train",
      name: "elsewhere",
      run: "true",
      dir: root,
      gang: { workers: 1, accelerators: 1 },
      produces: ["model:elsewhere"],
      data: { store: "lake" },
    });
    await expect
      .poll(() => plane.why(id), { timeout: 20_000 })
      .toContain(`produces from ${root} (local). Leave out checkpoint.dir, and write dir: own`);
  });

  it("fail before a job exists if an input is missing", { timeout: 60_000 }, async () => {
    const id = await plane.submit(train("nothing"));
    expect(await plane.ended(id, 30_000)).toBe("failed");
    expect(entries()).toHaveLength(1);
  });

  const rankLines = (text: string): readonly string[] => (text.match(/rank \d of \d/g) ?? []).toSorted();
  const twoRanks = ["rank 0 of 2", "rank 1 of 2"];

  it.skipIf(!hasMpich)("run an MPI program by mpi-gang.py of the example", { timeout: 120_000 }, async () => {
    const run = "exec python3 mpi-gang.py python3 allreduce.py";
    const gang = { workers: 2, accelerators: 3 };
    const id = await plane.submit({ kind: "train", name: "ranks", run, dir: mpiExample, retries: { max: 0 }, gang });
    expect(await plane.ended(id, 60_000), await plane.logs(id)).toBe("succeeded");
    expect(new Set(await plane.nodesOf(id)).size).toBe(2);
    expect(rankLines(await plane.logs(id))).toEqual(twoRanks);
  });

  it.skipIf(!hasMpich)("run an MPI program by srun --mpi=pmi2 in a batch script", { timeout: 120_000 }, async () => {
    const script = path.join(root, "mpi.sbatch");
    const lines = [
      "#!/bin/bash",
      "#SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:3",
      `srun --mpi=pmi2 python3 ${mpiExample}/allreduce.py`,
    ];
    writeFileSync(script, `${lines.join("\n")}\n`);
    const env = { ...process.env, HEADROOM_HOME: plane.home };
    const args = [headroom, "run", "--env", "none", "--follow", script];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env });
    expect(rankLines(stdout)).toEqual(twoRanks);
  });
});
