import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeDirectory, makeDurableDirectory } from "./make-directory.ts";

let place: string;
beforeEach(() => {
  place = mkdtempSync(path.join(tmpdir(), "headroom-directory-"));
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

describe("making a directory", () => {
  it("makes what is missing above it, with its mode, and finds what is there", () => {
    const deep = path.join(place, "a/b/c");
    makeDirectory(deep, 0o700);
    makeDirectory(deep, 0o700);
    expect(statSync(path.join(place, "a")).mode & 0o777).toBe(0o700);
    expect(statSync(deep).isDirectory()).toBe(true);
  });

  it.each(["a/b/c", "."])("makes or finds one to last (%s), as far up as it may look", (below) => {
    const deep = path.join(place, below);
    makeDurableDirectory(deep, 0o700);
    makeDurableDirectory(path.relative(process.cwd(), deep));
    expect(statSync(deep).mode & 0o777).toBe(0o700);
  });

  it("says so where there can be none", () => {
    writeFileSync(path.join(place, "file"), "");
    expect(() => makeDirectory(path.join(place, "file"))).toThrow("EEXIST");
    expect(() => makeDirectory(path.join(place, "file/below"))).toThrow("ENOTDIR");
    // `mkdir` with `recursive` of Node loops forever at this path.
    expect(() => makeDirectory("/proc/headroom/below")).toThrow("ENOENT");
    expect(() => makeDurableDirectory("/proc/headroom/below")).toThrow("ENOENT");
  });
});
