import { configDefaults, defineConfig } from "vitest/config";

/**
 * Suites are told apart by file name: `x.test.ts` runs everywhere, `x.browser.test.ts` needs Chromium, and the long
 * ones (`x.crash.test.ts`, `x.seeds.test.ts`, `x.system.test.ts`) run only when asked for by their npm script.
 */
const roots = "{packages,tools,test,examples}/**";
const named = ["browser", "crash", "seeds", "system"];
const exclude = [...configDefaults.exclude, ".build/**", "**/dist/**"];
const longMs = 25 * 60_000;

export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: "unit",
          include: [`${roots}/*.test.{ts,tsx}`],
          exclude: [...exclude, ...named.map((suite) => `**/*.${suite}.test.{ts,tsx}`)],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "browser",
          include: [`${roots}/*.browser.test.{ts,tsx}`],
          exclude,
          globalSetup: ["./tools/chromium-setup.ts"],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      ...["crash", "seeds", "system"].map((suite) => ({
        test: {
          name: suite,
          include: [`${roots}/*.${suite}.test.{ts,tsx}`],
          exclude,
          fileParallelism: false,
          testTimeout: longMs,
          hookTimeout: longMs,
        },
      })),
    ],
  },
});
