/** Tests commands that users run inside workers, with sandboxes and without. */
import { readdirSync, readFileSync } from "node:fs";
import type { LaunchGang } from "@headroom/model";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConformanceWorld, outputHas } from "../../conformance/conformance-world.ts";
import type { Observer } from "../../conformance/observer.ts";
import type { ExecRequest, ExecSession, Executor, IsolationMode } from "../../executor.ts";
import { hasBubblewrap, isolatedRoot } from "../../processes/isolation/testing/isolated-root.ts";
import { createLocalExecutor } from "../local-executor.ts";

const modes: readonly IsolationMode[] = hasBubblewrap() ? ["bubblewrap", "none"] : ["none"];
const shell = (...lines: readonly string[]): readonly string[] => ["/bin/sh", "-c", lines.join("\n")];
const terminal = { rows: 33, columns: 101, type: "xterm" };

async function outputOf(session: ExecSession): Promise<string> {
  let text = "";
  for await (const { stream, data } of session.output()) {
    text += stream === "stderr" ? `[${Buffer.from(data).toString("utf8")}]` : Buffer.from(data).toString("utf8");
  }
  return text;
}

function isAnywhere(marker: string): boolean {
  return readdirSync("/proc").some((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(marker);
    } catch {
      return false;
    }
  });
}

describe.each(modes)("with isolation %s", (isolation) => {
  let world: ConformanceWorld;
  let executor: Executor;
  let observer: Observer;
  let running: LaunchGang;
  beforeAll(async () => {
    world = await ConformanceWorld.create({
      id: "local",
      rootDir: isolatedRoot(),
      open: (homeDir) => createLocalExecutor({ homeDir, accelerators: "declared", isolation }),
    });
    ({ executor, observer } = world.watched());
    running = await start();
  });
  afterAll(() => world.dispose());

  async function start(): Promise<LaunchGang> {
    const launch = world.launch("echo here > /tmp/of-the-job; echo ready; exec sleep 600", {
      workers: 2,
      env: { FLAVOUR: "sweet" },
    });
    executor.perform(launch);
    await outputHas(executor, launch.attemptId, "ready");
    await observer.running(launch.attemptId);
    return launch;
  }
  async function exec(command: readonly string[], more: Partial<ExecRequest> = {}, of = running): Promise<ExecSession> {
    const session = await executor.exec?.(of.attemptId, { worker: 0, command, terminal: null, ...more });
    if (session === undefined) throw new Error("the executor runs no commands inside workers");
    return session;
  }

  it("a command has the worker's variables, streams of its own, input and an exit code", async () => {
    const session = await exec(
      shell('read -r line; echo "$FLAVOUR $RANK ${MASTER_PORT:+port} $line"; echo no >&2; exit 7'),
      {
        worker: 1,
      },
    );
    await session.write(Buffer.from("typed\n"));
    session.endInput();
    expect([await outputOf(session), await session.ended]).toEqual(["sweet 1 port typed\n[no\n]", 7]);
  });

  it("a command counts against the limits of the worker", async () => {
    const groups = async (session: Promise<ExecSession>): Promise<string> => outputOf(await session);
    const own = await groups(exec(shell("grep -c headroom /proc/self/cgroup")));
    const ofWorker = await groups(exec(shell("grep -c headroom /proc/$$/cgroup")));
    expect(own).toBe(ofWorker);
    if (executor.isolation?.memory !== true || isolation !== "none") return;
    expect(Number(own)).toBeGreaterThan(0);
  });

  it.runIf(isolation === "bubblewrap")(
    "a command sees the worker's files and processes, and has no further rights",
    async () => {
      const session = await exec(
        shell(
          "cat /tmp/of-the-job; ps ax -o args= | grep -c '^sleep 600$'; test -r /proc/1/environ && echo visible",
          "grep -E '^(Cap(Prm|Eff|Bnd)|NoNewPrivs)' /proc/self/status | grep -v ':.0*$'",
          "ls /proc/self/fd",
        ),
      );
      const said = await outputOf(session);
      expect(said).toMatch(/^here\n1\n/);
      expect(said).toContain("NoNewPrivs:\t1");
      if (process.getuid?.() === 0) expect(said).not.toContain("Cap");
    },
  );

  it("a terminal has a size, which changes, and passes keys on", async () => {
    const session = await exec(
      shell("trap 'stty size; exit 5' WINCH; tty; stty size; echo $TERM; while :; do sleep 0.05; done"),
      { terminal },
    );
    const first = await outputOfPart(session, /xterm/);
    expect(first.text).toMatch(/^\/dev\/pts\/\d+\r\n33 101\r\nxterm/);
    session.resize({ rows: 44, columns: 123 });
    expect([await first.rest(), await session.ended]).toEqual(["44 123\r\n", 5]);
    const stopped = await exec(shell("echo up; exec sleep 600"), { terminal });
    const up = await outputOfPart(stopped, /up/);
    await stopped.write(Buffer.from("\u0003"));
    await up.rest();
    expect(await stopped.ended).toBe(130);
  });

  it("a hung-up session leaves nothing", async () => {
    const marker = `601.${process.pid}`;
    for (const kind of [terminal, null]) {
      const session = await exec(shell(`echo up; sleep ${marker}`), { terminal: kind });
      const { rest } = await outputOfPart(session, /up/);
      session.close();
      await rest();
      expect(await session.ended).toBeGreaterThan(128);
      await expect.poll(() => isAnywhere(marker)).toBe(false);
    }
  });

  it("a session ends with its attempt, with all that it left in the background", async () => {
    const launch = await start();
    const marker = `602.${process.pid}`;
    const session = await exec(
      shell(`setsid sleep ${marker} & echo up; trap '' HUP TERM; sleep ${marker}`),
      { terminal },
      launch,
    );
    const { rest } = await outputOfPart(session, /up/);
    executor.perform(world.stop(launch, 0));
    await observer.end(launch.attemptId);
    await rest();
    expect(await session.ended).toBeGreaterThan(0);
    expect(isAnywhere(marker)).toBe(false);
    await expect(exec(["true"], {}, launch)).rejects.toMatchObject({ code: "cannotExec" });
  });

  it("a reader that is slow slows the command down", async () => {
    const session = await exec(shell("head -c 3000000 /dev/zero; exit 3"));
    let bytes = 0;
    for await (const { data } of session.output()) bytes += data.byteLength;
    expect([bytes, await session.ended]).toEqual([3_000_000, 3]);
  });
});

/** The output up to a pattern, and the rest of it. One iterator reads both. */
async function outputOfPart(
  session: ExecSession,
  until: RegExp,
): Promise<{ readonly text: string; rest(): Promise<string> }> {
  const iterator = session.output()[Symbol.asyncIterator]();
  const read = async (pattern: RegExp | null): Promise<string> => {
    let text = "";
    for (;;) {
      const { value, done } = await iterator.next();
      if (done === true) return text;
      text += Buffer.from(value.data).toString("utf8");
      if (pattern?.test(text) === true) return text;
    }
  };
  const text = await read(until);
  return { text, rest: async () => (await read(null)).replace(/^\r?\n/, "") };
}
