/** Names in a directory that others can change. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { HeldDirectory } from "./held-directory.ts";

let root = "";
let held: HeldDirectory;
beforeEach(async () => {
  root = mkdtempSync(path.join(tmpdir(), "headroom-held-"));
  mkdirSync(path.join(root, "private"));
  writeFileSync(path.join(root, "private", "token"), "secret");
  held = await HeldDirectory.make(root, ["shared", "deep"]);
});
afterEach(async () => {
  await held.close();
  rmSync(root, { recursive: true });
});

it("stays the same directory when its name leads elsewhere", async () => {
  renameSync(path.join(root, "shared", "deep"), path.join(root, "moved"));
  symlinkSync(path.join(root, "private"), path.join(root, "shared", "deep"));
  await held.write("token", "other");
  expect(readFileSync(path.join(root, "moved", "token"), "utf8")).toBe("other");
  expect(readFileSync(path.join(root, "private", "token"), "utf8")).toBe("secret");
  await expect(HeldDirectory.make(root, ["shared", "deep"])).rejects.toMatchObject({ code: "ENOTDIR" });
});

it("follows no link, and takes no path for a name", async () => {
  symlinkSync(path.join(root, "private", "token"), path.join(root, "shared", "deep", "file"));
  await expect(held.write("file", "other")).rejects.toMatchObject({ code: "ELOOP" });
  await expect(held.read("file", 10)).rejects.toMatchObject({ code: "ELOOP" });
  for (const name of ["..", "../private", "", "."]) expect(() => held.at(name)).toThrow(/is no name/);
  expect(readFileSync(path.join(root, "private", "token"), "utf8")).toBe("secret");
});

it("reads a file up to a size, and no more names than wanted", async () => {
  await held.write("file", "größe");
  expect(await held.read("file", 7)).toBe("größe");
  await expect(held.read("file", 6)).rejects.toMatchObject({ code: "EFBIG" });
  for (const name of ["a", "b"]) await held.write(name, "");
  expect(await held.names(2)).toHaveLength(2);
  expect(await held.names()).toHaveLength(3);
});

it("removes trees that are closed and have links, and nothing beside them", async () => {
  const tree = path.join(root, "shared", "deep", "tree");
  mkdirSync(path.join(tree, "a", "b"), { recursive: true });
  writeFileSync(path.join(tree, "a", "b", "file"), "");
  symlinkSync(path.join(root, "private"), path.join(tree, "a", "link"));
  for (const [at, mode] of [
    ["a/b", 0o000],
    ["a", 0o500],
    ["", 0o000],
  ] as const)
    chmodSync(path.join(tree, at), mode);
  await held.remove("tree");
  await held.remove("tree");
  expect(existsSync(tree)).toBe(false);
  expect(existsSync(path.join(root, "private", "token"))).toBe(true);
});

it("has no path once it is closed", async () => {
  await held.close();
  expect(() => held.at("token")).toThrow(/is closed/);
  await expect(held.names()).rejects.toThrow(/is closed/);
});
