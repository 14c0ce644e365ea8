import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { groupName, WorkerGroup } from "./cgroups.ts";
import { Isolation } from "./isolation.ts";

const limits = { memoryMib: 64, coresMilli: 1_000, pids: 64 };
const name = groupName("w1.1", 0, 0);

let home: string;
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), "headroom-cgroups-"));
});
afterEach(() => rmSync(home, { recursive: true }));

it("a closed control plane leaves no control group without a worker", (context) => {
  const isolation = new Isolation("none", home);
  const parents = isolation.cgroups;
  if (parents.length === 0) context.skip("no control group can be written to");
  const found = (): boolean[] => parents.map(({ directory }) => existsSync(directory));
  isolation.close();
  expect(new Set(found())).toEqual(new Set([false]));

  // A supervisor can still start a worker then, and its group stays.
  const worker = new WorkerGroup(parents, name, limits);
  isolation.close();
  expect(new Set(found())).toEqual(new Set([true]));
  worker.remove();
  isolation.close();
  expect(new Set(found())).toEqual(new Set([false]));
});

it("a start removes the empty groups of control planes that were killed, and no younger ones", (context) => {
  const parents = new Isolation("none", home).cgroups;
  const [first] = parents;
  if (first === undefined) return context.skip("no control group can be written to");
  const beside = (suffix: string): string => path.join(path.dirname(first.directory), `headroom-${suffix}`);
  const [old, young] = [beside("00000000aaaa"), beside("00000000bbbb")];
  for (const directory of [old, path.join(old, "w1"), young]) mkdirSync(directory);
  utimesSync(old, 0, 0);
  try {
    new Isolation("none", home).close();
    expect([existsSync(old), existsSync(young)]).toEqual([false, true]);
  } finally {
    rmdirSync(young);
  }
});
