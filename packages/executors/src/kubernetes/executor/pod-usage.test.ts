import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { USAGE_COMMAND, usageIn } from "./pod-usage.ts";

it("reads what a container prints, and nothing else", () => {
  expect(usageIn("cpu 1500000\nrss 104857600\npeak 209715200\n", 3)).toEqual({
    worker: 3,
    cpuMs: 1_500,
    rssMib: 100,
    peakRssMib: 200,
  });
  expect(usageIn("cpu 2000\n", 0)).toEqual({ worker: 0, cpuMs: 2, rssMib: 0, peakRssMib: 0 });
  for (const text of ["", "cpu -1\n", "cpu 99999999999999999999\n", "xcpu 1\n", "cpu 1e9\n", "rss 1\n"])
    expect(usageIn(text, 0)).toBeNull();
  expect(usageIn("cpu 1\nrss 999999999999999999\n", 0)).toMatchObject({ rssMib: 0 });
});

it("asks the control groups of this machine, of either version", () => {
  const [file = "", ...args] = USAGE_COMMAND;
  const text = execFileSync(file, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  // A machine without control groups shows nothing.
  for (const line of text.split("\n").slice(0, -1)) expect(line).toMatch(/^(?:cpu|rss|peak) \d+$/);
});
