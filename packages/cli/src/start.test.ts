/** Commands load what they need only: the program starts for each of them. */
import { spawnSync } from "node:child_process";
import path from "node:path";
import { expect, it } from "vitest";

/** Prints the address of every module that a process loads, at its end. */
const HOOK = `data:text/javascript,import { registerHooks } from "node:module";
const urls = [];
registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
process.on("exit", () => process.stderr.write(urls.join("\\n")));`;

it("starts without the engine and what explains it", () => {
  const main = path.join(import.meta.dirname, "main.ts");
  const args = ["--import", HOOK, main, "list", "--help"];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect(stdout).toContain("Usage: headroom list");
  const packages = new Set(Array.from(stderr.matchAll(/\/packages\/([^/]+)\//g), ([, name]) => name));
  expect(packages).toContain("cli");
  for (const name of ["engine", "explain", "sim", "server", "perf"]) expect(packages).not.toContain(name);
});
