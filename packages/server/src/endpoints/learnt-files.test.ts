import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, it } from "vitest";
import { LearntFiles } from "./learnt-files.ts";

const homes: string[] = [];
afterEach(() => {
  for (const home of homes.splice(0)) rmSync(home, { recursive: true });
});

it("stores endpoints a minute after they were stored, all at the end, and reads them once more", async () => {
  const home = mkdtempSync(path.join(tmpdir(), "headroom-learnt-"));
  homes.push(home);
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  let nowMs = 1_000_000;
  const files = new LearntFiles(home, log, () => nowMs);
  const all = ["w1", "w2"].map((id) => ({ id, saved: () => ({ of: id }) }));
  for (const { id } of all) expect(files.read(id)).toBeNull();
  await files.storeDue(all);
  expect(readdirSync(home)).toEqual([]);
  nowMs += 61_000;
  await files.storeDue(all);
  expect(readdirSync(path.join(home, "endpoint-traffic"))).toEqual(["w1.json", "w2.json"]);
  await files.storeAll(all);
  expect(files.read("w2")).toEqual({ of: "w2" });
  writeFileSync(path.join(home, "endpoint-traffic", "w2.json"), "{");
  expect(files.read("w2")).toBeNull();
  await files.keepOnly(new Set(["w1"]));
  expect(readdirSync(path.join(home, "endpoint-traffic"))).toEqual(["w1.json"]);
  files.remove("w1");
  expect(readdirSync(path.join(home, "endpoint-traffic"))).toEqual([]);
});
