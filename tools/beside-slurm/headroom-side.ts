/**
 * Runs the array on Headroom: `headroom up` with this machine declared as several nodes, and its HTTP API. The array is
 * submitted held and then released, as on Slurm.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createHttpClient } from "@headroom/protocol";
import type { HeadroomClient, Workload } from "@headroom/protocol";
import { assertRunning, endDaemons, startDaemon, until } from "./child-processes.ts";
import type { Daemon } from "./child-processes.ts";
import { openCpuAccount } from "./cpu-account.ts";
import { ARRAY_TIMEOUT_MS, POLL_MS } from "./measurement.ts";
import type { ArrayRequest, Measurement } from "./measurement.ts";

export const HEADROOM_SIDE = "Headroom";

const root = path.resolve(import.meta.dirname, "../..");
const START_TIMEOUT_MS = 60_000;

export async function measureHeadroom(request: ArrayRequest, signal: AbortSignal): Promise<Measurement> {
  const home = mkdtempSync(path.join(tmpdir(), "headroom-beside-"));
  const account = openCpuAccount("headroom-beside");
  const { nodeCount, slotsPerNode, jobCount } = request;
  const plane = startDaemon(
    {
      name: "headroom",
      command: [
        process.execPath,
        path.join(root, "packages/cli/src/main.ts"),
        "up",
        "--no-console",
        "--port=0",
        `--nodes=${nodeCount}`,
        `--slots=${slotsPerNode}`,
      ],
      env: { PATH: process.env["PATH"], HEADROOM_HOME: home },
      logFile: path.join(home, "up.log"),
    },
    account,
  );
  try {
    const client = await clientOf(plane, home);
    const { items: nodes } = await client.listNodes();
    if (nodes.length !== nodeCount) throw new Error(`Headroom has ${nodes.length} nodes instead of ${nodeCount}`);
    const workloadId = await submitHeld(client, request);
    const loadBefore = loadavg()[0] ?? 0;
    const cpuBeforeMs = account.usedMs();
    const beganMs = performance.now();
    await client.releaseWorkload(workloadId);
    let seen = await client.getWorkload(workloadId);
    while (seen.endedAtMs === null) {
      signal.throwIfAborted();
      if (performance.now() - beganMs > ARRAY_TIMEOUT_MS) throw new Error("the array does not come to its end");
      await delay(POLL_MS);
      seen = await client.getWorkload(workloadId);
    }
    const elapsedMs = performance.now() - beganMs;
    const cpuAfterMs = account.usedMs();
    verify(seen, jobCount);
    const cpuMs = cpuBeforeMs === null || cpuAfterMs === null ? null : cpuAfterMs - cpuBeforeMs;
    return { side: HEADROOM_SIDE, jobCount, elapsedMs, cpuMs, loadBefore };
  } finally {
    await endDaemons([plane]);
    // Idle supervisors end after the control plane, at different times.
    await until("the end of all processes", START_TIMEOUT_MS, () => isEmpty(account.procsFile));
    account.close();
    rmSync(home, { recursive: true, force: true });
  }
}

async function clientOf(plane: Daemon, home: string): Promise<HeadroomClient> {
  const serverFile = path.join(home, "server.json");
  await until("headroom up", START_TIMEOUT_MS, () => {
    assertRunning(plane);
    return existsSync(serverFile);
  });
  const { url } = JSON.parse(readFileSync(serverFile, "utf8")) as { readonly url: string };
  return createHttpClient({
    baseUrl: url,
    token: readFileSync(path.join(home, "token"), "utf8").trim(),
    fetch: (target, init) => fetch(target, init as RequestInit),
    newIdempotencyKey: () => crypto.randomUUID(),
  });
}

async function submitHeld(client: HeadroomClient, { jobCount, command }: ArrayRequest): Promise<string> {
  const { workloadId } = await client.submitWorkload({
    kind: "batch",
    name: "array",
    hold: true,
    run: command,
    taskCount: jobCount,
    gang: { accelerators: 1, coresMilli: 0 },
  });
  const { tasks } = await client.getWorkload(workloadId);
  if (tasks.waiting !== jobCount) throw new Error(`${tasks.waiting} of ${jobCount} tasks are held`);
  return workloadId;
}

function verify({ phase, tasks, endSentence }: Workload, jobCount: number): void {
  if (phase === "succeeded" && tasks.succeeded === jobCount) return;
  throw new Error(
    `Headroom: ${tasks.succeeded} of ${jobCount} tasks succeeded: ${phase}, ${endSentence ?? "no reason"}`,
  );
}

function isEmpty(procsFile: string | null): boolean {
  return procsFile === null || readFileSync(procsFile, "utf8") === "";
}
