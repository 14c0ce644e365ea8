import { describe, expect, it } from "vitest";
import { runBytes, runNames } from "./same-bytes-runs.ts";

describe("a fork in mid-run", () => {
  it("ends as its origin does, to the byte, under every preset", () => {
    for (const name of runNames) {
      const run = runBytes(name);
      expect([name, run.forkDigest, run.forkChain]).toEqual([name, run.digest, run.chain]);
    }
  });
});

describe("runs of another seed or policy", () => {
  it("come out different, so that equal digests say something", () => {
    const chains = runNames.map((name) => runBytes(name).chain);
    // Two presets may decide alike on a quiet trace; most must not.
    expect(new Set(chains).size).toBeGreaterThan(runNames.length / 2);
  });
});
