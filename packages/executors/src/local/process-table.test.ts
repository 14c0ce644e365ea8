import { spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import { identityOf, isAlive, readStat, runningProcesses, wasStartedWith } from "./process-table.ts";

describe("the process table", () => {
  it("tells a process from another one under the same pid", () => {
    const self = identityOf(process.pid);
    expect(self).not.toBeNull();
    if (self === null) return;
    expect(isAlive(self)).toBe(true);
    expect(isAlive({ ...self, startTicks: self.startTicks - 1 })).toBe(false);
    expect(runningProcesses().some(({ pid }) => pid === process.pid)).toBe(true);
  });

  it("takes a zombie for gone, and knows a process by its environment", async () => {
    // The shell becomes a process that never reaps its child, which thereby stays a zombie.
    const script = "sleep 0 & echo $!; exec tail -f /dev/null";
    const child = spawn("/bin/sh", ["-c", script], {
      stdio: ["ignore", "pipe", "ignore"],
      env: { PATH: process.env["PATH"], MARK: "here" },
    });
    const zombie = Number(String(await new Promise((resolve) => child.stdout.once("data", resolve))));
    const stateOf = (pid: number): string | undefined => readStat(pid)?.state;
    while (stateOf(zombie) !== "Z") await new Promise((resolve) => setImmediate(resolve));
    const identity = identityOf(zombie);
    expect(identity !== null && isAlive(identity)).toBe(false);
    expect(runningProcesses().some(({ pid }) => pid === zombie)).toBe(false);
    expect(wasStartedWith(child.pid ?? 0, "MARK=here")).toBe(true);
    expect(wasStartedWith(child.pid ?? 0, "MARK=her")).toBe(false);
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("exit", resolve));
    expect(readStat(2 ** 30)).toBeNull();
  });
});
