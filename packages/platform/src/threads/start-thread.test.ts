import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, it } from "vitest";

const directory = mkdtempSync(path.join(tmpdir(), "headroom-thread-"));

afterEach(() => rmSync(directory, { recursive: true }));

/** The compile cache that a thread reports in a process that runs `before` first. */
function cacheOfThread(before: string): string {
  const thread = path.join(directory, "thread.mjs");
  writeFileSync(
    thread,
    `import { getCompileCacheDir } from "node:module";
     import { parentPort, workerData } from "node:worker_threads";
     parentPort.postMessage([getCompileCacheDir() ?? "none", workerData]);`,
  );
  const main = path.join(directory, "main.mjs");
  writeFileSync(
    main,
    `import * as modules from "node:module";
     import { pathToFileURL } from "node:url";
     ${before}
     const { startThread } = await import(${JSON.stringify(path.join(import.meta.dirname, "start-thread.ts"))});
     const thread = startThread(pathToFileURL(${JSON.stringify(thread)}), "data");
     thread.on("message", (said) => console.log(JSON.stringify([modules.getCompileCacheDir() ?? "none", ...said])));`,
  );
  const env = { PATH: process.env["PATH"] };
  const { stdout, stderr } = spawnSync(process.execPath, [main], { encoding: "utf8", env });
  expect(stderr).toBe("");
  const [ofProcess, ofThread, data] = JSON.parse(stdout) as readonly string[];
  expect([ofThread, data]).toEqual([ofProcess, "data"]);
  return ofThread ?? "";
}

it("a thread loads from the compile cache of its process, if that has one", () => {
  expect(cacheOfThread("")).toBe("none");
  const cache = path.join(directory, "cache");
  expect(cacheOfThread(`modules.enableCompileCache(${JSON.stringify(cache)});`)).toContain(cache);
});
