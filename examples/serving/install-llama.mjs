// Adds llama.cpp to this example: `node install-llama.mjs`. The repository does not depend on it, because the package
// lists binaries of every platform, several hundred MB with CUDA, and the example works without it. Installs exact
// versions without install scripts, and only the CPU binary of this platform: about 85 MB.
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
const VERSION = "3.22.1";
const BINARIES = {
  "linux-x64": "linux-x64",
  "linux-arm64": "linux-arm64",
  "darwin-x64": "mac-x64",
  "darwin-arm64": "mac-arm64-metal",
};

const binary = BINARIES[`${process.platform}-${process.arch}`];
if (binary === undefined)
  throw new Error(`node-llama-cpp has no binary for ${process.platform}-${process.arch}: use --engine builtin`);
const packages = [`node-llama-cpp@${VERSION}`, `@node-llama-cpp/${binary}@${VERSION}`];
const options = [
  "--no-save",
  "--no-package-lock",
  "--ignore-scripts",
  "--omit=optional",
  "--loglevel=error",
  "--no-workspaces",
];
mkdirSync(join(import.meta.dirname, "node_modules"), { recursive: true });
const { status } = spawnSync("npm", ["install", "--prefix", import.meta.dirname, ...options, ...packages], {
  stdio: "inherit",
});
process.exitCode = status ?? 1;
