/** Reads the quickstart's processes and files from outside: /proc, the logs and the checkpoints. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

export interface LiveWorker {
  readonly pid: number;
  readonly attemptId: string;
  readonly rank: number;
}

/** Processes whose environment names this state directory, so that processes of other tests and users do not count. */
export function liveWorkers(home: string): LiveWorker[] {
  const found = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name): LiveWorker[] => {
      const env = environmentOf(name);
      const [attemptId, rank] = [env.get("HEADROOM_ATTEMPT_ID"), env.get("RANK")];
      const isOurs = env.get("HEADROOM_PROGRESS_FILE")?.startsWith(`${home}/`) === true;
      return isOurs && attemptId !== undefined && rank !== undefined
        ? [{ pid: Number(name), attemptId, rank: Number(rank) }]
        : [];
    });
  // The first process of a sandbox can stay beside the command that it starts: both are one worker.
  return found.filter(({ pid, attemptId, rank }) => {
    const parent = parentOf(pid);
    return !found.some((each) => each.pid === parent && each.attemptId === attemptId && each.rank === rank);
  });
}

/** `null`: the process has ended. */
function parentOf(pid: number): number | null {
  try {
    // The name of the program, in parentheses, can contain blanks.
    return Number(
      readFileSync(`/proc/${pid}/stat`, "utf8")
        .replace(/^.*\) \S /s, "")
        .split(" ")[0],
    );
  } catch {
    return null;
  }
}

function environmentOf(pid: string): ReadonlyMap<string, string> {
  try {
    const pairs = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
    return new Map(pairs.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]));
  } catch {
    // The process has ended, or belongs to another user.
    return new Map();
  }
}

/** The step of the newest complete checkpoint (the last in the manifest); 0 if there is none. */
export function newestCheckpoint(directory: string): number {
  const manifest = path.join(directory, "manifest.json");
  if (!existsSync(manifest)) return 0;
  const { checkpoints } = JSON.parse(readFileSync(manifest, "utf8")) as {
    readonly checkpoints: readonly { readonly step: number }[];
  };
  return checkpoints.at(-1)?.step ?? 0;
}

export interface AttemptLog {
  readonly attemptId: string;
  /** The step from which the attempt resumed; `null` if the attempt was killed before it resumed. */
  readonly startStep: number | null;
  /** Losses by step, as text, so that they are compared to the last bit. */
  readonly losses: ReadonlyMap<number, string>;
}

/** The log of rank 0 of every attempt, in the order of the attempts. */
export function attemptLogs(home: string): AttemptLog[] {
  const attempts = path.join(home, "attempts");
  const number = (attemptId: string): number => Number(attemptId.split(".").at(-1));
  return readdirSync(attempts)
    .filter((attemptId) => existsSync(path.join(attempts, attemptId, "launch.json")))
    .toSorted((left, right) => number(left) - number(right))
    .map((attemptId) => {
      const log = path.join(attempts, attemptId, "worker-0", "stdout.log");
      const text = existsSync(log) ? readFileSync(log, "utf8") : "";
      const start = /^rank 0 of 2 starts after step (\d+)$/m.exec(text)?.[1];
      const losses = [...text.matchAll(/^\{"kind":"progress","step":(\d+),.*?"loss":([^,}]+)/gm)];
      return {
        attemptId,
        startStep: start === undefined ? null : Number(start),
        losses: new Map(losses.map(([, step = "", loss = ""]) => [Number(step), loss])),
      };
    });
}

/** Seeded numbers between 0 and 1 (mulberry32), so that a failed run can be repeated. */
export function seededDraws(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
