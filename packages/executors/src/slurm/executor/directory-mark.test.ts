import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DirectoryMark } from "./directory-mark.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "headroom-mark-"));
  for (const name of ["state", "other", "shared", "moved"]) mkdirSync(path.join(root, name));
});
afterEach(() => rmSync(root, { recursive: true }));

const mark = (stateDir = "state", directory = "shared"): DirectoryMark =>
  new DirectoryMark(path.join(root, directory), path.join(root, stateDir));

function opened(stateDir?: string, directory?: string): void {
  mark(stateDir, directory).check();
  mark(stateDir, directory).make();
}

describe("the mark of an executor in its shared directory", () => {
  it("lets the executor open again, also in another directory", () => {
    for (const directory of ["shared", "shared", "moved", "shared"])
      expect(() => opened("state", directory)).not.toThrow();
  });

  it("refuses the directory of another executor, whose running attempts would count as unreadable", () => {
    opened();
    expect(() => mark("other").check()).toThrow(/shared belongs to another executor.*Choose another directory/);
    expect(() => mark().check()).not.toThrow();
  });

  it("refuses a directory that has lost its mark, as one that is not mounted", () => {
    opened();
    rmSync(path.join(root, "shared/.headroom-executor"));
    expect(() => mark().check()).toThrow(/is the file system mounted/);
  });

  it("neither follows a link nor waits for a FIFO that a job put in its place", () => {
    opened();
    const file = path.join(root, "shared/.headroom-executor");
    rmSync(file);
    execFileSync("mkfifo", [file]);
    expect(() => mark().check()).toThrow(/belongs to another/);
    rmSync(file);
    writeFileSync(path.join(root, "victim"), "kept");
    symlinkSync(path.join(root, "victim"), file);
    expect(() => mark().check()).toThrow(/ELOOP/);
    expect(readFileSync(path.join(root, "victim"), "utf8")).toBe("kept");
  });
});
