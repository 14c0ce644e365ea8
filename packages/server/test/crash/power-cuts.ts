/**
 * Simulates power cuts. A loaded control plane is recorded at the level of system calls through several runs on one
 * journal. Then, for many instants of the recording, the files are rebuilt as a power cut could have left them, and a
 * new control plane must start from them.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { draw } from "@headroom/model";
import type { Reply } from "@headroom/model";
import { createLocalExecutor } from "@headroom/executors";
import { openHome, registerFleet, removeDirectory, temporaryDirectory } from "../../src/driver/testing/bench-home.ts";
import { submit, testSpec } from "../../src/driver/testing/requests.ts";
import type { FaultPoint } from "../../src/faults/fault-points.ts";
import { checkHome, lostOf } from "./check-home.ts";
import type { Acknowledged } from "./check-home.ts";
import { ControlPlaneProcess, Ledger, markStart } from "./crash-client.ts";
import type { CrashOptions, Load } from "./crash-client.ts";
import type { ControlPlaneLine } from "./messages.ts";
import { losesAll, losesNothing, RecordedDisk } from "./recorded-disk.ts";
import type { Fate } from "./recorded-disk.ts";
import { parseTrace, tracedCalls } from "./system-calls.ts";
import type { SystemCall } from "./system-calls.ts";
import { settleUnreturned } from "./unreturned-calls.ts";

export interface Recording {
  readonly seed: number;
  readonly executor: "file" | "local";
  /** Path of the recorded home. */
  readonly home: string;
  readonly calls: readonly SystemCall[];
  readonly disk: RecordedDisk;
  /** Idempotency key by workload id. The key is also the workload's name. */
  readonly names: ReadonlyMap<string, string>;
  /** Line of the trace at which the last run begins. */
  readonly lastLifeAt: number;
}

export interface RecordingPlan {
  readonly seed: number;
  readonly executor: "file" | "local";
  /** Number of runs whose syncs are dropped; the other runs sync everything. */
  readonly unsyncedLives: number;
  /** Points at which the runs before the last one are killed. */
  readonly killPoints: readonly FaultPoint[];
}

/** Two runs end in a kill, so that recovery overwrites what they left; the third ends cleanly. */
export const twoKills: readonly FaultPoint[] = ["in-append", "after-append-before-reply"];

interface Scale {
  readonly load: Omit<Load, "seed">;
  /** Minimum number of times that the process passes the kill point before the kill; the next field: maximum. */
  readonly countMin: number;
  readonly countMax: number;
  /** Number of replies before the last run is closed. */
  readonly lastReplies: number;
}

const scales: Readonly<Record<"file" | "local", Scale>> = {
  file: {
    load: { inFlight: 24, openMax: 120, run: "true", env: {}, holdOneIn: 20, elasticOneIn: 0 },
    countMin: 20,
    countMax: 60,
    lastReplies: 150,
  },
  // Supervisors and workers are recorded too, which makes them slow.
  local: {
    load: { inFlight: 12, openMax: 12, run: markStart, env: {}, holdOneIn: 0, elasticOneIn: 0 },
    countMin: 8,
    countMax: 20,
    lastReplies: 25,
  },
};

/** Maximum number of attempts to record a run. A recording that does not reproduce the files of its run is useless. */
const RECORDINGS_MAX = 3;

/** Runs the control plane under strace and reads its changes to the home. */
export async function record(plan: RecordingPlan): Promise<Recording> {
  for (let count = 1; ; count++) {
    try {
      return await recordOnce(plan);
    } catch (error) {
      if (!(error instanceof UnfaithfulRecording) || count >= RECORDINGS_MAX) throw error;
      process.stderr.write(`recorded again: ${error.message}\n`);
    }
  }
}

/**
 * The error that the recorded calls do not lead to the files that the run left: the recording missed a call or
 * misplaced one.
 */
class UnfaithfulRecording extends Error {}

/** Compares the journal that results from the recorded calls with the journal that the killed or closed run left. */
function checkRecording(home: string, calls: readonly SystemCall[]): void {
  const rebuilt = mkdtempSync(path.join(memoryDirectory, "headroom-recorded-"));
  try {
    new RecordedDisk(home, calls).rebuild(Number.MAX_SAFE_INTEGER, losesNothing, rebuilt);
    for (const name of ["journal.db", "journal.db-wal"]) {
      const [found, expected] = [rebuilt, home].map((root) => {
        const file = path.join(root, "journal", name);
        return existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
      }) as [Buffer, Buffer];
      if (found.equals(expected)) continue;
      const at = expected.findIndex((byte, index) => found[index] !== byte);
      throw new UnfaithfulRecording(
        `the recording gives ${name} ${found.length} bytes, the run left ${expected.length}; they differ from byte ${at}`,
      );
    }
  } finally {
    removeDirectory(rebuilt);
  }
}

