/** `headroom gateway` as processes of their own. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
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
});
