/**
 * Tests what an isolated job cannot do: read files of the control plane, reach processes outside, gain privileges, pass
 * its limits, or change what others run. All jobs run under one executor at the same time, beside a victim.
 */
import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import type { Server } from "node:net";
import path from "node:path";
import type { LaunchGang } from "@headroom/model";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ConformanceWorld, isRunning, outputHas, readText } from "../../conformance/conformance-world.ts";
import type { Observer } from "../../conformance/observer.ts";
import type { Executor } from "../../executor.ts";
import { AttemptStore } from "../../job-protocol/attempt-store.ts";
import { createLocalExecutor } from "../../local/local-executor.ts";
import { hasBubblewrap, isolatedRoot } from "./testing/isolated-root.ts";

const SECRET = "secret-of-the-control-plane";
const ESCAPED = "ESCAPED";

let world: ConformanceWorld;
let executor: Executor;
let observer: Observer;
let victim: LaunchGang;
let outside: ReturnType<typeof spawn>;
let socket: Server;
let shared: string;
/** Stands for the home directory of root. */
let rootHome: string;

const isHere = hasBubblewrap();

beforeAll(async () => {
  if (!isHere) return;
  rootHome = mkdtempSync(path.join(isolatedRoot(), "root-home-"));
  mkdirSync(path.join(rootHome, ".ssh"));
  writeFileSync(path.join(rootHome, ".profile"), "");
  vi.stubEnv("HOME", rootHome);
  shared = mkdtempSync(path.join(isolatedRoot(), "shared-"));
  world = await ConformanceWorld.create({
    id: "local",
    rootDir: isolatedRoot(),
    open: (homeDir) => createLocalExecutor({ homeDir, accelerators: "declared", isolation: "bubblewrap" }),
  });
  ({ executor, observer } = world.watched());
  for (const name of ["token", "journal.db"]) writeFileSync(path.join(world.homeDir, name), SECRET, { mode: 0o600 });
  outside = spawn("sleep", ["600"], { env: { PATH: process.env["PATH"], SECRET } });
  socket = createServer((client) => client.end(ESCAPED));
  await new Promise<void>((resolve) => socket.listen(path.join(world.homeDir, "control.sock"), resolve));
  victim = world.launch("echo ready; exec sleep 600", { env: { SECRET } });
  executor.perform(victim);
  await outputHas(executor, victim.attemptId, "ready");
});
afterAll(async () => {
  if (!isHere) return;
  vi.unstubAllEnvs();
  rmSync(rootHome, { recursive: true, force: true });
  outside.kill("SIGKILL");
  socket.close();
  await world.dispose();
  rmSync(shared, { recursive: true, force: true });
});

/** In a command: HOME_DIR is the state directory, OUTSIDE the pid of a process of the same user, VICTIM another attempt. */
const filled = (command: string): string =>
  command
    .replaceAll("HOME_DIR", world.homeDir)
    .replaceAll("ROOT_HOME", rootHome)
    .replaceAll("OUTSIDE", String(outside.pid))
    .replaceAll("VICTIM", victim.attemptId);

