import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { contentDigest } from "@headroom/platform";
import { readStore, StoreSet } from "@headroom/stores";
import type { StoreDeclaration } from "@headroom/stores";
import { afterEach, beforeEach, expect, it } from "vitest";
import { OutputUpload } from "./output-upload.ts";

let folder = "";
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), "headroom-outputs-"))));
afterEach(() => rmSync(folder, { recursive: true }));

function declared(value: object): StoreDeclaration {
  const reading = readStore({ kind: "store", ...value });
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  return reading.declaration;
}

/** Uploads `model` in the directory to the store nfs. */
async function stored(
  to: { readonly rule?: string; readonly team?: string } = {},
  {
    dir = "work",
    homeDir = "/nonexistent",
    others = [],
  }: { readonly dir?: string; readonly homeDir?: string; readonly others?: readonly StoreDeclaration[] } = {},
) {
  const declarations = [
    declared({ name: "nfs", type: "shared", path: path.join(folder, "nfs"), rules: ["internal"], writers: ["lab"] }),
    ...others,
  ];
  const stores = new StoreSet({ declarations: () => declarations, readSecret: () => "" });
  const outputs = new OutputUpload(stores, path.join(folder, "notes"));
  const file = path.join(folder, dir, "model");
  const artifact = { name: "model:chat", path: file, ...(await contentDigest(path.join(folder, "model"))) };
  const places = {
    workingDir: path.join(folder, dir),
    checkpointDir: path.join(folder, "checkpoints"),
    homeDir,
  };
  const signal = new AbortController().signal;
  return outputs.store(artifact, { store: "nfs", team: "lab", ...to }, { places, signal });
}

beforeEach(() => {
  for (const name of ["work", "nfs"]) mkdirSync(path.join(folder, name));
  writeFileSync(path.join(folder, "model"), "weights");
  writeFileSync(path.join(folder, "work/model"), "weights");
});

it("writes the bytes under their digest, with a rule that the store admits", async () => {
  const { stored: place, problem } = await stored({ rule: "internal" });
  expect(problem).toBeUndefined();
  expect(place?.store).toBe("nfs");
  expect(place?.uri).toMatch(/^file:.*\/nfs\/artifacts\/model\/lab\/chat\/[0-9a-f]{64}$/);
  expect(readFileSync(new URL(place?.uri ?? ""), "utf8")).toBe("weights");
});

it("refuses data whose rule the store does not admit, and writes nothing", async () => {
  expect((await stored({ rule: "restricted" })).problem).toContain("does not admit the data rule restricted");
  expect(readdirSync(path.join(folder, "nfs"))).toEqual([]);
});

it("gives bytes without a rule that of their store", async () => {
  expect((await stored()).stored).toMatchObject({ store: "nfs", rule: "internal" });
});

it("refuses work of a team that may not write to the store", async () => {
  expect((await stored({ team: "other" })).problem).toContain("does not let the team other write");
  expect(readdirSync(path.join(folder, "nfs"))).toEqual([]);
});

it("refuses bytes that changed after they were read, and links out of the working directory", async () => {
  writeFileSync(path.join(folder, "work/model"), "changed");
  const rule = "internal";
  expect((await stored({ rule })).problem).toContain("changed while it was uploaded");
  rmSync(path.join(folder, "work/model"));
  symlinkSync("/etc/passwd", path.join(folder, "work/model"));
  expect((await stored({ rule })).problem).toContain("is outside the working directory");
});

it("copies no bytes of another store that the work may not read", async () => {
  const store = { type: "shared", rules: ["internal"], readers: ["lab"], path: path.join(folder, "link") };
  symlinkSync(path.join(folder, "data"), store.path);
  for (const [dir, more, message] of [
    ["data/a", { rules: ["restricted"] }, "has data with rules (restricted), and the workload has the rule internal"],
    ["data", { readers: [] }, "is not open to the team lab"],
    ["data/artifacts/model/other", {}, "is an uploaded artifact"],
    ["data/a", {}, undefined],
  ] as const) {
    mkdirSync(path.join(folder, dir), { recursive: true });
    writeFileSync(path.join(folder, dir, "model"), "weights");
    const others = [declared({ name: "med", ...store, ...more })];
    const { problem } = await stored({ rule: "internal" }, { dir, others });
    if (message === undefined) expect(problem).toBeUndefined();
    else expect(problem, dir).toContain(message);
  }
});

it("copies what an attempt wrote in its own directory, also if a store is around it", async () => {
  const others = [declared({ name: "all", type: "shared", path: folder, rules: ["restricted"] })];
  mkdirSync(path.join(folder, "home/work"), { recursive: true });
  writeFileSync(path.join(folder, "home/work/model"), "weights");
  const own = { dir: "home/work", others };
  expect((await stored({}, own)).problem).toContain("must not be read");
  expect((await stored({}, { ...own, homeDir: path.join(folder, "home") })).problem).toBeUndefined();
});

it("copies no directory that contains a store, and what lies in the same store", async () => {
  const others = [declared({ name: "med", type: "shared", path: path.join(folder, "work/model/med") })];
  rmSync(path.join(folder, "work/model"));
  mkdirSync(path.join(folder, "work/model/med"), { recursive: true });
  expect((await stored({ rule: "internal" }, { others })).problem).toContain("contains the store med");
  mkdirSync(path.join(folder, "nfs/lab"));
  writeFileSync(path.join(folder, "nfs/lab/model"), "weights");
  expect((await stored({}, { dir: "nfs/lab" })).stored).toMatchObject({ rule: "internal" });
});
