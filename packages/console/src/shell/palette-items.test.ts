import { describe, expect, it } from "vitest";
import { matchesWords } from "./palette-items.ts";

describe("the palette", () => {
  it("finds an entry by any of its words in any order", () => {
    const entry = { label: "Submit a workload", detail: "train" };
    expect(["", "work sub", "TRAIN", "submit a"].map((query) => matchesWords(query, entry))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(matchesWords("submit node", entry)).toBe(false);
  });
});
