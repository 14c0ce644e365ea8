import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";
import { describe, expect, it } from "vitest";
import { findChromium } from "../../../tools/chromium.ts";
import { someOf } from "../../../tools/testing/rotating.ts";
import { runBytes, runNames, type RunBytes } from "./same-bytes-runs.ts";
import { serveSources } from "./serve-sources.ts";

const executablePath = findChromium();

/** Seven slices, because the names take turns in five seeds. */
const names = someOf(runNames, { suiteParts: 7 });

/** Performs the runs in a page of the browser and returns the results. */
async function runInChromium(url: string): Promise<Record<string, RunBytes>> {
  const profile = mkdtempSync(path.join(tmpdir(), "headroom-chromium-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: executablePath ?? "",
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  });
  try {
    const page = await context.newPage();
    await page.goto(url);
    // The function is passed as text, because the test runner would rewrite the import() in it.
    return await page.evaluate<Record<string, RunBytes>>(
      `import("/sim/test/same-bytes-runs.ts").then(({ runBytes }) =>
        Object.fromEntries(${JSON.stringify(names)}.map((name) => [name, runBytes(name)])))`,
    );
  } finally {
    await context.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

describe.skipIf(executablePath === undefined)("simulated runs in Node and in Chromium", () => {
  it("are the same to the byte: three traces, every preset, five seeds, a fork in each", async () => {
    const server = await serveSources();
    try {
      const inChromium = await runInChromium(server.url);
      const inNode = Object.fromEntries(names.map((name) => [name, runBytes(name)]));
      expect(Object.keys(inNode)).toHaveLength(names.length);
      expect(inChromium).toEqual(inNode);
    } finally {
      await server.close();
    }
  });
});
