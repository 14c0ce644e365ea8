/** Uploads beside a shared store whose file system does not answer. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import files from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { readStore, StoreSet } from "@headroom/stores";
import { afterEach, beforeEach, expect, it } from "vitest";
import { MadeArtifacts } from "./made-artifacts.ts";
import { RealPaths } from "./real-paths.ts";
import { sourceRefusal } from "./source-rules.ts";

const { realpath } = files;
let folder = "";
/** Questions for real paths that get no answer, and those that were asked. */
let silent: (target: string) => Promise<void> | null = () => null;
const asked: string[] = [];

beforeEach(() => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), "headroom-silent-")));
  for (const name of ["work", "data"]) {
    mkdirSync(path.join(folder, name));
    writeFileSync(path.join(folder, name, "model"), "weights");
  }
  symlinkSync(path.join(folder, "data"), path.join(folder, "med"));
  silent = () => null;
  asked.length = 0;
  const held = async (target: string): Promise<string> => {
    asked.push(target);
    await silent(target);
    return realpath(target);
  };
  Object.assign(files, { realpath: held });
  syncBuiltinESMExports();
});
afterEach(() => {
  Object.assign(files, { realpath });
  syncBuiltinESMExports();
  rmSync(folder, { recursive: true });
});

/** The refusal for `source`, beside the store med, which is closed to the team and declared by a path with a link. */
function refusal(source: string, paths: RealPaths): Promise<string | null> {
  const reading = readStore({
    kind: "store",
    name: "med",
    type: "shared",
    path: path.join(folder, "med"),
    readers: [],
  });
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  const stores = new StoreSet({ declarations: () => [reading.declaration], readSecret: () => "" });
  const from = { source: path.join(folder, source), homeDir: "/nonexistent", paths };
  return sourceRefusal(stores, from, { store: "lake", team: "lab" });
}

const isMed = (target: string): boolean => target === path.join(folder, "med");
const forEver = new Promise<void>(() => {});

it("are decided while it is silent, and it is asked once", async () => {
  const paths = new RealPaths(10);
  silent = (target) => (isMed(target) ? forEver : null);
  for (let upload = 0; upload < 20; upload++) expect(await refusal("work/model", paths)).toBeNull();
  expect(asked.filter(isMed)).toHaveLength(1);
});

it("are refused by its last known path if they lie in it", async () => {
  const paths = new RealPaths(10);
  expect(await refusal("work/model", paths)).toBeNull();
  silent = (target) => (isMed(target) ? forEver : null);
  expect(await refusal("data/model", paths)).toMatch(/is not open to the team lab/);
});

it("are tried again if it answers meanwhile, and are refused then", async () => {
  const paths = new RealPaths(10);
  const back = Promise.withResolvers<void>();
  silent = (target) => {
    if (isMed(target)) return back.promise;
    if (!target.endsWith("/model")) return null;
    back.resolve();
    // The source has answered after the store.
    return paths.of(path.join(folder, "med")).then(() => new Promise((resolve) => setTimeout(resolve, 50)));
  };
  await expect(refusal("data/model", paths)).rejects.toMatchObject({ code: "storeSilent", retryable: true });
  expect(await refusal("data/model", paths)).toMatch(/is not open to the team lab/);
});

it.each(["model-50%_pruned.gguf", "date=2024%2F01", "n%41me"])("are decided by the path %s as it is", async (name) => {
  const paths = new RealPaths(10);
  expect(await refusal(`work/${name}`, paths)).toBeNull();
  expect(await refusal(`data/${name}`, paths)).toMatch(/is not open to the team lab/);
});

it("are registered without a digest if the work's own files do not answer until the time is over", async () => {
  const made = new MadeArtifacts();
  const target = path.join(folder, "work", "model");
  made.take([{ name: "model:chat", path: target }]);
  silent = (each) => (each === target ? forEver : null);
  const places = { workingDir: path.join(folder, "work"), checkpointDir: folder, homeDir: "/nonexistent" };
  const found = await made.withDigests(places, AbortSignal.timeout(20));
  expect(found).toEqual([{ name: "model:chat", path: target }]);
});
