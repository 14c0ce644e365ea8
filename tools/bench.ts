/**
 * `npm run bench [FILTER] [ARGUMENTS]`: runs every `*.bench.ts` (a program that prints what it measured as JSON) one after the other,
 * each in a process of its own, so that no measurement feels the heap of the one before. Prints tables; with `--json` the JSON.
 */
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import path from "node:path";
import { benchText, recordsIn } from "./bench-table.ts";

const WIDTH_DEFAULT = 132;
const OUTPUT_BYTES_MAX = 256 * 1_048_576;

const root = path.resolve(import.meta.dirname, "..");
const isJson = process.argv.includes("--json");
const [filter = "", ...args] = process.argv.slice(2).filter((each) => each !== "--json");
const files = globSync("packages/*/{src,bench}/**/*.bench.ts", { cwd: root })
  .filter((file) => file.includes(filter))
  .toSorted();
if (files.length === 0) {
  process.stderr.write(`No benchmark matches "${filter}".\n`);
  process.exitCode = 1;
}
for (const file of files) {
  process.stderr.write(`--- ${file}\n`);
  // Some collect what making a fleet left behind before they measure.
  const { status, stdout } = spawnSync(process.execPath, ["--expose-gc", file, ...args], {
    cwd: root,
    stdio: ["inherit", isJson ? "inherit" : "pipe", "inherit"],
    encoding: "utf8",
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  if (!isJson) {
    const text = benchText(recordsIn(stdout), process.stdout.columns ?? WIDTH_DEFAULT);
    // Programs that print no JSON print text.
    process.stdout.write(`${text === "" ? stdout : text}\n`);
  }
  if (status !== 0) process.exitCode = 1;
}
