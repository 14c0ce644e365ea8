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
  const commands = Array.from(stderr.matchAll(/\/cli\/src\/commands\/([\w-]+)\.ts/g), ([, name]) => name);
  expect(new Set(commands)).toEqual(new Set(["index", "list"]));
});

it("finds the command behind global options, and reads all commands for the help and a wrong name", () => {
  const main = path.join(import.meta.dirname, "main.ts");
  const outputOf = (...args: readonly string[]): string => {
    const { stdout, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: "utf8" });
    return stdout + stderr;
  };
  expect(outputOf("--home", "list", "--user=ada", "stop", "--help")).toContain("Usage: headroom stop");
  expect(outputOf("help", "stop")).toContain("Usage: headroom stop");
  for (const args of [["--help"], [], ["--home", "/nowhere"]]) expect(outputOf(...args)).toContain("what-if");
  expect(outputOf("lisst")).toContain("Did you mean list?");
  expect(outputOf("__complete", "--", "nod")).toContain("nodes");
});
