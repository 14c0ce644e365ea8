/**
 * Processor time of a launched attempt, without isolation and with it: one worker that exits at once, one attempt after the
 * other under one supervisor. Both executors take turns in one process, so that a busy machine affects both alike.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { isolatedRoot } from "./isolation/testing/isolated-root.ts";
import { ConformanceWorld } from "../conformance/conformance-world.ts";
import { createLocalExecutor } from "./local-executor.ts";

const ROUNDS = Number(process.argv[2] ?? 10);
const ATTEMPTS_PER_ROUND = 20;
const TICKS_PER_SECOND = 100;

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

/** Processor time of the whole machine: processes of a sandbox are not waited for by anyone who could count them. */
function machineCpuMs(): number {
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0] = readFileSync("/proc/stat", "utf8")
    .split("\n", 1)[0]!
    .split(/\s+/)
    .map(Number);
  return ((user + nice + system + irq + softIrq) * 1_000) / TICKS_PER_SECOND;
}

for (let round = 0; round <= ROUNDS; round++) {
  for (const each of worlds) {
    const [cpuMs, wallMs] = [machineCpuMs(), performance.now()];
    for (let count = 0; count < ATTEMPTS_PER_ROUND; count++) {
      const launch = each.world.launch("exit 0");
      each.executor.perform(launch);
      await each.observer.end(launch.attemptId);
    }
    // The first round starts the supervisor and fills caches.
    if (round === 0) continue;
    each.cpuMs += machineCpuMs() - cpuMs;
    each.wallMs += performance.now() - wallMs;
    each.launched += ATTEMPTS_PER_ROUND;
  }
}
const round = (value: number): number => Math.round(value * 10) / 10;
for (const { mode, cpuMs, wallMs, launched } of worlds) {
  const figures = {
    isolation: mode,
    attempts: launched,
    machineCpuMsPerAttempt: round(cpuMs / launched),
    msPerAttempt: round(wallMs / launched),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}
await Promise.all(worlds.map(({ world }) => world.dispose()));
rmSync(root, { recursive: true, force: true });
