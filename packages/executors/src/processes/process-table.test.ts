import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
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
    // The shell replaces itself with a process that never waits for the child, so the child stays a zombie.
    const script = "cat <&3 3<&- & echo $!; exec tail -f /dev/null 3<&-";
    const child = spawn("/bin/sh", ["-c", `exec 3<&0; ${script}`], {
      stdio: ["pipe", "pipe", "ignore"],
      env: { PATH: process.env["PATH"], MARK: "here" },
    });
    const zombie = Number(String(await new Promise((resolve) => child.stdout.once("data", resolve))));
    const nameOf = (pid: number): string => readFileSync(`/proc/${pid}/comm`, "utf8").trim();
    while (nameOf(child.pid ?? 0) !== "tail") await new Promise((resolve) => setImmediate(resolve));
    child.stdin.end();
    while (readStat(zombie)?.state !== "Z") await new Promise((resolve) => setImmediate(resolve));
    const identity = identityOf(zombie);
    expect(identity !== null && isAlive(identity)).toBe(false);
    expect(runningProcesses().some(({ pid }) => pid === zombie)).toBe(false);
    expect(wasStartedWith(child.pid ?? 0, ["MARK=here"])).toBe(true);
    expect(wasStartedWith(child.pid ?? 0, ["MARK=her"])).toBe(false);
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("exit", resolve));
    expect(readStat(2 ** 30)).toBeNull();
  });
});
