import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { contentDigest } from "@headroom/platform";
import { afterEach, beforeEach, expect, it } from "vitest";
import { DigestThread } from "./arriving-digests.ts";

let dir = "";
let thread: DigestThread;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "headroom-digests-"));
  thread = new DigestThread();
});
afterEach(async () => {
  await thread.close();
  rmSync(dir, { recursive: true });
});

const PART = 1_000_000;
const { signal } = new AbortController();

it("gives the digest of a directory whose parts arrive in any order, before the bytes beside them", async () => {
  const bytes = new Map([
    ["a.txt", randomBytes(3)],
    ["a/b", randomBytes(9_500_000)],
    ["a/empty", Buffer.alloc(0)],
    ["a/b c", randomBytes(2 * PART)],
    ["é", randomBytes(7)],
  ]);
  mkdirSync(path.join(dir, "a"));
  const files = [...bytes].map(([name, data]) => ({ name, path: path.join(dir, name), bytes: data.length }));
  for (const file of files) writeFileSync(file.path, Buffer.alloc(0));
  const digests = thread.begin(files, PART);
  for (const [number, file] of files.entries()) {
    const data = bytes.get(file.name) ?? Buffer.alloc(0);
    const parts = Array.from({ length: Math.ceil(data.length / PART) }, (_, part) => part).toReversed();
    writeFileSync(file.path, Buffer.alloc(data.length));
    const written = Buffer.alloc(data.length);
    for (const part of parts) {
      const end = Math.min(data.length, (part + 1) * PART);
      data.copy(written, part * PART, part * PART, end);
      writeFileSync(file.path, written);
      digests.arrived(number, part, Math.min(end, part * PART + 10));
      digests.arrived(number, part, end);
    }
  }
  expect(await digests.digest(signal)).toBe((await contentDigest(dir)).digest);
  const hexes = files.map(({ name }) =>
    createHash("sha256")
      .update(bytes.get(name) ?? "")
      .digest("hex"),
  );
  expect((await digests.files(signal)).map(({ hex }) => hex)).toEqual(hexes);
});

it("fails if a file is not what arrived, and the next transfer is not disturbed", async () => {
  const file = { name: "", path: path.join(dir, "x"), bytes: 10 };
  for (const size of [5, 15]) {
    writeFileSync(file.path, "0123456789");
    truncateSync(file.path, size);
    const digests = thread.begin([file], PART);
    digests.arrived(0, 0, 10);
    await expect(digests.digest(signal)).rejects.toThrow("changed while it was read");
    digests.end();
  }
  writeFileSync(file.path, "0123456789");
  const digests = thread.begin([file], PART);
  digests.arrived(0, 0, 10);
  expect(await digests.digest(signal)).toBe((await contentDigest(file.path)).digest);
});
