import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { headroom } from "../testing/recorded-terminal.ts";
import type { PathStage } from "./size-path.ts";

const at = { workingDirectory: tmpdir() };
const usual = ["size", "path", "--model", "llama-3-8b", "--accelerator", "H100", "--tokens", "1T", "--price", "2.5"];

describe("headroom size path", () => {
  it("shows what grows with the cluster, and where a doubling stops paying", async () => {
    const { code, stdout } = await headroom([...usual, "--json"], at);
    expect(code).toBe(0);
    const path = JSON.parse(stdout) as { stages: readonly PathStage[]; doublingStopsPayingAt: number | null };
    const [small, middle, large] = path.stages;
    expect(path.stages.map(({ accelerators, nodes }) => [accelerators, nodes])).toEqual([
      [8, 1],
      [128, 16],
      [1024, 128],
    ]);
    expect([small?.switches, small?.networkShare]).toEqual([0, 0]);
    expect(large?.switches).toBeGreaterThan(middle?.switches ?? 0);
    expect(large?.failuresPerDay).toBeGreaterThan(50 * (small?.failuresPerDay ?? 1));
    expect(large?.saveSeconds).toBeLessThan(small?.saveSeconds ?? 0);
    expect(large?.efficiency).toBeLessThan(middle?.efficiency ?? 0);
    expect(large?.usdPerUsefulHour).toBeGreaterThan(2.5);
    expect(path.stages.map(({ growth, operations }) => [growth, operations])).toEqual([
      ["up", "office hours"],
      ["up", "office hours"],
      ["up", "on call"],
    ]);
    expect(large?.days).toBeLessThan((middle?.days ?? 0) / 4);
  });

  it("names sizes on which no plan fits, and refuses a missing accelerator", async () => {
    const { stdout, stderr } = await headroom(
      ["size", "path", "--model", "llama-3-70b", "--accelerator", "H100", "--counts", "1,64"],
      at,
    );
    expect(stderr).toContain("1 accelerators: ");
    expect(stdout).toMatch(/^accelerators +64$/m);
    expect((await headroom(["size", "path", "--model", "llama-3-8b"], at)).stderr).toContain("--accelerator is needed");
  });
});
