#!/usr/bin/env node
// @ts-check
/**
 * The program `headroom` on the PATH. The sources are TypeScript that the pinned Node runs directly; an older Node only
 * starts the pinned one. This file is plain JavaScript that runs on any Node from 12 on.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const oldestMajor = 26;
const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));

if (Number(process.versions.node.split(".")[0]) >= oldestMajor) {
  await import(main);
} else {
  startPinned();
}

function startPinned() {
  const root = path.resolve(path.dirname(main), "..", "..", "..");
  const pinned = path.join(root, "node_modules", ".bin", "node");
  if (!existsSync(pinned)) {
    process.stderr.write(`headroom needs Node ${oldestMajor}. Run \`npm ci\` in ${root}: it installs this Node.\n`);
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
