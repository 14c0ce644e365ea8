/** `headroom executor add`, `list` and `remove` against a running control plane. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive();
});
afterAll(() => live.close());

const executor = async (...args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await live.headroom(["executor", ...args]);
  return code === 0 ? stdout.trimEnd() : `${code} ${stderr.trimEnd()}`;
};
const items = async (): Promise<unknown> =>
  (JSON.parse(await executor("list", "--json")) as { readonly items: unknown }).items;

describe("headroom executor", () => {
  it("adds an executor that gets nodes, lists it, and removes it while its nodes stay", async () => {
    const add = [
      "add",
      "local",
      "trial",
      "--setting",
      "nodes=2",
      "--setting",
      "slots=3",
      "--setting",
      "isolation=none",
    ];
    expect(await executor(...add)).toBe("executor trial is added");
    expect(await executor(...add)).toBe("executor trial is unchanged");
    const trial = { name: "trial", type: "local", mode: "run", isDeclared: true, pools: ["trial"], nodes: 2 };
    await expect.poll(items).toMatchObject([
      { name: "local", isDeclared: false },
      { ...trial, phase: "reachable", accelerators: 6 },
    ]);
    expect(await executor("list")).toMatch(/^EXECUTOR .*\nlocal .*\ntrial +local +run +reachable +\S+ +2 +6 +0$/);
    expect(await executor("remove", "trial")).toBe("executor trial is removed");
    expect((await live.headroom(["nodes"])).stdout).toContain("trial-2");
    expect(await executor("remove", "trial")).toMatch(/^1 .*No executor trial is declared/);
  });

  it("names what is wrong with a declaration", async () => {
    expect(await executor("add", "sge", "x")).toMatch(/^2 .*There is no executor type sge. Types: local/);
    expect(await executor("add", "local", "x", "--setting", "nodes")).toMatch(/^2 .*expected name=value, got nodes/);
    expect(await executor("add", "local", "x", "--setting", "nodes=0")).toMatch(/^2 .*settings\/nodes/);
    expect(await executor("add", "local", "local")).toMatch(/^2 .*must not be local or simulated/);
  });
});
