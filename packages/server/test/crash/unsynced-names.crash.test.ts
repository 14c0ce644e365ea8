import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { removeDirectory, temporaryDirectory } from "../../src/driver/testing/bench-home.ts";
import { ControlPlaneProcess, Ledger, markStart } from "./crash-client.ts";
import type { CrashOptions, Load } from "./crash-client.ts";
import { isReply, isStart, strace } from "./power-cuts.ts";
import { parseTrace } from "./system-calls.ts";
import type { SystemCall } from "./system-calls.ts";

const load: Load = { seed: 1, inFlight: 1, openMax: 1, run: markStart, env: {}, holdOneIn: 0, elasticOneIn: 0 };

/** Kills the process that is about to sync this directory. The new names in the directory exist, but not on disk. */
const killsBeforeSyncOf = (directory: string): readonly string[] =>
  `strace -f -qq -o /dev/null -P ${directory} -e trace=fsync -e inject=fsync:signal=KILL:when=1`.split(" ");

async function live(options: CrashOptions, ledger: Ledger, wrapper: readonly string[]): Promise<ControlPlaneProcess> {
  const process = new ControlPlaneProcess(options, ledger, load, wrapper);
  process.afterReplies(3, () => process.close());
  await process.ready.catch(() => undefined);
  process.startLoad();
  return process;
}

interface Names {
  readonly of: string;
  readonly directory: string;
  /** Actions that must not happen before the names are durable. */
  readonly before: (call: SystemCall) => boolean;
}

const names: readonly Names[] = [
  { of: "the home", directory: "", before: isReply },
  { of: "the journal's and the attempts' directories", directory: "home", before: isReply },
  { of: "the journal's files", directory: "home/journal", before: isReply },
  { of: "the attempts", directory: "home/attempts", before: isStart },
  { of: "an attempt's launch record", directory: "home/attempts/w1.1", before: isStart },
];

it.each(names)(
  "names of $of that a killed life left unsynced are on the disk before the next one builds on them",
  async ({ directory, before }) => {
    const base = temporaryDirectory();
    const ledger = new Ledger();
    const home = path.join(base, "home");
    const options: CrashOptions = { home, executor: "local", synchronous: "full", marksPoints: false, kill: null };
    const synced = path.join(base, directory);
    try {
      mkdirSync(home);
      const killed = await live(options, ledger, killsBeforeSyncOf(synced));
      expect(await killed.end).toMatchObject({ signal: "SIGKILL", fatal: null });

      const trace = path.join(base, "trace");
      const next = await live(options, ledger, strace(trace));
      expect(await next.end).toMatchObject({ code: 0, fatal: null });

      const calls = parseTrace(readFileSync(trace, "utf8"), [base]);
      const first = calls.find(before);
      const isSyncedBefore = (call: SystemCall): boolean =>
        call.kind === "sync" && call.path === synced && call.exit < (first?.enter ?? 0);
      expect(calls.some(isSyncedBefore)).toBe(true);
    } finally {
      removeDirectory(base);
    }
  },
);
