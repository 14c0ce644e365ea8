import { describe, expect, it } from "vitest";
import { someOf } from "../../../tools/testing/rotating.ts";
import { runBytes, runNames } from "./same-bytes-runs.ts";

describe("a fork in mid-run", () => {
  it("ends as its origin does, to the byte, under every preset; other seeds and policies end otherwise", () => {
    const chains = new Set<string>();
    // Seven slices in the long suite, because the names take turns in five seeds.
    const names = someOf(runNames, { suiteParts: 7 });
    for (const name of names) {
      const run = runBytes(name);
      chains.add(run.chain);
      expect([name, run.forkDigest, run.forkChain]).toEqual([name, run.digest, run.chain]);
    }
    // The digests must differ between presets; otherwise equal digests would prove nothing. Two presets can decide
    // alike on a quiet trace.
    expect(chains.size).toBeGreaterThan(names.length / 2);
  });
});
