/** `headroom up` with users of teams, as root: the rules are those of an executor with `users` (`executors/src/local/team-users.system.test.ts`). */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isTurnOf } from "../../../../tools/testing/rotating.ts";
import { headroom } from "../testing/recorded-terminal.ts";
import { startProgram, type RunningProgram } from "../testing/running-program.ts";

const hasBubblewrap = spawnSync("bwrap", ["--version"]).status === 0;
const missing = !hasBubblewrap ? "bubblewrap is not installed" : userInfo().uid === 0 ? null : "it needs root";
if (missing !== null) process.stderr.write(`*** Users of teams under headroom up were not tested: ${missing}\n`);

describe.skipIf(missing !== null || !isTurnOf("networks of teams"))("headroom up with users of teams", () => {
  let root: string;
  let home: string;
  let shared: string;
  const started: RunningProgram[] = [];
  beforeAll(() => {
    root = mkdtempSync("/var/lib/headroom-up-users-");
    chmodSync(root, 0o711);
    [home, shared] = [path.join(root, "home"), path.join(root, "shared")];
    for (const directory of [home, shared]) mkdirSync(directory);
    chmodSync(shared, 0o1777);
  });
  afterAll(async () => {
    for (const { process: child, ended } of started.splice(0)) {
      child.kill("SIGKILL");
      await ended;
    }
    rmSync(root, { recursive: true, force: true });
  });

  function up(...options: readonly string[]): RunningProgram {
    const program = startProgram(["up", "--no-console", "--port", "0", "--slots", "1", ...options], { home });
    started.push(program);
    return program;
  }

  const command = (...words: readonly string[]) =>
    headroom(words, { workingDirectory: shared, env: { HEADROOM_HOME: home } });

  it("runs work as the user of its team, and refuses a user that is not there", { timeout: 90_000 }, async () => {
    const program = up("--team-user", "default=nobody", "--team-user", "*=no-such-user");
    await program.saying(/runs on http:\/\/127\.0\.0\.1:(\d+)[^]*Ctrl-C/);
    const who = await command("run", "--name", "who", "--follow", "--cores", "0", "--", "id -un");
    expect(who.stdout).toMatch(/^nobody$/m);
    writeFileSync(path.join(shared, "team.yaml"), "kind: team\nname: other\n");
    expect((await command("apply", "--yes", "-f", "team.yaml")).code).toBe(0);
    const submitted = await command("run", "--name", "stray", "--team", "other", "--cores", "0", "--", "id -un");
    expect(submitted.code, submitted.stderr).toBe(0);
    const shown = async (): Promise<string> => {
      const { stdout, stderr } = await command("show", "w2");
      return stdout + stderr;
    };
    await expect.poll(shown, { timeout: 20_000 }).toContain("this machine knows no such user");
  });

  it("does not start where users cannot reach the state directory", { timeout: 60_000 }, async () => {
    chmodSync(root, 0o700);
    const program = up("--team-user", "*=nobody");
    expect(await program.ended).not.toBe(0);
    expect(program.output()).toContain("other users cannot enter");
    chmodSync(root, 0o711);
  });
});
