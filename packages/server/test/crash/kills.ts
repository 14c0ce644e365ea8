/**
 * Kills a loaded control plane with SIGKILL, at each named point of its loop and at random, many times on one journal.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { draw } from "@headroom/model";
import { removeDirectory, temporaryDirectory } from "../../src/driver/testing/bench-home.ts";
import { faultPoints } from "../../src/faults/fault-points.ts";
import { checkHome } from "./check-home.ts";
import { ControlPlaneProcess, Ledger, markStart } from "./crash-client.ts";
import type { CrashOptions, Load } from "./crash-client.ts";

export interface KillPlan {
  readonly seed: number;
  readonly executor: "file" | "local";
  /** True: half of the workloads are elastic, and the local executor resizes them. */
  readonly resizes: boolean;
  readonly killCount: number;
  /**
   * Maximum number of times that the process passes a point before the kill. The number is drawn from 1 to this
   * maximum.
   */
  readonly countMax: number;
}

export interface KillReport {
  readonly seed: number;
  readonly executor: string;
  readonly kills: Readonly<Record<string, number>>;
  readonly acknowledgedCount: number;
  readonly startCount: number;
  /** Number of times that gangs grew; the next field: that they shrank. */
  readonly growthCount: number;
  readonly shrinkCount: number;
  readonly eventCount: number;
  readonly roundCount: number;
  readonly digestCount: number;
  readonly violations: readonly string[];
}

const RANDOM = "random";
/** Four of eleven kills are at random: at least 100 of the 300 in a run. */
const targets = [...faultPoints, RANDOM, RANDOM, RANDOM, RANDOM] as const;

function loadOf({ seed, executor, resizes }: KillPlan): Load {
  const common = { seed, inFlight: 12, env: {} };
  if (executor === "file") return { ...common, openMax: 40, run: "true", holdOneIn: 12, elasticOneIn: 0 };
  // The queue is short, so that gangs grow into idle capacity between two tasks and the next task reclaims it.
  if (resizes) return { ...common, inFlight: 2, openMax: 4, run: markStart, holdOneIn: 0, elasticOneIn: 2 };
  return { ...common, openMax: 16, run: markStart, holdOneIn: 0, elasticOneIn: 0 };
}

/** Tests one home: kills the control plane `killCount` times, restarts it each time, then finishes and checks. */
export async function runKills(plan: KillPlan): Promise<KillReport> {
  const { seed, executor, killCount } = plan;
  const home = temporaryDirectory();
  const ledger = new Ledger();
  const load = loadOf(plan);
  const kills: Record<string, number> = {};
  try {
    for (let life = 0; life < killCount; life++) {
      const at = await oneLife(plan, { home, ledger, load, life });
      kills[at] = (kills[at] ?? 0) + 1;
    }
    await finish(plan, { home, ledger, load });
    const names = new Map([...ledger.submitted].map(([key, id]) => [id, key]));
    const check = checkHome(home, { names, stopped: ledger.stopped });
    const { violations, lostAttemptCount, ...counts } = check;
    if (executor === "local" && lostAttemptCount > 0) {
      ledger.violations.push(
        `${lostAttemptCount} attempts were lost, although their supervisors outlive the control plane`,
      );
    }
    return {
      seed,
      executor,
      kills,
      acknowledgedCount: ledger.submitted.size + ledger.stopped.size,
      startCount: countLines(home),
      ...counts,
      violations: [...ledger.violations, ...violations],
    };
  } finally {
    removeDirectory(home);
  }
}

interface Scene {
  readonly home: string;
  readonly ledger: Ledger;
  readonly load: Load;
}

/** One run up to its kill. Returns the fault point of the kill. */
async function oneLife(
  plan: KillPlan,
  { home, ledger, load, life }: Scene & { readonly life: number },
): Promise<string> {
  const { seed, executor, countMax } = plan;
  const target = targets[(life + seed) % targets.length] ?? RANDOM;
  const count = 1 + (draw(seed, life, "count") % countMax);
  const delayMicros = target === "in-append" ? draw(seed, life, "delay") % 1500 : 0;
  const kill = target === RANDOM ? null : { point: target, count, delayMicros };
  const options: CrashOptions = { home, executor, synchronous: "full", marksPoints: false, kill };
  const process = new ControlPlaneProcess(options, ledger, load);
  if (target === RANDOM) {
    // Sometimes the kill comes before the control plane is ready, so that recovery is also interrupted.
    if (draw(seed, life, "early") % 4 === 0) setTimeout(() => process.kill(), draw(seed, life, "early-ms") % 150);
    else process.afterReplies(1 + (draw(seed, life, "replies") % (countMax * 2)), () => process.kill());
  }
  const isReady = await process.ready.then(
    () => true,
    () => false,
  );
  if (isReady) process.startLoad();
  const end = await process.end;
  process.stopLoad();
  if (end.signal !== "SIGKILL" || end.fatal !== null)
    throw new Error(`seed ${seed}, life ${life} ended by itself: ${JSON.stringify(end)}`);
  return end.killedAt ?? RANDOM;
}

async function finish({ executor }: KillPlan, { home, ledger, load }: Scene): Promise<void> {
  const process = new ControlPlaneProcess(
    { home, executor, synchronous: "full", marksPoints: false, kill: null },
    ledger,
    load,
  );
  await process.ready;
  process.retryUnanswered();
  await process.allEnded();
  process.close();
  const end = await process.end;
  if (end.code !== 0) throw new Error(`it did not close: ${JSON.stringify(end)}`);
}

function countLines(home: string): number {
  return readFileSync(path.join(home, "starts"), "utf8").trim().split("\n").length;
}
