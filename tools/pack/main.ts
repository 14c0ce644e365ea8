/**
 * `npm run pack -- DIR`: writes one package file into DIR. `npm install FILE` in an empty folder then gives the control
 * plane, the gateway and the command line, with Node 26.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { programFiles } from "./program-files.ts";
import { placesOf, versionOf, type Lock } from "./libraries.ts";

/**
 * The name on disk. It is not published: `headroom` and `headroom-ai` in the public registry are other products, so the
 * package is installed from its file only, and no document installs it by name.
 */
const PACKAGE = "headroom-control-plane";
const PROGRAM = "packages/cli/bin/headroom.mjs";

const root = path.resolve(import.meta.dirname, "..", "..");

/** Files that the program or its readers open by path, beside the sources. */
const kept = [
  "LICENSE",
  "README.md",
  "ARCHITECTURE.md",
  "docs/**/*.md",
  "schemas/*",
  "deploy/**/*",
  "packages/console/dist/**/*",
  "examples/**/*",
];
const leftOut = /\.test\.ts$|^examples\/[^/]+\/(?:node_modules|testing|checkpoints)\//;

interface WorkspaceManifest {
  readonly version: string;
  readonly license: string;
  readonly engines: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

const readJson = <Value>(file: string): Value => JSON.parse(readFileSync(path.join(root, file), "utf8")) as Value;

function write(folder: string, file: string, content: string | Buffer): void {
  const target = path.join(folder, file);
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(target, content, { mode: file === PROGRAM ? 0o755 : 0o644 });
}

function stage(folder: string): void {
  const { files, libraries } = programFiles(root, [PROGRAM]);
  for (const [file, content] of files) write(folder, file, content);
  const own = readJson<WorkspaceManifest>("package.json");
  for (const name of new Set([...files.keys()].map((file) => file.split("/")[1] ?? ""))) {
    const { version } = readJson<WorkspaceManifest>(`packages/${name}/package.json`);
    write(folder, `packages/${name}/package.json`, json({ version, private: true, type: "module" }));
  }
  for (const pattern of kept)
    for (const entry of globSync(pattern, { cwd: root, withFileTypes: true })) {
      const file = path.relative(root, path.join(entry.parentPath, entry.name));
      if (!entry.isFile() || leftOut.test(file)) continue;
      mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
      cpSync(path.join(root, file), path.join(folder, file));
    }
  const lock = readJson<Lock>("package-lock.json");
  for (const place of placesOf(lock, libraries)) copyLibrary(place, folder);
  write(
    folder,
    "package.json",
    json({
      name: PACKAGE,
      version: own.version,
      description: "Headroom: the scaling control plane for AI compute, with its gateway and command line",
      license: own.license,
      private: true,
      type: "module",
      bin: { headroom: PROGRAM },
      engines: own.engines,
      dependencies: Object.fromEntries([...libraries].toSorted().map((name) => [name, versionOf(lock, name)])),
      bundleDependencies: [...libraries].toSorted(),
      optionalDependencies: own.optionalDependencies,
    }),
  );
}

/** Copies a library without the libraries below it, each of which has its own place. */
function copyLibrary(place: string, folder: string): void {
  const source = path.join(root, place);
  // An optional library for another platform is in the lock only.
  if (!existsSync(source)) return;
  const nested = path.join(source, "node_modules");
  cpSync(source, path.join(folder, place), { recursive: true, filter: (file) => file !== nested });
}

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

function run(program: string, args: readonly string[]): string {
  const { status, stdout, error } = spawnSync(program, args, {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status !== 0)
    throw new Error(`${program} ${args.join(" ")} failed${error === undefined ? "" : `: ${error.message}`}`);
  return stdout;
}

function pack(directory: string): string {
  run(process.execPath, [path.join(root, "tools", "build-console.mjs")]);
  const folder = mkdtempSync(path.join(tmpdir(), "headroom-pack-"));
  try {
    stage(folder);
    mkdirSync(directory, { recursive: true });
    run("npm", ["pack", folder, "--pack-destination", directory, "--loglevel=error"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
  const { version } = readJson<WorkspaceManifest>("package.json");
  return path.join(directory, `${PACKAGE}-${version}.tgz`);
}

// Node warns that stripping types is experimental. The pinned Node fixes what it does.
process.removeAllListeners("warning");

const [directory] = process.argv.slice(2);
if (directory === undefined) {
  process.stderr.write("usage: npm run pack -- DIR\n");
  process.exitCode = 2;
} else {
  process.stdout.write(`${pack(path.resolve(directory))}\n`);
}