/** Each prints the secret, or ESCAPED, if it succeeds. */
const escapes: readonly (readonly [what: string, command: string])[] = [
  ["read the token", "cat HOME_DIR/token"],
  ["read the journal", "cat HOME_DIR/journal.db"],
  ["read the key of records", `test -s HOME_DIR/attempts/.key && echo ${ESCAPED}`],
  ["list other attempts", `ls HOME_DIR/work/VICTIM HOME_DIR/attempts/VICTIM >/dev/null 2>&1 && echo ${ESCAPED}`],
  ["read its own records", `ls HOME_DIR/attempts/$HEADROOM_ATTEMPT_ID 2>/dev/null | grep -q . && echo ${ESCAPED}`],
  ["let itself in at the next login", `echo x > ROOT_HOME/.ssh/authorized_keys && echo ${ESCAPED}`],
  [
    "act at the next login",
    `{ echo x >> ROOT_HOME/.profile || mv ROOT_HOME/.profile ROOT_HOME/p; } && echo ${ESCAPED}`,
  ],
  ["write beside its own directories", `echo x > HOME_DIR/token && echo ${ESCAPED}`],
  ["write its own checkpoint request", `echo x > "$HEADROOM_CHECKPOINT_REQUEST_FILE" && echo ${ESCAPED}`],
  [
    "read other environments",
    `grep -a ${SECRET} /proc/[0-9]*/environ | grep -v '^/proc/self' | grep -c . | grep -qx 0 || echo ${ESCAPED}`,
  ],
  ["signal a process outside", `kill -0 OUTSIDE && echo ${ESCAPED}`],
  ["stop its supervisor", `kill -STOP $PPID; test "$PPID" -gt 5 && echo ${ESCAPED}`],
  ["signal every process", "kill -KILL -1; exit 0"],
  ["trace a process outside", `ls /proc/OUTSIDE/mem && echo ${ESCAPED}`],
  ["read memory through /proc/1", `ls -l /proc/1/root/proc/OUTSIDE && echo ${ESCAPED}`],
  [
    "read descriptors of others",
    `ls -l /proc/self/fd | grep -v ' [012] -> \\| -> /proc/\\| -> /dev/null$' | grep -q -- '->' && echo ${ESCAPED}`,
  ],
  [
    "put another state directory in its place",
    `cd /; for p in "$(dirname HOME_DIR)" "$(dirname "$(dirname HOME_DIR)")"; do mv "$p" "$p.x" && { mv "$p.x" "$p"; echo ${ESCAPED}; }; done; mv HOME_DIR HOME_DIR.x && echo ${ESCAPED}`,
  ],
  ["follow a symbolic link", `ln -s HOME_DIR/token t; cat t`],
  ["make a hard link", `ln HOME_DIR/token t && cat t`],
  ["remove the mount that hides", `umount HOME_DIR; cat HOME_DIR/token`],
  ["remove the mount as root of a namespace", `unshare -Urm sh -c 'umount -l HOME_DIR; cat HOME_DIR/token'`],
  ["mount the disk again", `mkdir m; unshare -Urm mount --bind / m; cat m/HOME_DIR/token`],
  ["enter another namespace", `nsenter -t 1 -m cat HOME_DIR/token; nsenter -t OUTSIDE -a cat HOME_DIR/token`],
  [
    "write to control groups",
    `for f in $(find /sys/fs/cgroup -name cgroup.procs 2>/dev/null | head -20); do echo 0 > $f && echo ${ESCAPED}; done`,
  ],
  [
    "raise its own limit",
    `for f in $(find /sys/fs/cgroup -name memory.limit_in_bytes -o -name memory.max 2>/dev/null | head -9); do echo -1 > $f && echo ${ESCAPED}; done`,
  ],
  ["gain capabilities", `grep -q 'Cap\\(Eff\\|Prm\\|Bnd\\|Amb\\):.*[1-9a-f]' /proc/self/status && echo ${ESCAPED}`],
  [
    "gain privileges by setuid",
    `su -s /bin/sh nobody -c 'echo ${ESCAPED}'; sudo -n echo ${ESCAPED}; grep -q 'NoNewPrivs:.0' /proc/self/status && echo ${ESCAPED}`,
  ],
  ["make a device node", `mknod d b 254 0 && echo ${ESCAPED}`],
  ["open a disk or memory", `ls /dev/vda /dev/sda /dev/mem /dev/kmem 2>/dev/null | grep -q . && echo ${ESCAPED}`],
  [
    "change the kernel",
    `for f in /proc/sys/kernel/core_pattern /proc/sys/vm/swappiness /proc/sys/kernel/modprobe; do test -w $f && cat $f > $f && echo ${ESCAPED}; done; test -w /proc/sysrq-trigger && echo ${ESCAPED}`,
  ],
  [
    "connect to a socket of the control plane",
    `python3 -c "import socket; s=socket.socket(socket.AF_UNIX); s.connect('HOME_DIR/control.sock'); print(s.recv(99))"`,
  ],
  [
    "reach a service manager",
    `ls /run/systemd/private /run/docker.sock /run/user 2>/dev/null | grep -q . && echo ${ESCAPED}`,
  ],
  [
    "change the program",
    `echo x >> ${process.execPath} && echo ${ESCAPED}; echo x > ${import.meta.dirname}/planted && echo ${ESCAPED}`,
  ],
  [
    "change the system",
    `test "$(id -u)" != 0 || { echo x > /usr/planted && echo ${ESCAPED}; echo x > /etc/planted && echo ${ESCAPED}; }`,
  ],
  [
    "see another job's temporary files",
    `ls /tmp | grep -q . && echo ${ESCAPED}; ls /dev/shm | grep -q . && echo ${ESCAPED}`,
  ],
  ["use shared memory of others", `ipcs -m 2>/dev/null | grep -q '^0x' && echo ${ESCAPED}`],
];

