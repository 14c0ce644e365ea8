import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { contentDigest } from "./content-digest.ts";

let folder = "";
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), "headroom-digest-"))));
afterEach(() => rmSync(folder, { recursive: true }));

const hex = (bytes: string): string => createHash("sha256").update(bytes).digest("hex");
const write = (name: string, bytes: string): void => writeFileSync(path.join(folder, name), bytes);

it("gives the digest of a file, and of a directory by its sorted list of files", async () => {
  write("b", "two");
  mkdirSync(path.join(folder, "a"));
  write("a/c", "one");
  expect(await contentDigest(path.join(folder, "b"))).toEqual({ digest: `sha256:${hex("two")}`, bytes: 3, files: 1 });
  const lines = `${hex("one")}  3  "a/c"\n${hex("two")}  3  "b"\n`;
  expect(await contentDigest(folder)).toEqual({ digest: `sha256:${hex(lines)}`, bytes: 6, files: 2 });
});

it("refuses links, special files, missing files and bottomless directories", async () => {
  write("b", "two");
  symlinkSync("/etc/passwd", path.join(folder, "link"));
  await expect(contentDigest(path.join(folder, "link"))).rejects.toThrow("is a link");
  await expect(contentDigest(folder)).rejects.toThrow("link is a link or a special file");
  rmSync(path.join(folder, "link"));
  execFileSync("mkfifo", [path.join(folder, "pipe")]);
  await expect(contentDigest(path.join(folder, "pipe"))).rejects.toThrow("no regular file");
  rmSync(path.join(folder, "pipe"));
  mkdirSync(path.join(folder, "d/".repeat(70)), { recursive: true });
  await expect(contentDigest(folder)).rejects.toThrow("more than 64 levels");
  await expect(contentDigest(path.join(folder, "none"))).rejects.toThrow("does not exist");
});

it("refuses a file that grows while it is read, and stops at the signal", async () => {
  const grown = path.join(folder, "grown");
  write("grown", "x".repeat(8 * 1024 * 1024));
  let growing = true;
  const grow = (): void => {
    appendFileSync(grown, "more");
    if (growing) setImmediate(grow);
  };
  const digest = contentDigest(grown);
  grow();
  await expect(digest).rejects.toThrow("changed while it was read");
  growing = false;
  truncateSync(grown, 2 ** 40);
  const stop = new AbortController();
  const endless = contentDigest(grown, stop.signal);
  stop.abort();
  await expect(endless).rejects.toThrow("aborted");
});
