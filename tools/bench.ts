/**
 * `npm run bench [FILTER]`: runs every `*.bench.ts` one after the other, each in its own process, so that no
 * measurement is affected by the heap of the one before.
 */
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const [filter = "", ...args] = process.argv.slice(2);
const files = globSync("packages/*/{src,bench}/**/*.bench.ts", { cwd: root })
  .filter((file) => file.includes(filter))
  .toSorted();
if (files.length === 0) {
  process.stderr.write(`No benchmark matches "${filter}".\n`);
  process.exitCode = 1;
}
for (const file of files) {
  process.stdout.write(`--- ${file}\n`);
  // Some benchmarks run a garbage collection after set-up.
  const { status } = spawnSync(process.execPath, ["--expose-gc", file, ...args], { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
}
