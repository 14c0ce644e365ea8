import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { headroom } from "../testing/recorded-terminal.ts";
import { startProgram, watched, type RunningProgram } from "../testing/running-program.ts";

const dying = path.resolve(import.meta.dirname, "../testing/dying-control-plane.ts");
const ready = /runs on (http:\/\/127\.0\.0\.1:\d+)[^]*Ctrl-C/;

let root = "";
let home = "";
let work = "";
const started: RunningProgram[] = [];
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "headroom-safe-"));
  [home, work] = [path.join(root, "home"), path.join(root, "work")];
  for (const directory of [home, work]) mkdirSync(directory, { mode: 0o700 });
});
afterEach(async () => {
  for (const { process: child, ended } of started.splice(0)) {
    child.kill("SIGKILL");
    await ended;
  }
  rmSync(root, { recursive: true });
});

/** Starts a control plane that kills itself at the point. */
function startDying(point: string): RunningProgram {
  const { PATH, HOME } = process.env;
  const program = watched(
    spawn(process.execPath, [dying, home, point], { env: { PATH, HOME }, stdio: ["ignore", "pipe", "pipe"] }),
  );
  started.push(program);
  return program;
}

function up(...options: readonly string[]): RunningProgram {
  const program = startProgram(["up", "--no-console", "--port", "0", "--slots", "2", ...options], { home });
  started.push(program);
  return program;
}

const command = (...args: readonly string[]) =>
  headroom(args, { workingDirectory: work, env: { HEADROOM_HOME: home } });

it("a control plane that died twice at one place names the command, and starts safely to stop it", async () => {
  const first = startDying("after-reply-before-launch");
  await first.saying(/listens/);
  await command("run", "--name", "poison", "--", "sleep 600");
  expect(await first.ended).toBe("SIGKILL");
  const second = startDying("after-observation-before-append");
  expect(await second.ended).toBe("SIGKILL");
  expect(second.output()).not.toContain("in a row");

  const safe = up("--safe");
  const [, url = ""] = await safe.saying(ready);
  expect(safe.output()).toMatch(/ended 2 times in a row without an orderly stop near event \d+ of its journal/);
  expect(safe.output()).toMatch(/The newest command before was submitWorkload "poison" by \w+/);
  expect(safe.output()).toContain("`headroom up --safe`");
  const readiness = await fetch(`${url}/readyz`);
  expect([readiness.status, await readiness.text()]).toEqual([503, expect.stringContaining("paused")]);
  expect((await command("status")).stdout).toContain("was started with --safe");

  const refused = await command("run", "--name", "more", "--", "true");
  expect([refused.code === 0, refused.stderr]).toEqual([false, expect.stringContaining("without --safe")]);
  expect(existsSync(path.join(work, "more"))).toBe(false);
  expect((await command("stop", "--yes", "poison")).code).toBe(0);
  await expect.poll(async () => (await command("show", "poison")).stdout, { timeout: 20_000 }).toContain("cancelled");
  safe.process.kill("SIGINT");
  expect(await safe.ended).toBe(0);
  expect(existsSync(path.join(home, "running.json"))).toBe(false);

  const last = up();
  const [, lastUrl = ""] = await last.saying(ready);
  expect(last.output()).not.toContain("in a row");
  expect((await fetch(`${lastUrl}/readyz`)).status).toBe(200);
  const done = await command("run", "--name", "after", "--follow", "--", "echo again");
  expect([done.code, done.stdout]).toEqual([0, expect.stringContaining("again")]);
});
