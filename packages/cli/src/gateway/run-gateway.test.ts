/** `headroom gateway` as processes of their own. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startProgram, type RunningProgram } from "../testing/running-program.ts";

let folder = "";
const programs: RunningProgram[] = [];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-run-gateway-"));
});
afterEach(async () => {
  for (const { process, ended } of programs.splice(0)) {
    process.kill("SIGKILL");
    await ended;
  }
  rmSync(folder, { recursive: true });
});

/** Port 9 refuses connections: replicas that answer are not needed here. */
const shared =
  "access: open\npools: [{ name: p, replicas: ['http://127.0.0.1:9'] }]\nmodels: [{ name: m, pools: [p] }]\n";

function start(yaml: string, ...args: readonly string[]): RunningProgram {
  const file = path.join(folder, "gateway.yaml");
  writeFileSync(file, `listen: 127.0.0.1:0\nstate: ${folder}/state\n${shared}${yaml}`);
  const program = startProgram(["gateway", "--config", file, ...args], { home: folder });
  programs.push(program);
  return program;
}

describe("headroom gateway", () => {
  it("refuses to share its state folder with a running gateway, and starts after that one was killed", async () => {
    const first = start("");
    await first.saying(/listens on/);
    const second = start("");
    await expect(Promise.race([second.saying(/listens on/).then(() => "listens"), second.ended])).resolves.toBe(1);
    expect(second.output()).toContain(
      `running on ${path.join(folder, "state", "gateway")} (process ${first.process.pid})`,
    );
    expect(second.output()).toContain("--id");
    await start("", "--id", "other").saying(/Gateway other listens on/);
    first.process.kill("SIGKILL");
    await first.ended;
    await start("").saying(/Gateway gateway listens on/);
  });

  it("opens its access log again at SIGUSR1, and stays with the old file if it cannot", async () => {
    const log = path.join(folder, "logs", "access.jsonl");
    mkdirSync(path.dirname(log));
    const program = start(`accessLog: { file: ${log} }\n`);
    const [, url] = await program.saying(/listens on (\S+?),? *(?:admin.*)?\n/);
    const ids = (file: string): readonly string[] =>
      existsSync(file)
        ? readFileSync(file, "utf8")
            .split("\n")
            .slice(0, -1)
            .map((line) => (JSON.parse(line) as { clientId: string }).clientId)
        : [];
    const ask = async (id: string): Promise<void> => {
      const body = JSON.stringify({ model: "m", messages: [] });
      const headers = { "x-request-id": id };
      await (await fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body })).text();
    };
    await ask("one");
    await expect.poll(() => ids(log)).toEqual(["one"]);
    renameSync(log, `${log}.1`);
    await ask("two");
    await expect.poll(() => ids(`${log}.1`)).toEqual(["one", "two"]);
    program.process.kill("SIGUSR1");
    await program.saying(/access log was opened again/);
    await ask("three");
    await expect.poll(() => ids(log)).toEqual(["three"]);
    expect(ids(`${log}.1`)).toEqual(["one", "two"]);
    renameSync(path.dirname(log), path.join(folder, "moved"));
    program.process.kill("SIGUSR1");
    await program.saying(/cannot be opened/);
    await ask("four");
    await expect.poll(() => ids(path.join(folder, "moved", "access.jsonl"))).toEqual(["three", "four"]);
  });
});
