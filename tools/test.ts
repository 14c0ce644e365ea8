/**
 * `npm test`, `npm run test:crash`, …: runs the Vitest projects of one suite and writes a report for CI. Other
 * arguments go to Vitest: `npm test -- packages/engine -t backfill`.
 */
import path from "node:path";
import { pathToFileURL } from "node:url";

const root = path.resolve(import.meta.dirname, "..");

/** The Vitest projects of each suite; a suite is what one npm script runs. */
const suites: Readonly<Record<string, readonly string[]>> = {
  test: ["unit", "browser"],
  crash: ["crash"],
  seeds: ["seeds"],
  system: ["system"],
};

const isSuiteNamed = Object.hasOwn(suites, process.argv[2] ?? "");
const suite = isSuiteNamed ? (process.argv[2] ?? "") : "test";
const extra = process.argv.slice(isSuiteNamed ? 3 : 2);

process.chdir(root);
// Compile cache, with which test threads and processes load the sources without translating them each time.
process.env["NODE_COMPILE_CACHE"] ??= path.join(root, ".build", "compile-cache");
process.argv.splice(
  2,
  Number.POSITIVE_INFINITY,
  "run",
  ...(suites[suite] ?? []).map((project) => `--project=${project}`),
  "--reporter=default",
  "--reporter=json",
  `--outputFile.json=${path.join(root, ".build", "reports", `${suite}.json`)}`,
  ...extra,
);
// Vitest runs in this process, so signals and the exit code need no forwarding.
await import(pathToFileURL(path.join(root, "node_modules", "vitest", "vitest.mjs")).href);
