import { configDefaults, defineConfig } from "vitest/config";
import { commitNumber } from "./tools/testing/rotating.ts";

/**
 * Suites are told apart by file name: `x.test.ts` runs everywhere, `x.browser.test.ts` needs Chromium, and the long
 * ones (`x.crash.test.ts`, `x.seeds.test.ts`, `x.system.test.ts`) exist only when the command line names their
 * project, so that `vitest run packages/server` stays quick. `x.prop.test.ts` takes small slices of its samples with
 * the unit tests, and large ones with the seeds (`tools/testing/rotating.ts`).
 */
const roots = "{packages,tools,test,examples}/**";
const longSuites = ["crash", "seeds", "system"];
const named = ["browser", ...longSuites];
const exclude = [...configDefaults.exclude, ".build/**", "**/dist/**"];
const longMs = 25 * 60_000;
/** How long `expect.poll` goes on: a machine that has other work to do must not fail a test for being slow. */
const expectOptions = { poll: { timeout: 30_000 } };
/** Node's own loader: nothing is translated for the test process, and imported names are as fast as in production. */
const native = { viteModuleRunner: false, nodeLoader: false };
const asked = longSuites.filter((suite) => process.argv.some((arg) => arg === suite || arg === `--project=${suite}`));

// Test processes inherit it. The number of the commit chooses the slices of long samples.
process.env["HEADROOM_SLICE"] ??= String(commitNumber(import.meta.dirname));
process.stdout.write(`Slice ${process.env["HEADROOM_SLICE"]} of the samples: HEADROOM_SLICE repeats it.\n`);

export default defineConfig({
  test: {
    pool: "forks",
    // More than the two cores that the tests are made for, because many of them wait for timers, processes and the disk.
    maxWorkers: 3,
    projects: [
      {
        test: {
          name: "unit",
          include: [`${roots}/*.test.{ts,tsx}`],
          exclude: [...exclude, ...named.map((suite) => `**/*.${suite}.test.{ts,tsx}`)],
          // No module has state that one test could leave to the next, so test files share one load of the modules in
          // each worker: loading takes a good part of the time of a small file.
          isolate: false,
          experimental: native,
          expect: expectOptions,
          // Jobs of these tests write into directories for temporary files, which a sandbox hides.
          env: { HEADROOM_ISOLATION: "none" },
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          name: "browser",
          sequence: { groupOrder: 1 },
          include: [`${roots}/*.browser.test.{ts,tsx}`],
          exclude,
          experimental: native,
          globalSetup: ["./tools/chromium-setup.ts"],
          // Each file has a browser of its own, which needs a core.
          maxWorkers: 2,
          expect: expectOptions,
          testTimeout: 480_000,
          hookTimeout: 480_000,
        },
      },
      ...asked.map((suite) => ({
        test: {
          name: suite,
          sequence: { groupOrder: 2 },
          include: [`${roots}/*.${suite}.test.{ts,tsx}`, ...(suite === "seeds" ? [`${roots}/*.prop.test.ts`] : [])],
          exclude,
          env: { HEADROOM_SAMPLES: "long" },
          experimental: native,
          globalSetup: suite === "system" ? ["./tools/chromium-setup.ts"] : [],
          fileParallelism: false,
          expect: expectOptions,
          testTimeout: longMs,
          hookTimeout: longMs,
        },
      })),
    ],
  },
});
