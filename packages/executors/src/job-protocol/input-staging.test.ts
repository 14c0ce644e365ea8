import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { LaunchArtifact, LaunchGang } from "@headroom/model";
import { NodeCache, readStore, StoreSet } from "@headroom/stores";
import type { StoreDeclaration } from "@headroom/stores";
import { afterEach, beforeEach, expect, it } from "vitest";
import { InputStaging } from "./input-staging.ts";

let folder = "";
let cache: NodeCache;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-staging-"));
  for (const name of ["vault", "lake", "local"]) {
    mkdirSync(path.join(folder, name));
    writeFileSync(path.join(folder, name, "chat"), name);
  }
  cache = new NodeCache({ dir: path.join(folder, "cache"), bootId: "boot" });
});
afterEach(async () => {
  await cache.close();
  rmSync(folder, { recursive: true });
});

function declared(value: object): StoreDeclaration {
  const reading = readStore({ kind: "store", type: "shared", ...value });
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  return reading.declaration;
}

/** Stages the version as an input of work of the team. Returns the path that the work gets. */
async function stage(
  artifact: Pick<LaunchArtifact, "path" | "places" | "nearest">,
  { team = "nlp", isSeen }: { readonly team?: string; readonly isSeen?: (at: string) => boolean } = {},
): Promise<string | undefined> {
  const declarations = [
    declared({ name: "vault", path: path.join(folder, "vault"), readers: ["nlp"] }),
    declared({ name: "lake", path: path.join(folder, "lake"), readers: ["*"], cached: true }),
  ];
  const stores = new StoreSet({ declarations: () => declarations, readSecret: () => "" });
  const staging = new InputStaging({ stores, cache, ...(isSeen === undefined ? {} : { isSeen }) });
  const version = { name: "model:chat", version: "model:nlp/chat@1", ...artifact };
  const launch = { attemptId: "w1.1", workers: [], spec: { team }, artifacts: [version] } as unknown as LaunchGang;
  return (await staging.stage(launch, "w1.1")).launch.artifacts?.[0]?.path;
}

it("a path in a store is for the store's readers only, as its URI is", async () => {
  for (const at of [path.join(folder, "vault/chat"), `file://${folder}/vault/chat`, `${folder}/lake/../vault/chat`]) {
    expect(await stage({ path: at })).toContain("vault/chat");
    await expect(stage({ path: at }, { team: "other" })).rejects.toThrow("not open to the team other");
    await expect(stage({ path: at, places: [`file://${folder}/lake/none`] }, { team: "other" })).rejects.toThrow(
      "not open to the team other",
    );
  }
});

it("a path that other machines may not see is used only if nothing can be staged", async () => {
  const here = path.join(folder, "local/chat");
  const places = [`file://${folder}/lake/chat`];
  expect(await stage({ path: here, places })).toBe(here);
  const isSeen = (at: string): boolean => at.startsWith(path.join(folder, "shared/"));
  const staged = await stage({ path: here, places }, { isSeen });
  expect(staged).toContain(path.join(folder, "cache"));
  expect(readFileSync(staged ?? "", "utf8")).toBe("lake");
  expect(await stage({ path: here }, { isSeen })).toBe(here);
});

it("the nearest place is staged that the team may read", async () => {
  mkdirSync(path.join(folder, "lake/far"));
  writeFileSync(path.join(folder, "lake/far/chat"), "far");
  const [near, far] = [`file://${folder}/lake/chat`, `file://${folder}/lake/far/chat`];
  const places = { path: far, places: [near], nearest: [near, far] };
  expect(readFileSync((await stage(places, { isSeen: () => false })) ?? "", "utf8")).toBe("lake");
  const closed = { ...places, nearest: [`file://${folder}/vault/chat`, far] };
  expect(readFileSync((await stage(closed, { isSeen: () => false, team: "other" })) ?? "", "utf8")).toBe("far");
});