it.skipIf(!isHere)("no escape of a job succeeds", { timeout: 120_000 }, async () => {
  writeFileSync("/dev/shm/headroom-test-file", "x");
  const launches = escapes.map(([, command]) =>
    // The loader and the shell obey these variables: the sandbox's own program must not get them.
    world.launch(`${filled(command)} 2>&1`, {
      env: { LD_PRELOAD: `${shared}/evil.so`, BASH_ENV: `${shared}/evil`, ENV: `${shared}/evil` },
    }),
  );
  for (const launch of launches) executor.perform(launch);
  await Promise.all(launches.map((launch) => observer.end(launch.attemptId)));
  rmSync("/dev/shm/headroom-test-file");
  const said = await Promise.all(launches.map((launch) => readText(executor, launch.attemptId)));
  const succeeded = escapes.filter((_, index) => new RegExp(`${SECRET}|^${ESCAPED}`, "m").test(said[index] ?? ""));
  expect(succeeded.map(([what]) => what)).toEqual([]);
  expect(isRunning(outside.pid ?? 0)).toBe(true);
  expect(await executor.attempts()).toContainEqual(
    expect.objectContaining({ attemptId: victim.attemptId, phase: { kind: "running" } }),
  );
});

/** A command that a user runs inside the victim may do to the victim, or to itself, what these do. */
const ownRights: ReadonlySet<string> = new Set([
  "list other attempts",
  "stop its supervisor",
  "signal every process",
  "see another job's temporary files",
]);

it.skipIf(!isHere)("no escape of a command that a user runs inside a job succeeds", { timeout: 120_000 }, async () => {
  const succeeded: string[] = [];
  for (const [what, command] of escapes.filter(([name]) => !ownRights.has(name))) {
    const request = { worker: 0, command: ["/bin/sh", "-c", `${filled(command)} 2>&1`], terminal: null };
    const session = await executor.exec?.(victim.attemptId, request);
    session?.endInput();
    let said = "";
    for await (const { data } of session?.output() ?? []) said += Buffer.from(data).toString("utf8");
    if (new RegExp(`${SECRET}|^${ESCAPED}`, "m").test(said)) succeeded.push(what);
  }
  expect(succeeded).toEqual([]);
  expect(isRunning(outside.pid ?? 0)).toBe(true);
});

/** Command line and environment of each process that can be read. */
function processes(): readonly { readonly command: string; readonly variables: string }[] {
  return readdirSync("/proc").flatMap((pid) => {
    try {
      if (!/^\d+$/.test(pid)) return [];
      const [command = "", variables = ""] = ["cmdline", "environ"].map((name) =>
        readFileSync(`/proc/${pid}/${name}`, "utf8"),
      );
      return [{ command, variables }];
    } catch {
      return [];
    }
  });
}

