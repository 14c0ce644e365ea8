import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import { headroom } from "../testing/recorded-terminal.ts";

const folder = mkdtempSync(path.join(tmpdir(), "headroom-calibrate-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const python = ["/usr/bin/python3", "python3"].find(
  (command) => spawnSync(command, ["-c", "import torch"], { stdio: "ignore" }).status === 0,
);

interface Profile {
  readonly accelerator: { readonly kind: string };
  readonly matmul: readonly unknown[];
  readonly collectives: readonly unknown[];
  readonly skipped: readonly { readonly part: string }[];
}

it.skipIf(python === undefined)("headroom calibrate measures the CPU where there is PyTorch", async () => {
  const args = ["calibrate", "--python", python ?? "", "--cpu", "--quick", "--out", "cpu.json"];
  const { code, stderr, stdout } = await headroom(args, { workingDirectory: folder });
  expect([code, stderr]).toEqual([0, expect.stringContaining("profile: cpu.json")]);
  expect(stdout).toContain("is not in the catalogue");
  const profile = JSON.parse(readFileSync(path.join(folder, "cpu.json"), "utf8")) as Profile;
  expect(profile.accelerator.kind).toBe("cpu");
  expect(profile.matmul.length).toBeGreaterThan(0);
  expect(profile.collectives.length).toBeGreaterThan(0);
  expect(profile.skipped.map(({ part }) => part)).toContain("host");
});
