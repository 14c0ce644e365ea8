/** Tests what users of Slurm do every day against a running control plane: batch scripts, lists, accounting, arrays. */
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";
import type { Said, Surroundings } from "../testing/recorded-terminal.ts";

let live: LiveControlPlane;

beforeAll(async () => {
  live = await startLive();
});
afterAll(() => live.close());

const headroom = (args: readonly string[], extra?: Partial<Surroundings>): Promise<Said> => live.headroom(args, extra);
const script = (name: string, ...lines: readonly string[]): void =>
  writeFileSync(path.join(live.folder, name), `${lines.join("\n")}\n`);
const fileOf = (name: string): string => readFileSync(path.join(live.folder, name), "utf8");

describe("a batch script", () => {
  it("runs once, with Slurm's variables, its output in its file, and steps on all workers", async () => {
    script(
      "steps.sbatch",
      "#!/bin/bash",
      "#SBATCH --job-name=steps --nodes=2 --ntasks-per-node=2 --cpus-per-task=1 --output=out/%x-%j.txt",
      'echo "script $SLURM_NTASKS $SLURM_NNODES $SLURM_CPUS_PER_TASK ${RANK-unset} $1"',
      `srun bash -c 'echo "task $SLURM_PROCID local $SLURM_LOCALID node $SLURM_NODEID" >"task-$SLURM_PROCID"'`,
      "srun false; echo code $?",
      "scontrol show hostnames | wc -l",
      "exit 7",
    );
    const said = await headroom(["run", "--cores", "0", "--follow", "steps.sbatch", "an argument"], {
      env: { FLAVOUR: "sweet", MY_TOKEN: "x" },
    });
    expect(said.code).toBe(1);
    expect(said.stdout).toBe("[0] The output of this job is in out/steps-1.txt\n");
    expect(said.stderr).toContain("environment: FLAVOUR; left out as secrets: MY_TOKEN.");
    expect(said.stderr).toContain("worker 0 exited with code 7");
    expect(fileOf("out/steps-1.txt")).toBe("script 4 2 1 unset an argument\ncode 1\n1\n");
    expect([0, 1, 2, 3].map((task) => fileOf(`task-${task}`))).toEqual([
      "task 0 local 0 node 0\n",
      "task 1 local 1 node 0\n",
      "task 2 local 0 node 1\n",
      "task 3 local 1 node 1\n",
    ]);
  });

  it("can be submitted twice under one name, as in Slurm", async () => {
    script("twice.sbatch", "#!/bin/sh", "#SBATCH -J twice --begin=now+1hour", "true");
    for (const _ of [1, 2])
      expect((await headroom(["run", "--json", "twice.sbatch"])).stdout).toContain('"name":"twice"');
  });
});

