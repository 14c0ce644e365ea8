/** Folders of a cache in a directory that jobs fill with names of their own. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { HostileFolder } from "../../../../tools/testing/hostile-folder.ts";
import { bytesOnDisk } from "./cache-entry.ts";
import { closeFolders, entryKeys, holdFolders, readDrafts } from "./cache-folders.ts";
import { NodeCache } from "./node-cache.ts";

const folder = HostileFolder.forEachTest();
const key = (number: number): string => number.toString(16).padStart(64, "0");

function fill(within: string, count: number): void {
  for (let number = 0; number < count; number++) {
    mkdirSync(folder.shared(within, key(number)), { recursive: true });
    writeFileSync(folder.shared(within, `foreign-${number}`), "");
  }
}

it("take in a bounded number of entries and drafts", async () => {
  const folders = await holdFolders(folder.shared());
  for (const within of ["entries", "drafts"]) fill(within, 30);
  expect((await entryKeys(folders, 10)).length).toBeLessThanOrEqual(10);
  expect(await entryKeys(folders, 30)).toHaveLength(30);
  expect((await readDrafts(folders, 10)).size).toBeLessThanOrEqual(10);
  await closeFolders(folders);
});

it("look at a bounded number of names that are none of theirs", async () => {
  const folders = await holdFolders(folder.shared());
  for (let number = 0; number < 200; number++) writeFileSync(folder.shared("entries", `foreign-${number}`), "");
  let looked = 0;
  expect(await folders.entries.names(5, () => (looked++, false))).toEqual([]);
  expect(looked).toBe(50);
  await closeFolders(folders);
});

it("remove a draft with more files than a transfer makes", async () => {
  const draft = folder.shared("drafts", key(1));
  mkdirSync(draft, { recursive: true });
  for (let number = 0; number < 20; number++) writeFileSync(path.join(draft, String(number)), "x");
  expect(await bytesOnDisk(draft, 20)).toBeGreaterThan(0);
  expect(await bytesOnDisk(draft, 19)).toBeNull();
  let deep = draft;
  for (let level = 0; level < 120; level++) deep = path.join(deep, "d");
  mkdirSync(deep, { recursive: true });
  const folders = await holdFolders(folder.shared());
  expect(await readDrafts(folders)).toEqual(new Map());
  expect(readdirSync(folder.shared("drafts"))).toEqual([]);
  await closeFolders(folders);
});

it("are used although an entry is too deep to be removed", async () => {
  const entry = folder.shared("entries", key(1));
  mkdirSync(path.join(entry, ...Array.from({ length: 700 }, () => "d")), { recursive: true });
  const cache = new NodeCache({ dir: folder.shared(), bootId: "boot" });
  expect((await cache.report()).items).toEqual([]);
  expect(readdirSync(folder.shared("entries"))).toEqual([key(1)]);
  await cache.close();
});
