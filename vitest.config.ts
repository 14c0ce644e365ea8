import { configDefaults, defineConfig } from "vitest/config";

/**
 * Suites are told apart by file name: `x.test.ts` runs everywhere, `x.browser.test.ts` needs Chromium, and the long
 * ones (`x.crash.test.ts`, `x.seeds.test.ts`, `x.system.test.ts`) exist only when the command line names their
 * project, so that `vitest run packages/server` stays quick.
 */
const roots = "{packages,tools,test,examples}/**";
/**
 * Packages whose modules have no state that one test could leave to the next. Their test files share one load of the
 * modules in each worker, because loading takes a good part of the time of a small file.
 */
const sharing =
  "packages/{model,engine,explain,engine-oracle,perf,routing,sim,spec,protocol,views,journal,platform,server,cli,gateway}/**";
const longSuites = ["crash", "seeds", "system"];
const named = ["browser", ...longSuites];
const exclude = [...configDefaults.exclude, ".build/**", "**/dist/**"];
const longMs = 25 * 60_000;
/** How long `expect.poll` goes on: a machine that has other work to do must not fail a test for being slow. */
const expectOptions = { poll: { timeout: 30_000 } };
const asked = longSuites.filter((suite) => process.argv.some((arg) => arg === suite || arg === `--project=${suite}`));

export default defineConfig({
  test: {
    pool: "forks",
    // More than the two cores that the tests are made for, because many of them wait for timers, processes and the disk.
    maxWorkers: 3,
    projects: [
      ...[
        { name: "shared", include: [`${sharing}/*.test.ts`], excluded: [], isolate: false },
        { name: "unit", include: [`${roots}/*.test.{ts,tsx}`], excluded: [sharing], isolate: true },
      ].map(({ name, include, excluded, isolate }) => ({
        test: {
          name,
          include,
          exclude: [...exclude, ...excluded, ...named.map((suite) => `**/*.${suite}.test.{ts,tsx}`)],
          isolate,
          expect: expectOptions,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      })),
      {
        test: {
          name: "browser",
          sequence: { groupOrder: 1 },
          include: [`${roots}/*.browser.test.{ts,tsx}`],
          exclude,
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
          include: [`${roots}/*.${suite}.test.{ts,tsx}`],
          exclude,
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
