/** Checks the content of the package. */
import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { repositoryRoot } from "../testing/repository-copy.ts";
import { programFiles } from "./program-files.ts";
import { placesOf, versionOf, type Lock } from "./libraries.ts";

it("contains every thread and process of the program, as JavaScript without workspace names", () => {
  const { files, libraries } = programFiles(repositoryRoot, ["packages/cli/bin/headroom.mjs"]);
  const names = [...files.keys()];
  expect(names.filter((name) => !/\.(?:js|mjs|py)$/.test(name))).toEqual([]);
  expect(names).toEqual(
    expect.arrayContaining([
      "packages/cli/src/main.js",
      "packages/executors/src/local/supervisor.js",
      "packages/journal/src/writer-thread.js",
      "packages/journal/src/snapshot-thread.js",
      "packages/server/src/forecast/forecast-thread.js",
      "packages/benchmark/src/worker.js",
      "packages/perf/assets/calibrate.py",
    ]),
  );
  const code = names.filter((name) => name.endsWith(".js")).map((name) => String(files.get(name)));
  expect(code.filter((text) => /from "@headroom\/|from "[^"]*\.ts"/.test(text))).toEqual([]);
  expect([...libraries].filter((name) => name.startsWith("@headroom"))).toEqual([]);
  expect([...libraries]).toEqual(expect.arrayContaining(["commander", "fastify", "yaml", "zod"]));
  // A library that is not hoisted in the lock could not be installed with the package.
  const lock = JSON.parse(readFileSync(path.join(repositoryRoot, "package-lock.json"), "utf8")) as Lock;
  for (const name of libraries) expect(versionOf(lock, name)).toMatch(/^\d/);
});

it("refuses a reference to a source file that it cannot follow", () => {
  const root = mkdtempSync(path.join(tmpdir(), "headroom-sources-"));
  try {
    mkdirSync(path.join(root, "src"));
    writeFileSync(path.join(root, "src/main.ts"), 'export const x = path.join(import.meta.dirname, "worker.ts");\n');
    expect(() => programFiles(root, ["src/main.ts"])).toThrow(/main\.ts names a source file/);
  } finally {
    rmSync(root, { recursive: true });
  }
});

it("contains the libraries of the lock, nested versions too, and leaves other libraries out", () => {
  const lock: Lock = {
    packages: {
      "node_modules/a": { version: "1.2.3", dependencies: { c: "^1.0.0" } },
      "node_modules/a/node_modules/c": { version: "1.9.0" },
      "node_modules/b": { version: "2.0.0", dependencies: { c: "^2.0.0" } },
      "node_modules/c": { version: "2.4.0" },
      "node_modules/unused": { version: "9.9.9" },
    },
  };
  expect(placesOf(lock, ["a", "b"])).toEqual([
    "node_modules/a",
    "node_modules/a/node_modules/c",
    "node_modules/b",
    "node_modules/c",
  ]);
  expect(() => placesOf(lock, ["d"])).toThrow("package-lock.json has no d");
});

it("no document installs or runs a foreign package named headroom", () => {
  const lines = globSync(["README.md", "docs/**/*.md", "examples/*/*.md"], { cwd: repositoryRoot })
    .flatMap((file) => readFileSync(path.join(repositoryRoot, file), "utf8").split("\n"))
    .filter((line) =>
      /\bnpm (?:install|i|add|exec) (?:\S+ )*headroom(?:-ai)?(?:@\S+)?(?:\s|$)|npx (?:-y|--yes|-p|--package)\b/.test(
        line,
      ),
    );
  expect(lines).toEqual([]);
});

const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;

if (!hasSystemd) console.warn("skipped: systemd-analyze is not installed, so the units are not verified");
it.skipIf(!hasSystemd).each([
  ["headroom", 50],
  ["headroom-gateway", 20],
])("the unit %s is valid, starts files of the package, and its exposure is at most %d of 100", (name, exposure) => {
  const unit = path.join(repositoryRoot, "deploy/systemd", `${name}.service`);
  const { stderr } = spawnSync("systemd-analyze", ["verify", unit], { encoding: "utf8" });
  // The programs are installed on the machine of the user only.
  expect(stderr.split("\n").filter((line) => line !== "" && !/is not executable/.test(line))).toEqual([]);
  const security = spawnSync("systemd-analyze", ["security", "--offline=true", `--threshold=${exposure}`, unit]);
  expect(security.status).toBe(0);
  const [, program = ""] = /^ExecStart=\S+ \S+\/headroom-control-plane\/(\S+)/m.exec(readFileSync(unit, "utf8")) ?? [];
  expect(existsSync(path.join(repositoryRoot, program))).toBe(true);
});
