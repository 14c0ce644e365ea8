import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const helper = path.resolve(import.meta.dirname, "../bin/compile-cache.mjs");

describe("the directory of compiled sources", () => {
  let base = "";
  beforeEach(() => (base = mkdtempSync(path.join(tmpdir(), "headroom-cache-"))));
  afterEach(() => rmSync(base, { recursive: true }));

  function directory(env: NodeJS.ProcessEnv = {}): string {
    const program = `await import(${JSON.stringify(helper)}); console.log((await import("node:module")).getCompileCacheDir() ?? "none")`;
    const { NODE_COMPILE_CACHE: _inherited, ...inherited } = process.env;
    const run = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
      encoding: "utf8",
      env: { ...inherited, XDG_CACHE_HOME: base, ...env },
    });
    return run.stdout.trim();
  }

  it("is below the user's cache directory, or where the user says", () => {
    expect(directory()).toContain(path.join(base, "headroom", "compiled"));
    const own = path.join(base, "mine");
    expect(directory({ NODE_COMPILE_CACHE: own })).toContain(own);
  });

  it("is not used where others can write, and not through a link", () => {
    mkdirSync(path.join(base, "headroom", "compiled"), { recursive: true });
    chmodSync(path.join(base, "headroom"), 0o777);
    expect(directory()).toBe("none");
    rmSync(path.join(base, "headroom"), { recursive: true });
    mkdirSync(path.join(base, "elsewhere"));
    symlinkSync(path.join(base, "elsewhere"), path.join(base, "headroom"));
    expect(directory()).toBe("none");
    rmSync(path.join(base, "headroom"));
    chmodSync(base, 0o777);
    expect(directory()).toBe("none");
    chmodSync(base, 0o1777);
    expect(directory()).toContain(base);
  });
});
