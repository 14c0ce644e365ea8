import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { headroom } from "../testing/recorded-terminal.ts";
import { startProgram, type RunningProgram } from "../testing/running-program.ts";

let root = "";
let home = "";
/** Workloads see the directory that they are submitted from, and nothing of the state directory. */
let work = "";
const started: RunningProgram[] = [];
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "headroom-up-"));
  [home, work] = [path.join(root, "home"), path.join(root, "work")];
  for (const directory of [home, work]) mkdirSync(directory);
});
afterEach(async () => {
  for (const { process: child, ended } of started.splice(0)) {
    child.kill("SIGKILL");
    await ended;
  }
  rmSync(root, { recursive: true });
});

function up(...options: readonly string[]): RunningProgram {
  const program = startProgram(["up", "--no-console", "--port", "0", "--slots", "2", ...options], { home });
  started.push(program);
  return program;
}

const ready = /runs on http:\/\/127\.0\.0\.1:(\d+)[^]*Ctrl-C/;
const command = (...args: readonly string[]) =>
  headroom(args, { workingDirectory: work, env: { HEADROOM_HOME: home } });

it("stops cleanly while the work goes on, and finds everything as it was", async () => {
  const first = up();
  await first.saying(ready);
  expect(first.output()).toContain(`${home} (new)`);
  expect(first.output()).not.toContain("console");
  await command(
    "run",
    "--name",
    "waits",
    "--cores",
    "0",
    "--",
    "echo began; while [ ! -e go ]; do sleep 0.05; done; echo done",
  );
  const following = new AbortController();
  const began = headroom(["logs", "-f", "waits"], {
    workingDirectory: work,
    env: { HEADROOM_HOME: home },
    interrupted: following.signal,
  });
  await expect.poll(async () => (await command("logs", "waits")).stdout).toBe("began\n");
  following.abort();
  expect((await began).code).toBe(130);

  // The signal is sent twice, as under npm, where both terminal and parent deliver it.
  first.process.kill("SIGINT");
  first.process.kill("SIGINT");
  expect(await first.ended).toBe(0);
  expect(first.output()).toContain(
    "The control plane has stopped. 1 workload goes on running; the next start adopts it.",
  );
  expect(existsSync(path.join(home, "server.json"))).toBe(false);
  expect((await command("list")).stderr).toContain("no control plane is running");

  const second = up();
  await second.saying(ready);
  expect(second.output()).toContain("1 workload unfinished");
  writeFileSync(path.join(work, "go"), "");
  const logs = await command("logs", "-f", "waits");
  expect([logs.code, logs.stdout]).toEqual([0, "began\ndone\n"]);
  const { attempts } = JSON.parse((await command("show", "waits", "--json")).stdout) as {
    attempts: readonly unknown[];
  };
  expect(attempts).toHaveLength(1);
});

it("refuses a second control plane on the directory, a port in use and a port that is none", async () => {
  const first = up();
  const [, port = ""] = await first.saying(ready);
  const second = up();
  expect(await second.ended).toBe(1);
  expect(second.output()).toMatch(/error: A control plane is already running on .*HEADROOM_HOME/);
  const elsewhere = startProgram(["up", "--no-console", "--port", port], { home: path.join(home, "other"), cwd: home });
  started.push(elsewhere);
  expect(await elsewhere.ended).toBe(1);
  expect(elsewhere.output()).toMatch(/error: 127\.0\.0\.1:\d+ is in use .*--port/);
  const odd = up("--port", "70000");
  expect(await odd.ended).toBe(2);
  expect(odd.output()).toBe("error: --port must be a whole number between 0 and 65535, got 70000\n");
  expect((await command("list")).code).toBe(0);
});

it("declares this machine as several nodes to try a fleet on", async () => {
  await up("--nodes", "3").saying(ready);
  const { items } = JSON.parse((await command("nodes", "--json")).stdout) as {
    readonly items: readonly {
      readonly id: string;
      readonly acceleratorCount: number;
      readonly acceleratorType: string;
    }[];
  };
  const shown = items.map((node) => [/-\d$/.exec(node.id)?.[0], node.acceleratorCount, node.acceleratorType]);
  expect(shown).toEqual(["-1", "-2", "-3"].map((suffix) => [suffix, 2, "slot"]));
  const none = up("--nodes", "0");
  expect(await none.ended).toBe(2);
});

it("is reached under the names that it was given, and under no other", async () => {
  const [, port = ""] = await up("--host-name", "proxy.example").saying(ready);
  const statusFor = (host: string) =>
    new Promise((resolve, reject) => {
      get({ host: "127.0.0.1", port, path: "/healthz", headers: { host } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      }).on("error", reject);
    });
  expect([await statusFor("proxy.example"), await statusFor("other.example")]).toEqual([200, 403]);
});

it("comes back after it was killed", async () => {
  const first = up();
  await first.saying(ready);
  first.process.kill("SIGKILL");
  expect(await first.ended).toBe("SIGKILL");
  expect((await command("list")).stderr).toContain("does not answer");
  const second = up();
  await second.saying(ready);
  expect((await command("list")).code).toBe(0);
  second.process.kill("SIGTERM");
  expect(await second.ended).toBe(0);
});
