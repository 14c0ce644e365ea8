/** Tests `headroom gateway` as separate processes. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
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

/** Port 9 refuses connections: these tests need no replicas that answer. */
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
  it("ends where it cannot listen, and frees what it has opened", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const program = start("", "--admin", `127.0.0.1:${port}`);
    await expect(program.ended).resolves.toBe(1);
    expect(program.output()).toContain(`address already in use 127.0.0.1:${port}`);
    await new Promise((resolve) => taken.close(resolve));
    await start("").saying(/Gateway gateway listens on/);
  });

  it("names line and column of files and variables that are missing, and tolerates missing secrets in a check", async () => {
    const broken = `tls: { certificate: ${folder}/none.pem, key: ${folder}/none.key }\naccessLog: { file: ${folder}/none/a.log }\n`;
    const program = start(broken);
    await expect(program.ended).resolves.toBe(2);
    expect(program.output()).toMatch(/gateway\.yaml:6:21: tls\.certificate cannot be used: ENOENT/);
    expect(program.output()).toMatch(/gateway\.yaml:7:20: accessLog\.file cannot be used: ENOENT/);
    const secret = "coordinator: 127.0.0.1:1\ncoordinatorSecret: { env: HEADROOM_NO_SUCH_SECRET }\n";
    const check = start(secret, "--check");
    await expect(check.ended).resolves.toBe(0);
    expect(check.output()).toMatch(/gateway\.yaml:7:20: coordinatorSecret cannot be used: .*HEADROOM_NO_SUCH_SECRET/);
    expect(check.output()).toContain("is valid: 1 model, 1 pool, 0 teams.");
    await expect(start(secret).ended).resolves.toBe(2);
  });

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
