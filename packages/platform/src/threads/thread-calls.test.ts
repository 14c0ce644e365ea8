import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";

const dir = mkdtempSync(path.join(tmpdir(), "headroom-threads-"));
afterAll(() => rmSync(dir, { recursive: true }));

/** Answers, and then works for some time in a call that a termination does not interrupt. */
const thread = `import { parentPort } from "node:worker_threads";
import { pbkdf2Sync } from "node:crypto";
parentPort.on("message", (iterations) => {
  parentPort.postMessage("answer");
  pbkdf2Sync("a", "b", iterations, 64, "sha512");
});`;

it("keeps the process until its thread has ended, also if an answer still comes", async () => {
  const url = pathToFileURL(path.join(dir, "thread.mjs")).href;
  writeFileSync(path.join(dir, "thread.mjs"), thread);
  const calls = pathToFileURL(path.join(import.meta.dirname, "thread-calls.ts")).href;
  const main = `import { ThreadCalls } from ${JSON.stringify(calls)};
    const thread = new ThreadCalls(new URL(${JSON.stringify(url)}), null);
    thread.unrefIdle();
    await thread.call(1);
    thread.call(2_000_000).catch(() => {});
    for (const untilMs = performance.now() + 500; performance.now() < untilMs;);
    await thread.terminate();
    console.log("ended");`;
  writeFileSync(path.join(dir, "main.mjs"), main);
  const { stdout } = await promisify(execFile)(process.execPath, [path.join(dir, "main.mjs")]);
  expect(stdout).toBe("ended\n");
});