describe.skipIf(!isHere)("an isolated job", () => {
  it("leaves no process behind, whatever it does to hide it", async () => {
    const marker = `600.${process.pid}`;
    const launch = world.launch(
      `setsid env -i sleep ${marker} & (setsid env -i sh -c 'sleep ${marker} & sleep ${marker}' >/dev/null 2>&1 </dev/null &); sleep 0.2; exit 5`,
    );
    executor.perform(launch);
    expect(await observer.exits(launch.attemptId)).toEqual([{ kind: "exited", worker: 0, code: 5 }]);
    const left = processes().filter(({ command }) => command.startsWith(`sleep\0${marker}`));
    expect(left).toEqual([]);
  });

  it("gives its variables to its command, and not to the program of the sandbox", () => {
    const work = path.join(world.homeDir, "work", victim.attemptId);
    const own = processes().filter(({ variables }) => variables.includes(`=${work}/`));
    const sandboxes = own.filter(({ command }) => /^[^\0]*\/bwrap\0/.test(command));
    expect([sandboxes.length > 0, own.length > sandboxes.length]).toEqual([true, true]);
    expect(own.filter(({ variables }) => variables.includes(SECRET))).toHaveLength(own.length - sandboxes.length);
    expect(sandboxes.filter(({ variables }) => variables.includes(SECRET))).toEqual([]);
  });

  it("sees its work, its checkpoints, its home and the network", async () => {
    const dir = path.join(shared, "work");
    mkdirSync(dir);
    const launch = world.launch(
      `set -e; pwd; echo x > here; echo x > "$HEADROOM_CHECKPOINT_DIR/saved"; echo '{"kind":"progress","step":1}' >> "$HEADROOM_PROGRESS_FILE"
      ls -d "$HOME" /usr/bin /proc/self; echo x > /tmp/own; echo x > /dev/shm/own; grep -q lo: /proc/net/dev; echo y > /dev/null`,
      { dir, checkpointDir: path.join(shared, "checkpoints") },
    );
    executor.perform(launch);
    const exits = await observer.exits(launch.attemptId);
    expect([exits, await readText(executor, launch.attemptId, { stream: "stderr" })]).toEqual([
      [{ kind: "exited", worker: 0, code: 0 }],
      "",
    ]);
    expect([`${dir}/here`, `${shared}/checkpoints/saved`, "/tmp/own"].map((file) => existsSync(file))).toEqual([
      true,
      true,
      false,
    ]);
    const files = new AttemptStore(world.homeDir, () => {}).filesOf(launch.attemptId);
    expect(existsSync(path.join(path.dirname(files.jobDir), "tmp"))).toBe(false);
  });

  it("reads the artifacts that it waited for among the checkpoints of other work, and nothing else that way", async () => {
    const kept = path.join(world.homeDir, "checkpoints", "w99");
    mkdirSync(kept, { recursive: true });
    writeFileSync(path.join(kept, "model"), "weights");
    writeFileSync(path.join(kept, "other"), SECRET);
    symlinkSync(path.join(world.homeDir, "token"), path.join(kept, "link"));
    const artifacts = ["model", "link"].map((name) => ({ name, path: path.join(kept, name) }));
    const run = `cat "$HEADROOM_ARTIFACT_MODEL" && ! cat "${kept}/other" && ! cat "$HEADROOM_ARTIFACT_LINK" && ! echo x > "$HEADROOM_ARTIFACT_MODEL"`;
    const launch = { ...world.launch(run), artifacts };
    executor.perform(launch);
    expect(await observer.exits(launch.attemptId)).toEqual([{ kind: "exited", worker: 0, code: 0 }]);
    expect(readFileSync(path.join(kept, "model"), "utf8")).toBe("weights");
  });

  it("shares temporary files and shared memory with the workers of its gang", async () => {
    const sharedBefore = new Set(readdirSync("/dev/shm"));
    const launch = world.launch(
      "echo x > /tmp/$RANK; echo x > /dev/shm/$RANK; until [ -e /tmp/0 ] && [ -e /tmp/1 ] && [ -e /dev/shm/0 ] && [ -e /dev/shm/1 ]; do sleep 0.02; done",
      { workers: 2 },
    );
    executor.perform(launch);
    const exits = await observer.exits(launch.attemptId);
    expect(exits.map((exit) => "code" in exit && exit.code)).toEqual([0, 0]);
    expect(readdirSync("/dev/shm").filter((name) => !sharedBefore.has(name))).toEqual([]);
  });
});

describe.skipIf(!isHere)("limits", () => {
  const limited = (run: string, limits: { memoryMib?: number; coresMilli?: number }): LaunchGang => {
    const launch = world.launch(run);
    return { ...launch, spec: { ...launch.spec, gang: { ...launch.spec.gang, ...limits } } };
  };

  it("a job that needs more memory than its limit fails, and the limit is named", async (context) => {
    if (executor.isolation?.memory !== true) context.skip("no memory control group can be written to");
    const launch = limited(`exec ${process.execPath} -e 'Buffer.alloc(600 << 20, 1); console.log("${ESCAPED}")'`, {
      memoryMib: 100,
    });
    executor.perform(launch);
    const [exit] = await observer.exits(launch.attemptId);
    expect(exit).toEqual({ kind: "signalled", worker: 0, signal: "SIGKILL", outOfMemoryMib: 100 });
    expect(await readText(executor, launch.attemptId)).not.toContain(ESCAPED);
  });

  it("a job that stays below its limits is not disturbed", async () => {
    const launch = limited("echo fine", { memoryMib: 100, coresMilli: 500 });
    executor.perform(launch);
    expect(await observer.exits(launch.attemptId)).toEqual([{ kind: "exited", worker: 0, code: 0 }]);
  });

  it("a fork bomb stops at the limit of processes, and ends with its attempt", async (context) => {
    if (executor.isolation?.processes !== true) context.skip("no control group of processes can be written to");
    const groups = new AttemptStore(world.homeDir, () => {});
    const launch = world.launch("echo ready; exec sleep 600");
    executor.perform(launch);
    await outputHas(executor, launch.attemptId, "ready");
    const parents = groups.filesOf(launch.attemptId).read("launch.json")?.isolation?.cgroups ?? [];
    const [parent] = parents.filter(({ controllers }) => controllers.includes("pids"));
    const group = path.join(parent?.directory ?? "", `${launch.attemptId}@0.0`);
    expect(Number(readFileSync(path.join(group, "pids.max"), "utf8"))).toBe(16_384);
    executor.perform(world.stop(launch, 0));
    await observer.end(launch.attemptId);
    expect(existsSync(group)).toBe(false);
  });
});
