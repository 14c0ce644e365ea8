// @ts-check
/**
 * Builds the console if its sources differ from those of the last build: `node tools/build-console.mjs [--force]`.
 * Prints one line, and exits with 0 when `packages/console/dist` is up to date.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";

const root = path.resolve(import.meta.dirname, "..");
const consoleRoot = path.join(root, "packages", "console");
const dist = path.join(consoleRoot, "dist");
const stampFile = path.join(root, ".build", "console.sha256");

/** All inputs of the bundle: the console, the packages that its demo runs, and the versions of the tools. */
const sourceGlobs = [
  "package-lock.json",
  "packages/console/{index.html,gateway.html,vite.config.ts,package.json}",
  "packages/console/public/**/*",
  "packages/{console,engine,sim,perf,views,protocol,spec}/src/**/*.*",
];

function sourcesHash() {
  const hash = createHash("sha256");
  const isTest = /\.(?:test|bench)\.tsx?$/;
  for (const file of globSync(sourceGlobs, { cwd: root, exclude: (name) => isTest.test(name) }).toSorted()) {
    const content = readFileSync(path.join(root, file));
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

/**
 * Builds into another directory and then exchanges the two. So a build that fails or is stopped does not damage the old
 * bundle, and two builds at the same time do not mix their files. @param {string} hash
 */
function build(hash) {
  const fresh = path.join(root, ".build", `console-${process.pid}`);
  const old = `${fresh}-old`;
  mkdirSync(path.dirname(fresh), { recursive: true });
  const vite = path.join(root, "node_modules", "vite", "bin", "vite.js");
  const args = [vite, "build", "--logLevel", "warn", "--outDir", fresh, "--emptyOutDir"];
  // Tests run this script with NODE_ENV=test. With that value the bundle would contain React's development build.
  const env = { ...process.env, NODE_ENV: "production" };
  const { status } = spawnSync(process.execPath, args, { cwd: consoleRoot, stdio: ["ignore", 2, 2], env });
  if (status === 0) {
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(fresh, dist);
    writeFileSync(stampFile, `${hash}\n`);
  }
  for (const folder of [fresh, old]) rmSync(folder, { recursive: true, force: true });
  return status === 0;
}

const startedAtMs = performance.now();
const hash = sourcesHash();
const lastHash = existsSync(stampFile) ? readFileSync(stampFile, "utf8").trim() : "";
const isForced = process.argv.includes("--force");
if (!isForced && lastHash === hash && existsSync(path.join(dist, "index.html"))) {
  process.stdout.write("console: up to date\n");
} else if (build(hash)) {
  process.stdout.write(`console: built in ${((performance.now() - startedAtMs) / 1000).toFixed(1)} s\n`);
} else {
  process.stderr.write("console: the build failed, see above\n");
  process.exitCode = 1;
}
