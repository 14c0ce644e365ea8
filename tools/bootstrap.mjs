// @ts-check
/**
 * Runs a script under the Node that this repository pins, and installs everything first where that is needed:
 *
 *   node tools/bootstrap.mjs SCRIPT [ARGUMENT…]
 *
 * This file is the only one that the Node already on the machine (20.11 or newer) has to understand.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const pinnedNode = path.join(root, "node_modules", ".bin", "node");
const oldestMajor = 20;
const oldestMinor = 11;

/**
 * @typedef {{ version?: string, integrity?: string, link?: boolean, resolved?: string, optional?: boolean, devOptional?: boolean, peer?: boolean }} LockEntry
 * @typedef {{ packages?: Record<string, LockEntry> }} Lock
 */

/**
 * Whether the last installation by npm (`node_modules/.package-lock.json`) matches the lock. Optional packages may be
 * absent, as the binaries of other platforms are. @param {Lock} wanted @param {Lock} installed
 */
export function isInstalled(wanted, installed) {
  const have = installed.packages ?? {};
  const want = Object.entries(wanted.packages ?? {}).filter(([place]) => place !== "");
  const isSame = want.every(([place, entry]) => {
    const found = have[place];
    if (found === undefined) return entry.optional === true || entry.devOptional === true || entry.peer === true;
    return found.version === entry.version && found.integrity === entry.integrity && found.link === entry.link;
  });
  const wantedPlaces = new Set(want.map(([place]) => place));
  return isSame && Object.keys(have).every((place) => wantedPlaces.has(place));
}

/**
 * The environment without npm's additions. Processes that Headroom starts must not see npm's settings, and must not
 * find the tools of this repository first in their PATH. @param {NodeJS.ProcessEnv} env @returns {NodeJS.ProcessEnv}
 */
export function withoutNpm(env) {
  const added = new Set(["INIT_CWD", "NODE", "COLOR", "EDITOR"]);
  const isUnderNpm = env["npm_lifecycle_event"] !== undefined;
  const kept = Object.entries(env).filter(([name]) => !/^npm_/i.test(name) && !(isUnderNpm && added.has(name)));
  const isNpmPath = /[\\/]node_modules[\\/]\.bin$|[\\/]node-gyp-bin$/;
  const search = (env["PATH"] ?? "").split(path.delimiter).filter((folder) => !isNpmPath.test(folder));
  return { ...Object.fromEntries(kept), PATH: search.join(path.delimiter) };
}

/**
 * Starts a program, passes on the signals that stop this one, and waits. A terminal delivers Ctrl-C to the whole
 * foreground group, so there SIGINT has already reached the program and is not sent a second time.
 * @param {string} program
 * @param {readonly string[]} args
 * @param {import("node:child_process").SpawnOptions} options
 * @returns {Promise<{ code: number | null, signal: NodeJS.Signals | null }>}
 */
function run(program, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args], { stdio: "inherit", ...options });
    /** @type {NodeJS.Signals[]} */
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
    const handlers = signals.map((signal) => {
      const forward = () => {
        const isFromTerminal = signal === "SIGINT" && process.stdin.isTTY === true;
        if (!isFromTerminal) child.kill(signal);
      };
      process.on(signal, forward);
      return { signal, forward };
    });
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      for (const handler of handlers) process.removeListener(handler.signal, handler.forward);
      resolve({ code, signal });
    });
  });
}

/** @param {string} file @returns {Lock | undefined} */
function readLock(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}

async function install() {
  const wanted = readLock(path.join(root, "package-lock.json"));
  const installed = readLock(path.join(root, "node_modules", ".package-lock.json"));
  if (wanted === undefined) throw new Error("package-lock.json is missing: this is not a whole checkout.");
  if (installed !== undefined && isInstalled(wanted, installed) && existsSync(pinnedNode)) return;
  process.stderr.write("Installing dependencies (npm ci) …\n");
  const npm = process.env["npm_execpath"];
  const [program, args] = npm === undefined ? ["npm", []] : [process.execPath, [npm]];
  const { code } = await run(program, [...args, "ci", "--loglevel=error"], { cwd: root, stdio: ["ignore", 2, 2] });
  if (code !== 0) throw new Error("npm ci failed: see above. Is the registry reachable?");
  if (!existsSync(pinnedNode)) {
    throw new Error(`There is no pinned Node for ${process.platform}-${process.arch}: see optionalDependencies.`);
  }
}

/** @param {readonly string[]} argv */
async function main(argv) {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    throw new Error(`Node ${oldestMajor}.${oldestMinor} or newer is needed to start; this is ${process.version}.`);
  }
  const [script, ...args] = argv;
  if (script === undefined) throw new Error("usage: node tools/bootstrap.mjs SCRIPT [ARGUMENT…]");
  await install();
  const { code, signal } = await run(pinnedNode, [path.resolve(root, script), ...args], {
    env: withoutNpm(process.env),
  });
  if (signal !== null) process.kill(process.pid, signal);
  process.exitCode = code ?? 1;
}

// Node resolves links for modules but not in argv, and the path of a checkout can contain a link.
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  main(process.argv.slice(2)).catch((error) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
}
