/**
 * `npm run bench [FILTER] [ARGUMENTS]`: runs every `*.bench.ts` (a program that prints its measurements as JSON) one
 * after the other. Each runs in its own process, so that no measurement is affected by the heap of another. Prints
 * tables, or JSON with `--json`.
 */
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import path from "node:path";
import { benchesFor } from "./bench-choice.ts";
import { benchText, recordsIn } from "./bench-table.ts";

const WIDTH_DEFAULT = 132;
const OUTPUT_BYTES_MAX = 256 * 1_048_576;

const root = path.resolve(import.meta.dirname, "..");
const isJson = process.argv.includes("--json");
const [filter = "", ...args] = process.argv.slice(2).filter((each) => each !== "--json");
const files = benchesFor(filter, globSync("packages/*/{src,bench}/**/*.bench.ts", { cwd: root }));
if (files.length === 0) {
  process.stderr.write(`No benchmark matches "${filter}".\n`);
  process.exitCode = 1;
}
for (const file of files) {
  process.stderr.write(`--- ${file}\n`);
  // Some benchmarks run the garbage collector after they have built a fleet and before they measure.
  const { status, stdout } = spawnSync(process.execPath, ["--expose-gc", file, ...args], {
    cwd: root,
    stdio: ["inherit", isJson ? "inherit" : "pipe", "inherit"],
    encoding: "utf8",
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  if (!isJson) {
    const text = benchText(recordsIn(stdout), process.stdout.columns ?? WIDTH_DEFAULT);
    // The output of a program without JSON is printed unchanged.
    process.stdout.write(`${text === "" ? stdout : text}\n`);
  }
  if (status !== 0) process.exitCode = 1;
}