describe("an array", () => {
  it("has its indexes, and its tasks have the same numbers in logs and why", async () => {
    const said = await headroom([
      "run",
      "--name",
      "sweep",
      "--cores",
      "0",
      "--array",
      "10-30:10%1",
      "--follow",
      "--",
      "echo element $SLURM_ARRAY_TASK_ID",
    ]);
    expect(said.code).toBe(0);
    expect(await headroom(["logs", "sweep.0"])).toMatchObject({ stdout: "element 10\n", stderr: "" });
    expect(await headroom(["logs", "sweep.1"])).toMatchObject({ stdout: "element 20\n", stderr: "" });
    expect(await headroom(["logs", "sweep"])).toMatchObject({
      stdout: "element 30\n",
      stderr: "This is task 2 of 3 tasks. Kept are also tasks 0, 1: headroom logs sweep.N\n",
    });
    expect(await headroom(["logs", "sweep_1"])).toMatchObject({ stdout: "element 20\n", stderr: "" });
    const past = await headroom(["history", "sweep.1"]);
    expect(past.stdout).toContain("Task 1, attempt 1 started.");
    expect(past.stdout).not.toMatch(/Task [02]/);
    expect((await headroom(["why", "sweep.1"])).stdout).toMatch(/^sweep \(w\d+\), attempt w\d+\.1\.1:/);
    expect(await headroom(["logs", "sweep.3"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("there is no task 3"),
    });
  });
});

describe("lists", () => {
  it("filter by user, phase, node and time, and print chosen fields", async () => {
    await headroom(["run", "--name", "quick-failure", "--cores", "0", "--follow", "--", "exit 4"], {
      env: { HEADROOM_USER: "ada" },
    });
    const rows = async (...args: readonly string[]): Promise<readonly string[]> =>
      (await headroom(["list", "--csv", "--format", "name,user,phase,exit", ...args])).stdout
        .trimEnd()
        .split("\n")
        .slice(1);
    expect(await rows("--user", "ada")).toEqual(["quick-failure,ada,failed,4"]);
    expect(await rows("--mine", "--state", "F,CD")).toEqual(["sweep,tester,succeeded,0", "steps,tester,failed,7"]);
    expect(await rows("--phase", "failed", "--phase", "succeeded", "--node", "here")).toHaveLength(3);
    expect(await rows("--since", "today", "--search", "quick")).toHaveLength(1);
    expect(await rows("--since", "2100-01-01")).toEqual([]);
    expect((await headroom(["list", "--format", "name,colour"])).code).toBe(2);
    expect((await headroom(["list", "--phase", "asleep"])).code).toBe(2);
    expect(await headroom(["list", "--state", "asleep"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--state must be one of pending"),
    });
  });

  it("show ended work with run time, exit code, node and the sum", async () => {
    const said = await headroom(["history", "--since", "today", "--team", "default"]);
    expect(said.stdout).toMatch(/^ID +NAME +USER +PHASE +EXIT +NODES +ENDED +ELAPSED +ACCELERATOR-HOURS\n/);
    expect(said.stdout).toMatch(/quick-failure +ada +failed +4 +here +\d{4}-\S+ +\S+ +0\n/);
    expect(said.stderr).toMatch(/^3 workloads, \S+ of run time, 0 accelerator-hours\.\n$/);
    const { items } = JSON.parse((await headroom(["history", "--json", "--state", "failed"])).stdout) as {
      items: object[];
    };
    expect(items).toHaveLength(2);
    expect((await headroom(["history", "--state", "running"])).code).toBe(2);
  });
});

describe("a command that fails within seconds of its first start", () => {
  it("is not retried, unless the user states retries", async () => {
    const attempts = async (name: string): Promise<number> =>
      (JSON.parse((await headroom(["show", name, "--json"])).stdout) as { attempts: object[] }).attempts.length;
    expect(await attempts("quick-failure")).toBe(1);
    await headroom(["run", "--name", "stubborn", "--cores", "0", "--retries", "1", "--follow", "--", "exit 4"]);
    expect(await attempts("stubborn")).toBe(2);
  });
});

describe("stop --all", () => {
  it("stops what the filters choose, and asks before it stops the work of others", async () => {
    const refused = await headroom(["stop", "--all", "--phase", "pending"], { env: { HEADROOM_USER: "ada" } });
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("workloads of other users; add --yes or --mine"),
    });
    const said = await headroom(["stop", "--all", "--mine"]);
    expect(said.stdout.trimEnd().split("\n")).toHaveLength(2);
    expect(said.stdout).toMatch(/^stopping twice/);
    expect((await headroom(["stop"])).code).toBe(2);
    expect((await headroom(["stop", "--all", "--mine"])).stderr).toBe("No unfinished workload matches.\n");
  });
});

