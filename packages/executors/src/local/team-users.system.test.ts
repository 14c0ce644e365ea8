/** Sandboxed workers with a user of the operating system for each team: what the rights of files refuse them, as root. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import path from "node:path";
import { teamName } from "@headroom/model";
import type { LaunchGang } from "@headroom/model";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isTurnOf } from "../../../../tools/testing/rotating.ts";
import { ConformanceWorld, outputHas, readText } from "../conformance/conformance-world.ts";
import type { Observer } from "../conformance/observer.ts";
import type { Executor } from "../executor.ts";
import { hasBubblewrap } from "../processes/isolation/testing/isolated-root.ts";
import { createLocalExecutor } from "./local-executor.ts";

const missing = !hasBubblewrap() ? "bubblewrap is not installed" : userInfo().uid === 0 ? null : "it needs root";
if (missing !== null) process.stderr.write(`*** Users of teams were not tested: ${missing}\n`);

/** Users that every Debian has, so that the test makes none. */
const users = { red: "nobody", blue: "games", stray: "no-such-user", crowned: "root" };

describe.skipIf(missing !== null || !isTurnOf("networks of teams"))("workers with the user of their team", () => {
  let root: string;
  let shared: string;
  let world: ConformanceWorld;
  let executor: Executor;
  let observer: Observer;

  const open = (homeDir: string): Executor => {
    mkdirSync(path.dirname(homeDir), { recursive: true });
    const declared = { nodeName: "conformance", accelerators: "declared", isolation: "bubblewrap" } as const;
    return createLocalExecutor({ homeDir, ...declared, users });
  };

  beforeAll(async () => {
    root = mkdtempSync("/var/lib/headroom-users-");
    chmodSync(root, 0o711);
    shared = path.join(root, "shared");
    mkdirSync(shared);
    chmodSync(shared, 0o1777);
    writeFileSync(path.join(shared, "of-root"), "reached\n", { mode: 0o600 });
    world = await ConformanceWorld.create({ id: "local", rootDir: root, open });
    chmodSync(world.scratchDir, 0o711);
    ({ executor, observer } = world.watched());
  }, 60_000);
  afterAll(async () => {
    await world?.dispose();
    if (root !== undefined) rmSync(root, { recursive: true, force: true });
  }, 60_000);

  function of(team: string, run: string, workers = 1): LaunchGang {
    const launch = world.launch(run, { workers });
    // Named directories below /var are shown, and writable, in a sandbox.
    return { ...launch, spec: { ...launch.spec, team: teamName(team), dir: shared } };
  }

  const ended = async (launch: LaunchGang): Promise<{ readonly text: string; readonly end: string }> => {
    executor.perform(launch);
    const end = JSON.stringify(await observer.end(launch.attemptId));
    return { text: await readText(executor, launch.attemptId), end };
  };

  it("run as that user, without capabilities, with places of their own to write to", async () => {
    const run = [
      'echo "$(id -un) $(id -Gn) $USER $HOME"',
      "grep CapEff /proc/self/status",
      'for f in /tmp /dev/shm "$HEADROOM_CHECKPOINT_DIR" "${HEADROOM_PROGRESS_FILE%/*}"; do echo x >"$f/made-$RANK" || echo "no $f"; done',
      `echo '{"kind":"progress","step":7}' >>"$HEADROOM_PROGRESS_FILE"`,
      "cat >/dev/null <$HEADROOM_CHECKPOINT_REQUEST_FILE 2>/dev/null; umask 077; echo reached >red-secret",
    ].join("; ");
    const launch = of("red/nlp", run, 2);
    const { text, end } = await ended(launch);
    expect(end, text).toContain('"code":0');
    expect(text.match(/nobody nogroup nobody \/nonexistent/g), text).toHaveLength(2);
    expect(text.match(/CapEff:\s+0{16}\n/g)).toHaveLength(2);
    expect(text).not.toContain("no /");
    expect(statSync(path.join(shared, "red-secret")).uid).toBe(65_534);
    expect(observer.of(launch.attemptId)).toContainEqual(
      expect.objectContaining({ kind: "progressReported", step: 7 }),
    );
  });

  it("have their variables, which reach no program before the change of the user", async () => {
    const launch = of("red", 'echo "<$ODD>"; /bin/true');
    const env = { LD_DEBUG: "libs", ODD: 'a\'b "c" $d `e`', IFS: "x" };
    const { text } = await ended({ ...launch, spec: { ...launch.spec, env } });
    expect(text).toContain(`<${env.ODD}>`);
    expect(text).toContain("initialize program: /bin/true");
    expect(text).not.toContain("initialize program: /usr/bin/setpriv");
    expect(text).not.toContain("HEADROOM_PACKED");
  });

  it.each([
    ["a file of another team", () => `cat ${shared}/red-secret`],
    ["a file of root", () => `cat ${shared}/of-root`],
    ["the home directory of root", () => "ls /root && echo reached"],
    ["the state directory", () => `ls ${world.homeDir}/attempts && echo reached`],
    ["a name in the state directory", () => `echo x >${world.homeDir}/made && echo reached`],
    ["the password file", () => "cat /etc/shadow && echo reached"],
    ["the rights of root", () => `setpriv --reuid 0 true && echo reached`],
  ])("do not reach %s", async (_, run) => {
    expect((await ended(of("blue", run()))).text).not.toContain("reached");
  });

  it("do not signal processes of another team", async () => {
    const victim = of("red", `echo up; exec ${world.longSleep}`);
    executor.perform(victim);
    await outputHas(executor, victim.attemptId, "up");
    await ended(of("blue", `kill -9 -1; pkill -9 -u nobody; true`));
    expect(world.sleeperCount()).toBeGreaterThan(0);
    executor.perform(world.stop(victim, 5_000));
    expect(JSON.stringify(await observer.end(victim.attemptId))).toContain("SIGTERM");
  });

  it.each([
    ["green", "the team green has no user here"],
    ["stray", "this machine knows no such user"],
    ["crowned", "would run as root"],
  ])("of the team %s are refused with the reason", async (team, reason) => {
    const launch = of(team, "echo reached");
    executor.perform(launch);
    expect(JSON.stringify(await observer.end(launch.attemptId))).toContain(reason);
  });

  it("are refused at the start where the users cannot reach the directory", () => {
    const closed = path.join(root, "closed");
    mkdirSync(closed, { mode: 0o700 });
    expect(() => open(path.join(closed, "home"))).toThrow(`other users cannot enter ${closed}`);
  });
});
