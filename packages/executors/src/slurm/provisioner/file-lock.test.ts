/** The lock between processes: never two holders, though holders are killed, and no wait for those that were. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { withLock } from "./file-lock.ts";

let directory = "";
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "headroom-lock-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const lock = (): string => path.join(directory, "lock");
const log = (): string => path.join(directory, "log");

/** A process that takes the lock `times` times, notes when it is in and out, and is killed within the last one. */
function holder(name: number, times: number): ChildProcess {
  const module = path.join(import.meta.dirname, "file-lock.ts");
  const script = `
    import { appendFileSync } from "node:fs";
    import { setTimeout as pause } from "node:timers/promises";
    import { withLock } from ${JSON.stringify(module)};
    for (let at = 1; at <= ${times}; at++)
      await withLock(${JSON.stringify(lock())}, async () => {
        appendFileSync(${JSON.stringify(log())}, "in ${name}\\n");
        await pause(5);
        appendFileSync(${JSON.stringify(log())}, "out ${name}\\n");
        if (at === ${times}) process.kill(process.pid, "SIGKILL");
      });`;
  return spawn(process.execPath, ["--input-type=module-typescript", "--eval", script], { stdio: "inherit" });
}

it("has one holder at a time, though each holder is killed in the end", async () => {
  writeFileSync(log(), "");
  const holders = Array.from({ length: 6 }, (_, name) => holder(name, 4));
  await Promise.all(holders.map((each) => once(each, "exit")));
  const noted = readFileSync(log(), "utf8").trim().split("\n");
  expect(noted).toHaveLength(6 * 4 * 2);
  for (let at = 0; at < noted.length; at += 2) expect(noted[at + 1]).toBe(noted[at]?.replace("in", "out"));
});

it("has one holder at a time within a process, and is free after a failure", async () => {
  const order: string[] = [];
  const work = (name: string) => async (): Promise<void> => {
    order.push(`in ${name}`);
    await new Promise((resolve) => setImmediate(resolve));
    order.push(`out ${name}`);
  };
  await Promise.all([withLock(lock(), work("a")), withLock(lock(), work("b"))]);
  expect(order).toEqual(["in a", "out a", "in b", "out b"]);
  await expect(withLock(lock(), () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  expect(await withLock(lock(), async () => "free")).toBe("free");
});
