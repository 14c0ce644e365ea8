import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import { reservePort } from "./port-reservations.ts";

const directory = mkdtempSync(path.join(tmpdir(), "headroom-ports-test-"));
afterAll(() => rmSync(directory, { recursive: true }));

it("gives a port to one process only, until that process ends or half an hour has passed", () => {
  expect(reservePort(20_001, directory)).toBe(true);
  expect(reservePort(20_001, directory)).toBe(false);
  expect(reservePort(20_002, directory)).toBe(true);
  const { pid } = spawnSync("true");
  writeFileSync(path.join(directory, "20003"), String(pid));
  expect(reservePort(20_003, directory)).toBe(true);
  expect(reservePort(20_003, directory)).toBe(false);
  utimesSync(path.join(directory, "20003"), 1, 1);
  expect(reservePort(20_003, directory)).toBe(true);
});

it("keeps a port that a process is reserving at this moment", () => {
  writeFileSync(path.join(directory, "20004"), "");
  expect(reservePort(20_004, directory)).toBe(false);
});