async function recordOnce({ seed, executor, unsyncedLives, killPoints }: RecordingPlan): Promise<Recording> {
  const base = temporaryDirectory();
  const home = path.join(base, "home");
  mkdirSync(home);
  const ledger = new Ledger();
  const { load, countMin, countMax, lastReplies } = scales[executor];
  const calls: SystemCall[] = [];
  // Line numbers continue from one run to the next.
  let lastLifeAt = 0;
  let nextLifeAt = 0;
  try {
    for (let life = 0; life <= killPoints.length; life++) {
      const trace = path.join(base, `trace-${life}`);
      const point = killPoints[life];
      const count = countMin + (draw(seed, life, "count") % (countMax - countMin));
      const kill = point === undefined ? null : { point, count, delayMicros: 200 };
      const synchronous = life < unsyncedLives ? "off" : "full";
      const options: CrashOptions = { home, executor, synchronous, marksPoints: true, kill };
      const recorded = new ControlPlaneProcess(options, ledger, { ...load, seed }, strace(trace));
      if (kill === null) recorded.afterReplies(lastReplies, () => recorded.close());
      await recorded.ready;
      recorded.startLoad();
      const end = await recorded.end;
      recorded.stopLoad();
      if (end.fatal !== null || (kill === null ? end.code !== 0 : end.killedAt === null))
        throw new Error(`the recorded life ended with ${JSON.stringify(end)}`);
      const text = readFileSync(trace, "utf8");
      const lineCount = text.split("\n").length;
      lastLifeAt = nextLifeAt;
      for (const call of settleUnreturned(parseTrace(text, [home, "/dev/null"]), home, lineCount))
        calls.push({ ...call, enter: call.enter + lastLifeAt, exit: call.exit + lastLifeAt });
      nextLifeAt += lineCount + 1;
      checkRecording(home, calls);
    }
    const names = new Map([...ledger.submitted].map(([key, id]) => [id, key]));
    return { seed, executor, home, calls, disk: new RecordedDisk(home, calls), names, lastLifeAt };
  } finally {
    removeDirectory(base);
  }
}

/** `-y` names the file behind each descriptor, `-xx` prints every byte in hex, `-s` does not shorten. */
export function strace(trace: string): readonly string[] {
  return [
    "strace",
    "-f",
    "-qq",
    "--seccomp-bpf",
    "-y",
    "-xx",
    "-s",
    "16777216",
    "-e",
    `trace=${tracedCalls.join(",")}`,
    "-o",
    trace,
  ];
}

export interface CutPoint {
  /** Name of a fault point, or `reply`, or `random`. */
  readonly label: string;
  /** Line of the trace directly after which the cut comes. */
  readonly at: number;
}

type Write = SystemCall & { readonly kind: "write" };

export const isReply = (call: SystemCall): call is Write =>
  call.kind === "write" && call.descriptor === 1 && call.data.toString().startsWith('{"kind":"reply"');
export const isStart = (call: SystemCall): call is Write =>
  call.kind === "write" && path.basename(call.path) === "starts";

/** Draws instants for cuts: a third at fault points, a third directly after a reply, a third anywhere. */
export function chooseCuts({ seed, calls, disk }: Recording, count: number): CutPoint[] {
  const marks = calls.flatMap((call) =>
    call.kind === "write" && call.path === "/dev/null" ? [{ label: call.data.toString(), at: call.exit }] : [],
  );
  const points = [...new Set(marks.map(({ label }) => label))].toSorted();
  const replies = calls.flatMap((call) => (isReply(call) ? [{ label: "reply", at: call.exit }] : []));
  const anywhere = disk.instants.map((at) => ({ label: "random", at }));
  return Array.from({ length: count }, (_, index) => {
    const ofPoint = marks.filter(({ label }) => label === points[Math.floor(index / 3) % points.length]);
    const candidates = [ofPoint, replies, anywhere][index % 3] ?? anywhere;
    return candidates[draw(seed, index, "cut") % candidates.length] ?? { label: "random", at: 0 };
  });
}

/** The first instants at which the last run acts on its recovered state, by a launch or a reply. */
export function firstActsOfLastLife({ calls, disk, lastLifeAt }: Recording, count: number): CutPoint[] {
  const acts = calls.find((call) => call.enter >= lastLifeAt && (isStart(call) || isReply(call)));
  return disk.instants
    .filter((at) => acts !== undefined && at >= acts.enter)
    .slice(0, count)
    .map((at) => ({ label: "random", at }));
}

/** Starts whose attempt is not on disk at the time of the start. A cut at that moment would leave no trace of them. */
export function unrecordedStarts({ calls, disk, home }: Recording): string[] {
  return calls.filter(isStart).flatMap((call) => {
    const worker = call.data.toString().split(" ")[0]?.trim() ?? "";
    const record = path.join(home, "attempts", worker.split("/")[0] ?? "", "launch.json");
    const isKept = !disk.mayLose(record, call.enter);
    return isKept ? [] : [`${worker} started at line ${call.enter}, and its launch is not on the disk`];
  });
}

