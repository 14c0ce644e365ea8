/** Runs the array on a separate Slurm cluster: releases the array, then waits for its last end. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { until } from "./child-processes.ts";
import { openCpuAccount } from "./cpu-account.ts";
import { ARRAY_TIMEOUT_MS, POLL_MS } from "./measurement.ts";
import type { ArrayRequest, Measurement } from "./measurement.ts";
import { SlurmCluster } from "./slurm-cluster.ts";
import type { SchedulerSetup } from "./slurm-cluster.ts";

const CLEAN_UP_TIMEOUT_MS = 120_000;

export const slurmSide = ({ name }: SchedulerSetup): string => `Slurm (${name})`;

/** An abort signal also stops all started processes. */
export async function measureSlurm(
  request: ArrayRequest,
  setup: SchedulerSetup,
  signal: AbortSignal,
): Promise<Measurement> {
  const directory = mkdtempSync(path.join(tmpdir(), "headroom-slurm-"));
  const account = openCpuAccount("headroom-slurm");
  const cluster = new SlurmCluster(directory, account);
  try {
    await cluster.start(request, setup);
    const script = path.join(directory, "job.sh");
    writeFileSync(script, `#!/bin/sh\n${request.command}\n`);
    chmodSync(script, 0o755);
    const array = await submitHeld(cluster, request, script);
    const loadBefore = loadavg()[0] ?? 0;
    const cpuBeforeMs = account.usedMs();
    const beganMs = performance.now();
    await cluster.call("scontrol", "release", array);
    while ((await completedCount(cluster)) < request.jobCount) {
      signal.throwIfAborted();
      if (performance.now() - beganMs > ARRAY_TIMEOUT_MS) throw new Error("the array does not come to its end");
      await delay(POLL_MS);
    }
    const elapsedMs = performance.now() - beganMs;
    const cpuAfterMs = account.usedMs();
    await verify(cluster, request.jobCount);
    const cpuMs = cpuBeforeMs === null || cpuAfterMs === null ? null : cpuAfterMs - cpuBeforeMs;
    return { side: slurmSide(setup), jobCount: request.jobCount, elapsedMs, cpuMs, loadBefore };
  } finally {
    await cluster.stop();
    account.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function submitHeld(cluster: SlurmCluster, { jobCount }: ArrayRequest, script: string): Promise<string> {
  const array = await cluster.call(
    "sbatch",
    "--parsable",
    "--hold",
    `--array=0-${jobCount - 1}`,
    "--ntasks=1",
    "--gres=gpu:1",
    "--output=/dev/null",
    `--chdir=${path.dirname(script)}`,
    script,
  );
  return array.trim();
}

/**
 * Number of completed jobs, as the controller counts them. The cost of this question does not depend on the number of
 * jobs.
 */
async function completedCount(cluster: SlurmCluster): Promise<number> {
  const text = await cluster.call("sdiag");
  return Number(/^Jobs completed:\s*(\d+)$/m.exec(text)?.[1] ?? 0);
}

/** A job counts as completed when its script has ended; Slurm's clean-up after that is not counted. */
async function verify(cluster: SlurmCluster, jobCount: number): Promise<void> {
  let states: string[] = [];
  await until("the end of cleaning up", CLEAN_UP_TIMEOUT_MS, async () => {
    const text = await cluster.call("squeue", "--noheader", "--states=all", "--array", "--format=%T");
    states = text.trim().split("\n");
    return !states.includes("COMPLETING");
  });
  const completedCount = states.filter((state) => state === "COMPLETED").length;
  if (completedCount !== jobCount) {
    throw new Error(`Slurm completed ${completedCount} of ${jobCount} jobs: ${[...new Set(states)].join()}`);
  }
}