describe("one task of an array", () => {
  it("is stopped while the others continue, and is not tried again", async () => {
    const task = "test $SLURM_ARRAY_TASK_ID = 0 || exit 0; exec sleep 600";
    await headroom(["run", "--name", "partly", "--array", "0-3%1", "--retries", "5", "--", task]);
    const stopped = await headroom(["stop", "partly.2", "partly.0"]);
    expect(stopped).toMatchObject({ code: 0, stdout: expect.stringMatching(/stopping task 2 of partly \(w\d+\)\n/) });
    const followed = await headroom(["logs", "-f", "partly"]);
    expect(followed.code).toBe(0);
    const shown = await headroom(["show", "partly", "--json"]);
    expect(JSON.parse(shown.stdout)).toMatchObject({ phase: "failed", tasks: { succeeded: 2, failed: 2 } });
    expect((await headroom(["history", "partly"])).stdout).toContain("tester stopped its task 2.");
    expect(await headroom(["stop", "partly.7"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("there is no task 7"),
    });
  });
});

describe("an array of which one task fails", () => {
  it("has the exit code of that task, whichever ends last", async () => {
    await headroom([
      "run",
      "--name",
      "mixed",
      "--cores",
      "0",
      "--array",
      "0-1%1",
      "--retries",
      "0",
      "--follow",
      "--",
      "exit $((3 - 3 * SLURM_ARRAY_TASK_ID))",
    ]);
    const said = await headroom(["list", "--search", "mixed", "--csv", "--format", "name,phase,exit"]);
    expect(said.stdout).toContain("mixed,failed,3\n");
  });
});

describe("a manifest of Kubernetes", () => {
  it("runs as a Job does: its pods with their index, as often as it is allowed to fail", async () => {
    writeFileSync(
      path.join(live.folder, "job.yaml"),
      JSON.stringify({
        apiVersion: "batch/v1",
        kind: "Job",
        metadata: { name: "indexed" },
        spec: {
          completions: 2,
          parallelism: 2,
          completionMode: "Indexed",
          backoffLimit: 0,
          template: {
            spec: {
              containers: [
                {
                  command: ["sh", "-c"],
                  args: ['echo "$GREETING $JOB_COMPLETION_INDEX"; exit $JOB_COMPLETION_INDEX'],
                  env: [{ name: "GREETING", value: "pod" }],
                  resources: { requests: { cpu: "0" } },
                },
              ],
            },
          },
        },
      }),
    );
    const said = await headroom(["run", "--follow", "job.yaml"]);
    expect(said.code).toBe(1);
    expect((await headroom(["logs", "indexed.0"])).stdout).toBe("pod 0\n");
    expect((await headroom(["logs", "indexed.1"])).stdout).toBe("pod 1\n");
    const listed = await headroom(["list", "--search", "indexed", "--csv", "--format", "name,phase,exit"]);
    expect(listed.stdout).toContain("indexed,failed,1\n");
  });
});

/** Hydra starts the ranks, and the program of the example calls MPICH through Python. */
const hasMpich = existsSync("/usr/bin/mpiexec.hydra") && existsSync("/usr/bin/python3");
if (!hasMpich) console.warn("SKIPPED: MPI programs were not tested: MPICH is not installed (Debian: mpich, python3)");

describe.skipIf(!hasMpich)("an MPI program", () => {
  const example = path.resolve(import.meta.dirname, "../../../../examples/mpi");
  const rankLines = (text: string): readonly string[] => (text.match(/rank \d of \d/g) ?? []).toSorted();

  it("runs over the workers of a gang by srun --mpi=pmi2, and its exit code is that of srun", async () => {
    cpSync(example, live.folder, { recursive: true });
    script(
      "mpi.sbatch",
      "#!/bin/bash",
      "#SBATCH --job-name=ranks --nodes=2 --ntasks-per-node=1",
      "srun --mpi=pmi2 python3 allreduce.py",
      'echo "first $?"',
      "srun --mpi=pmi2 sh -c 'exit 4'",
      'echo "second $?"',
      "srun --mpi=pmix true",
      'echo "third $?"',
    );
    const said = await headroom(["run", "--cores", "0", "--follow", "mpi.sbatch"]);
    expect(said.code, said.stdout + said.stderr).toBe(0);
    expect(rankLines(said.stdout)).toEqual(["rank 0 of 2", "rank 1 of 2"]);
    expect(said.stdout).toMatch(/first 0[^]*second 4[^]*third 1/);
    expect(said.stdout + said.stderr).toContain("srun: --mpi=pmix is not supported by Headroom");
  });

  it("runs over the workers of a gang by mpi-gang.py of the example", async () => {
    const run = /^run: (.*)$/m.exec(fileOf("allreduce.yaml"))?.[1] ?? "";
    const said = await headroom([
      "run",
      "--name",
      "gang-ranks",
      "--workers",
      "2",
      "--cores",
      "0",
      "--follow",
      "--",
      run,
    ]);
    expect(said.code, said.stdout + said.stderr).toBe(0);
    expect(rankLines(said.stdout)).toEqual(["rank 0 of 2", "rank 1 of 2"]);
  });
});

describe("a command that is followed", () => {
  it("ends with a message when the control plane stops", async () => {
    const own = await startLive();
    const following = own.headroom(["run", "--cores", "0", "--follow", "--", "echo up; sleep 5"]);
    const phases = async (): Promise<string> => (await own.headroom(["list", "--csv", "--format", "phase"])).stdout;
    await expect.poll(phases, { timeout: 20_000 }).toContain("running");
    await own.close();
    const said = await following;
    expect(said.code).toBe(1);
    expect(said.stderr).toMatch(/does not answer|shutting down|no control plane/);
  });
});
