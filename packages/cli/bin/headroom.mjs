#!/usr/bin/env node
// @ts-check
/**
 * The program `headroom` on the PATH. The sources are TypeScript that the pinned Node runs directly; an older Node only
 * starts the pinned one. This file is plain JavaScript that runs on any Node from 12 on.
 */
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const oldestMajor = 26;
const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));

if (Number(process.versions.node.split(".")[0]) >= oldestMajor) {
  // Before the first source, so that none is stripped of its types again.
  await import("./compile-cache.mjs");
  await import(main);
} else {
  startPinned();
}

/**
 * The Node that npm installed beside this program, in a checkout or below `node_modules`; `null`: there is none.
 * @returns {string | null}
 */
function pinnedNode() {
  const system = `${process.platform}-${process.arch}`;
  const name = system === "darwin-arm64" ? `node-bin-${system}` : `node-${system}`;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
    return path.join(path.dirname(manifest), "bin", "node");
  } catch {
    return null;
  }
}

function startPinned() {
  const pinned = pinnedNode();
  if (pinned === null) {
    process.stderr.write(
      `headroom needs Node ${oldestMajor}, which npm installs with it as an optional dependency. It is not there: install again without --omit=optional, or run headroom with Node ${oldestMajor} or newer.\n`,
    );
    process.exit(1);
  }
  const child = spawn(pinned, [main, ...process.argv.slice(2)], { stdio: "inherit" });
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
    process.on(signal, () => {
      // Ctrl-C on a terminal already signals the whole foreground process group.
      if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.once("error", (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
  child.once("exit", (code, signal) => {
    if (signal !== null) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    }
    process.exitCode = code ?? 1;
  });
}
