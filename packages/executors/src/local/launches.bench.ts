/**
 * Processor time of a launched attempt, without isolation and with it: one worker that exits at once, one attempt after the
 * other under one supervisor. Both executors take turns in one process, so that a busy machine affects both alike.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isolatedRoot } from "../processes/isolation/testing/isolated-root.ts";
import { ConformanceWorld } from "../conformance/conformance-world.ts";
import { createLocalExecutor } from "./local-executor.ts";

const ROUNDS = Number(process.argv[2] ?? 10);
const ATTEMPTS_PER_ROUND = 20;
const TICKS_PER_SECOND = 100;

/** Group of this process and of all that it starts, also in groups below it; `null`: none can be made. */
const ownGroup = enterGroup("/sys/fs/cgroup/cpuacct") ?? enterGroup("/sys/fs/cgroup/cpu,cpuacct");

function enterGroup(hierarchy: string): string | null {
  const group = path.join(hierarchy, `headroom-bench-${process.pid}`);
  try {
    mkdirSync(group);
    writeFileSync(path.join(group, "cgroup.procs"), String(process.pid));
    return group;
  } catch {
    return null;
  }
}

/** Processor time of the group, or of the whole machine: nobody waits for the processes of a sandbox and could count them. */
function cpuMsNow(): number {
  if (ownGroup !== null) return Number(readFileSync(path.join(ownGroup, "cpuacct.usage"), "utf8")) / 1_000_000;
  const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n", 1);
  const [, user = 0, nice = 0, system = 0] = line.split(/\s+/).map(Number);
  return ((user + nice + system) * 1_000) / TICKS_PER_SECOND;
}

type Mode = "none" | "bubblewrap";
const root = mkdtempSync(path.join(isolatedRoot(), "bench-"));
const modes: readonly Mode[] = ["none", "bubblewrap"];
const worlds = await Promise.all(
  modes.map(async (mode) => {
    const rootDir = path.join(root, mode);
    mkdirSync(rootDir);
    const world = await ConformanceWorld.create({
      id: "local",
      rootDir,
      open: (homeDir) => createLocalExecutor({ homeDir, accelerators: "declared", isolation: mode }),
    });
    return { mode, world, ...world.watched(), cpuMs: 0, wallMs: 0, launched: 0 };
  }),
);

for (let round = 0; round <= ROUNDS; round++) {
  for (const each of worlds) {
    const [cpuMs, wallMs] = [cpuMsNow(), performance.now()];
    for (let count = 0; count < ATTEMPTS_PER_ROUND; count++) {
      const launch = each.world.launch("exit 0");
      each.executor.perform(launch);
      await each.observer.end(launch.attemptId);
    }
    // The first round starts the supervisor and fills caches.
    if (round === 0) continue;
    each.cpuMs += cpuMsNow() - cpuMs;
    each.wallMs += performance.now() - wallMs;
    each.launched += ATTEMPTS_PER_ROUND;
  }
}
const round = (value: number): number => Math.round(value * 10) / 10;
for (const { mode, cpuMs, wallMs, launched } of worlds) {
  const figures = {
    isolation: mode,
    attempts: launched,
    cpuMsPerAttempt: round(cpuMs / launched),
    msPerAttempt: round(wallMs / launched),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}
await Promise.all(worlds.map(({ world }) => world.dispose()));
rmSync(root, { recursive: true, force: true });
