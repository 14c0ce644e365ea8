import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lockDirectory } from "./directory-lock.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("the lock of a directory", () => {
  it("names its holder, and is free after a release that came twice", () => {
    const first = lockDirectory(folder, 5);
    expect(lockDirectory(folder, 6)).toEqual({ kind: "held", holder: `process ${process.pid}` });
    expect(JSON.parse(readFileSync(path.join(folder, "owner.json"), "utf8"))).toMatchObject({ startedAtMs: 5 });
    if (first.kind === "locked") {
      first.lock.release();
      first.lock.release();
    }
    const second = lockDirectory(folder, 7);
    expect(second.kind).toBe("locked");
    // If the first holder releases the lock late, the second holder keeps it.
    if (first.kind === "locked") first.lock.release();
    expect(lockDirectory(folder, 8).kind).toBe("held");
    if (second.kind === "locked") second.lock.release();
  });
});