/** Draws which unsynced data survives: in a quarter of the cuts none, in a quarter all of it, otherwise any part. */
function fateOf(seed: number, index: number): Fate {
  const mode = draw(seed, index, "mode") % 4;
  let drawn = 0;
  const next = (): number => draw(seed, ++drawn, `fate-${index}`);
  if (mode === 0) return losesAll;
  if (mode === 1) return losesNothing;
  const outcomes = ["kept", "dropped", "torn"] as const;
  return {
    names: (pending) => next() % (pending + 1),
    write: () => outcomes[next() % 3] ?? "dropped",
    sectorKept: () => next() % 2 === 0,
  };
}

export interface CutResult {
  readonly acknowledgedCount: number;
  readonly startCount: number;
  readonly recoveredSequence: number;
  readonly digestCount: number;
  readonly violations: readonly string[];
}

/**
 * Directory in memory for the rebuilt home. Recovery's own syncs need not reach a disk here, and in memory they take no
 * time.
 */
const memoryDirectory = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** Rebuilds the home after the cut, starts a control plane on it, runs it for a moment, and checks all invariants. */
export async function cutAndRecover(recording: Recording, { at }: CutPoint, index: number): Promise<CutResult> {
  const { calls, disk, names, seed, executor } = recording;
  const home = mkdtempSync(path.join(memoryDirectory, "headroom-cut-"));
  try {
    disk.rebuild(at, fateOf(seed, index), home);
    const acknowledged = acknowledgedUntil(calls, names, at);
    const starts = startsUntil(calls, at);
    // The started attempts come from the recording, whatever the disk shows.
    rmSync(path.join(home, "starts"), { force: true });
    writeFileSync(path.join(home, "starts"), starts);
    const { sequence, lost } = await recoverAndWork(home, executor, acknowledged);
    const check = checkHome(home, acknowledged);
    return {
      acknowledgedCount: acknowledged.names.size,
      startCount: starts.split("\n").length - 1,
      recoveredSequence: sequence,
      digestCount: check.digestCount,
      violations: [...lost, ...check.violations],
    };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return { acknowledgedCount: 0, startCount: 0, recoveredSequence: 0, digestCount: 0, violations: [said] };
  } finally {
    removeDirectory(home);
  }
}

/** Boot id after the power cut: it differs from the recorded one. */
const ANOTHER_BOOT = "00000000-0000-4000-8000-000000000000";

async function recoverAndWork(
  home: string,
  kind: "file" | "local",
  acknowledged: Acknowledged,
): Promise<{ sequence: number; lost: string[] }> {
  const executor =
    kind === "local"
      ? {
          executor: createLocalExecutor({
            homeDir: home,
            slotCount: 4,
            accelerators: "declared",
            bootId: ANOTHER_BOOT,
          }),
        }
      : {};
  const opened = await openHome(home, { slots: 4, runMs: 1, digestEveryEvents: 40, ...executor });
  const { driver, close, fatal } = opened;
  const { sequence } = driver.status();
  const lost = await driver.read(({ state }) => lostOf(state, acknowledged));
  await registerFleet(opened);
  // This gang needs no slot, so it starts at once. When it starts, every repeated launch has been performed.
  const gang = { workers: 1, accelerators: 0, coresMilli: 0, memoryMib: 0 };
  const reply = await driver.command(submit(testSpec("after-the-cut", { gang }), "after-the-cut"));
  const id = reply.kind === "accepted" && reply.result.kind === "workloadSubmitted" ? reply.result.workloadId : null;
  if (id === null) lost.push(`after the cut a submission was rejected: ${JSON.stringify(reply)}`);
  const open = new Set(
    await driver.read(({ state }) =>
      [...state.workloads.values()].filter((each) => each.endedAtMs === null).map((each) => each.id),
    ),
  );
  const abort = new AbortController();
  for await (const { event } of driver.events(1, abort.signal)) {
    if (event.kind !== "workloadEnded") continue;
    open.delete(event.workloadId);
    // Real processes must end before the test does; timers of the file executor end with this process.
    if (kind === "file" ? event.workloadId === id : open.size === 0) abort.abort();
  }
  await close();
  return { sequence, lost: [...lost, ...fatal.map(({ message }) => message)] };
}

function acknowledgedUntil(calls: readonly SystemCall[], names: ReadonlyMap<string, string>, at: number): Acknowledged {
  const known = new Map<string, string>();
  const stopped = new Set<string>();
  for (const call of calls) {
    if (!isReply(call) || call.enter > at) continue;
    const line = JSON.parse(call.data.toString()) as ControlPlaneLine & { readonly reply: Reply };
    if (line.reply.kind !== "accepted") continue;
    const { result } = line.reply;
    if (result.kind === "workloadSubmitted")
      known.set(result.workloadId, names.get(result.workloadId) ?? "a name that the client never heard of");
    if (result.kind === "workloadStopping") stopped.add(result.workloadId);
  }
  return { names: known, stopped };
}

function startsUntil(calls: readonly SystemCall[], at: number): string {
  return calls
    .filter(isStart)
    .flatMap((call) => (call.enter <= at ? [call.data.toString()] : []))
    .join("");
}
